// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

#include "demangle.h"

#define MAX_NAME_BYTES	(64 * 1024)

struct output {
	size_t bytes;
	jmp_buf too_long;
	char text[MAX_NAME_BYTES + 1];
};

/*
 * A few hundred bytes of substitutions can stand for gigabytes of text, and the callback cannot
 * say stop: leave the demangler by a jump. It keeps its state on the stack; what Rust's punycode
 * decoder may hold at that moment (some bytes of heap) is lost.
 */
static void append_text(const char *text, size_t bytes, void *ctx)
{
	struct output *out = ctx;

	if (bytes > MAX_NAME_BYTES - out->bytes)
		longjmp(out->too_long, 1);
	if (bytes)		/* it comes with NULL, too */
		memcpy(out->text + out->bytes, text, bytes);
	out->bytes += bytes;
}

static char *run_demangler(const char *mangled, struct output *out)
{
	if (setjmp(out->too_long))
		return NULL;
	out->bytes = 0;
	if (!rust_demangle_callback(mangled, DMGL_NO_OPTS, append_text, out)) {
		out->bytes = 0;
		if (!cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, append_text, out))
			return NULL;
	}
	out->text[out->bytes] = '\0';
	return strdup(out->text);
}

static char *demangle_one(const char *mangled)
{
	struct output *out = malloc(sizeof(*out));
	char *name;

	if (!out)
		return NULL;
	name = run_demangler(mangled, out);
	free(out);
	return name;
}

/* Without parameters the demanglers skip what follows the name, so "@plt" is kept by hand. */
static char *demangle_plt(const char *mangled, size_t chars)
{
	char *target = strndup(mangled, chars);
	char *name = target ? demangle_one(target) : NULL, *ret;

	if (!name || asprintf(&ret, "%s@plt", name) < 0)
		ret = NULL;
	free(name);
	free(target);
	return ret;
}

char *demangle__name(const char *mangled)
{
	const char *plt;

	if (mangled[0] != '_')		/* nothing else is mangled: most names of C */
		return NULL;
	plt = strstr(mangled, "@plt");
	return plt ? demangle_plt(mangled, plt - mangled) : demangle_one(mangled);
}
