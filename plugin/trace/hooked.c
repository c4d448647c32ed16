// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "hooked.h"
#include "util/long_map.h"

enum state { HAS_LIBRARY = 1, COUNTED };

struct hooked {
	struct hashmap *procs;		/* pid to enum state */
	size_t nr_without;
};

int hooked__new(struct hooked **ret)
{
	struct hooked *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->procs = long_map__new();
	if (!h->procs) {
		free(h);
		return -ENOMEM;
	}
	*ret = h;
	return 0;
}

void hooked__free(struct hooked *h)
{
	if (!h)
		return;
	hashmap__free(h->procs);
	free(h);
}

static void set_state(struct hooked *h, pid_t pid, enum state state)
{
	hashmap__set(h->procs, (long)pid, (long)state, NULL, NULL);
}

void hooked__load(struct hooked *h, pid_t pid)
{
	long state;

	/* Another one in LD_PRELOAD may define malloc, too, and come first. */
	if (hashmap__find(h->procs, (long)pid, &state) && state == COUNTED)
		h->nr_without--;
	set_state(h, pid, HAS_LIBRARY);
}

void hooked__fork(struct hooked *h, pid_t parent, pid_t child)
{
	long state;

	if (hashmap__find(h->procs, (long)parent, &state))
		set_state(h, child, state);
}

void hooked__reset(struct hooked *h, pid_t pid)
{
	hashmap__delete(h->procs, (long)pid, NULL, NULL);
}

void hooked__allocator(struct hooked *h, pid_t pid)
{
	if (hashmap__find(h->procs, (long)pid, NULL))
		return;
	set_state(h, pid, COUNTED);
	h->nr_without++;
}

size_t hooked__nr_without(const struct hooked *h)
{
	return h->nr_without;
}
