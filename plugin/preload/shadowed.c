// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another library in LD_PRELOAD may define malloc, too, and come first. Nobody hears anything from us
 * then, so that is said.
 */
#include "hook.h"
#include "next.h"
#include "settings.h"

__attribute__((constructor)) static void say_if_shadowed(void)
{
	struct preload_call call = { .kind = PRELOAD_SHADOWED };
	const struct settings *settings = settings__get();

	if (!next__find() || !next__is_shadowed())
		return;
	hook__last_epoch();
	if (!settings || !hook__listeners(hook__word()))
		return;
	call.session = settings->session;
	perf_churn_hook(&call);
}
