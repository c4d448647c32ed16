// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "confined.h"
#include "report.h"
#include "thread.h"

#define LATE_MS		100

bool report__is_late(const struct process *p, const struct slot *slot)
{
	/* Of those who want to know everything, none knows less when the process is killed. */
	return p->settings->period == 1 || process__coarse_ms() - slot->reported_ms >= LATE_MS;
}

/* A child of vfork may be the first who comes here; its parent then puts its own number there. */
bool report__is_borrowed(struct process *p)
{
	__u32 pid, owner = __atomic_load_n(&p->wiped->pid, __ATOMIC_RELAXED);

	/* Who cannot ask is not one that is about to execute something else. */
	if (is_confined())
		return false;
	pid = getpid();
	if (pid == owner)
		return false;
	if ((__u32)getppid() == owner)
		return true;
	__atomic_store_n(&p->wiped->pid, pid, __ATOMIC_RELAXED);
	return false;
}

void report__fill(struct process *p, struct slot *slot, struct preload_call *call)
{
	call->session = p->settings->session;
	call->period = p->settings->by_bytes ? 0 : slot->period;
	slot->reported_ms = process__coarse_ms();
	slot__take(slot, &call->since);
}

void report__totals(struct slot *slot)
{
	struct preload_call call = { .kind = PRELOAD_TOTALS };
	struct process *p;

	if (!hook__listeners(hook__word()))
		return;
	/* A thread may end in a forked child without having called before. */
	p = process__get();
	if (!p || report__is_borrowed(p))
		return;
	report__fill(p, slot, &call);
	report__call(p, &call);
}

/* Threads that are still there have their counts reported by this one. */
void report__all(void)
{
	struct process *p;
	struct slot *s;

	/* A forked child may have counted without knowing that it is one. */
	if (!thread__slot(&p))
		return;
	for (s = p->slots; s < p->slots + p->wiped->nr_used; s++) {
		if (__atomic_load_n(&s->owner, __ATOMIC_ACQUIRE))
			report__totals(s);
	}
}
