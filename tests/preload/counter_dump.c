// SPDX-License-Identifier: GPL-2.0-only
/*
 * counter_dump.c - print what counter.so counted: one line of JSON per process.
 *
 *	counter_dump count.1234 count.1235
 */
#include <stdio.h>

#include "counter.h"

static const char *const fn_names[COUNTER_NR_FNS] = {
	[COUNTER_MALLOC] = "malloc",
	[COUNTER_CALLOC] = "calloc",
	[COUNTER_REALLOC] = "realloc",
	[COUNTER_REALLOCARRAY] = "reallocarray",
	[COUNTER_MEMALIGN] = "memalign",
	[COUNTER_ALIGNED_ALLOC] = "aligned_alloc",
	[COUNTER_POSIX_MEMALIGN] = "posix_memalign",
	[COUNTER_VALLOC] = "valloc",
	[COUNTER_PVALLOC] = "pvalloc",
	[COUNTER_FREE] = "free",
	[COUNTER_CFREE] = "cfree",
};

static void add_slot(struct counter_slot *to, const struct counter_slot *s)
{
	int i;

	to->allocs += s->allocs;
	to->bytes += s->bytes;
	to->frees += s->frees;
	to->failed += s->failed;
	to->free_null += s->free_null;
	to->reallocs += s->reallocs;
	for (i = 0; i < COUNTER_NR_FNS; i++) {
		to->fn[i].calls += s->fn[i].calls;
		to->fn[i].ok += s->fn[i].ok;
		to->fn[i].bytes += s->fn[i].bytes;
		to->fn[i].failed += s->fn[i].failed;
	}
}

static void print_slot(const struct counter_slot *s)
{
	const char *sep = "";
	int i;

	printf("\"allocs\":%lu,\"bytes\":%lu,\"frees\":%lu,\"failed\":%lu,\"free_null\":%lu,"
	       "\"reallocs\":%lu,\"functions\":{", s->allocs, s->bytes, s->frees, s->failed,
	       s->free_null, s->reallocs);
	for (i = 0; i < COUNTER_NR_FNS; i++) {
		if (!s->fn[i].calls)
			continue;
		printf("%s\"%s\":{\"calls\":%lu,\"ok\":%lu,\"bytes\":%lu,\"failed\":%lu}", sep,
		       fn_names[i], s->fn[i].calls, s->fn[i].ok, s->fn[i].bytes, s->fn[i].failed);
		sep = ",";
	}
	printf("}");
}

static void print_file(const struct counter_file *f)
{
	struct counter_slot sum = {};
	const char *sep = "";
	int i;

	for (i = 0; i < COUNTER_NR_SLOTS; i++)
		add_slot(&sum, &f->slots[i]);
	printf("{\"pid\":%u,\"images\":%u,", f->pid, f->images);
	print_slot(&sum);
	printf(",\"own\":{\"allocs\":%lu,\"bytes\":%lu,\"frees\":%lu},\"threads\":[",
	       f->own_allocs, f->own_bytes, f->own_frees);
	for (i = 0; i < COUNTER_NR_SLOTS; i++) {
		const struct counter_slot *s = &f->slots[i];

		if (!s->tid && !s->allocs && !s->frees)
			continue;
		printf("%s{\"tid\":%u,", sep, s->tid);
		print_slot(s);
		printf("}");
		sep = ",";
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	static struct counter_file file;
	int i;

	for (i = 1; i < argc; i++) {
		FILE *in = fopen(argv[i], "r");

		if (!in || fread(&file, sizeof(file), 1, in) != 1 || file.magic != COUNTER_MAGIC) {
			fprintf(stderr, "counter_dump: %s: no counter file\n", argv[i]);
			return 1;
		}
		fclose(in);
		print_file(&file);
	}
	return 0;
}
