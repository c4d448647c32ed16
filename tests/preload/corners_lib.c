// SPDX-License-Identifier: GPL-2.0-only
/*
 * corners_lib.c - a library of corners.c that allocates before and after everybody else: in the
 * resolver of an IFUNC, which the loader calls before it has relocated what was preloaded, in its
 * constructor and in its destructor.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *from_resolver, *from_constructor, *early;

static int answer(void)
{
	/* What was allocated then is an ordinary block. */
	from_resolver = realloc(from_resolver, 3000);
	from_resolver[2999] = 1;
	free(from_resolver);
	from_resolver = NULL;
	return 42;
}

static int (*resolve(void))(void)
{
	char *other = calloc(3, 50);

	from_resolver = malloc(200);
	memset(from_resolver, 1, 200);
	free(malloc(0));
	free(other);
	return answer;
}

int corners_ifunc(void) __attribute__((ifunc("resolve")));

const char *corners_early(void)
{
	return early;
}

__attribute__((constructor)) static void construct(void)
{
	from_constructor = malloc(5000);
	early = strdup("was here");
}

__attribute__((destructor)) static void destruct(void)
{
	static const char text[] = "destructor was here\n";
	char *p = malloc(sizeof(text));

	free(from_constructor);
	free(early);
	if (p && write(1, memcpy(p, text, sizeof(text) - 1), sizeof(text) - 1) < 0)
		_exit(3);
	free(p);
}
