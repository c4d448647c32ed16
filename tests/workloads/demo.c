// SPDX-License-Identifier: GPL-2.0-only
/*
 * demo.c - a small request server with three allocation sites that churn. Without a network: it makes
 * its own requests, always the same ones. 2 to 3 s of CPU time.
 *
 *	demo [REQUESTS]		default 2000
 *
 * What is wrong with it, per request:
 *   parse_line	copies the name and value of each of 400 lines into tiny strings that live for
 *		microseconds: 800 allocations (pointers into the request would do)
 *   build_index	grows two tables by 8 entries at a time: 100 reallocs, nearly all of which copy (the
 *		final size is known before)
 *   render_response	takes a fresh 192 KB buffer, which glibc maps and unmaps: 1 allocation, whose page
 *		faults cost more than the text (one buffer could be kept)
 * What is fine: check_signature computes, route_request looks up. Neither allocates.
 */
#include <malloc.h>
#include <stdio.h>

#include "workload.h"

#define NR_LINES	400
#define INDEX_STEP	8
#define RESPONSE_BYTES	(192 * 1024)

struct line {
	char *name, *value;
};

struct entry {
	uint32_t hash, pos;
	char key[24];
};

struct request {
	char text[NR_LINES * 64];
	struct line lines[NR_LINES];
	struct entry *index;
	uint64_t *order;
	size_t nr_entries, max_entries;
};

static uint32_t hash_bytes(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	while (n--)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

/* "name: value\n" -> two strings; the place after it. */
NOINLINE static const char *parse_line(struct line *l, const char *text)
{
	const char *colon = strchr(text, ':'), *end = strchr(colon, '\n');

	l->name = malloc(colon - text + 1);
	memcpy(l->name, text, colon - text);
	l->name[colon - text] = '\0';
	l->value = malloc(end - colon - 1);
	memcpy(l->value, colon + 2, end - colon - 2);
	l->value[end - colon - 2] = '\0';
	return end + 1;
}

NOINLINE static void read_request(struct request *req, unsigned long nr)
{
	char *at = req->text;
	int i;

	for (i = 0; i < NR_LINES; i++)
		at += sprintf(at, "x-field-%d: %lx\n", i, (nr + 1) * 2654435761u * (i + 1));
}

NOINLINE static void parse_request(struct request *req)
{
	const char *text = req->text;
	int i;

	for (i = 0; i < NR_LINES; i++)
		text = parse_line(&req->lines[i], text);
}

NOINLINE static void build_index(struct request *req)
{
	struct entry *e;
	int i;

	for (i = 0; i < NR_LINES; i++) {
		const char *value = req->lines[i].value;

		if (req->nr_entries == req->max_entries) {
			req->max_entries += INDEX_STEP;
			req->index = realloc(req->index, req->max_entries * sizeof(*req->index));
			req->order = realloc(req->order, req->max_entries * sizeof(*req->order));
		}
		e = &req->index[req->nr_entries];
		strncpy(e->key, value, sizeof(e->key) - 1);
		e->hash = hash_bytes(value, strlen(value)) + i;
		e->pos = i;
		req->order[req->nr_entries++] = i;
	}
}

NOINLINE static uint32_t route_request(const struct request *req)
{
	uint32_t best = 0;
	size_t i;

	for (i = 0; i < req->nr_entries; i++) {
		if (req->index[i].hash > req->index[best].hash)
			best = i;
	}
	return best;
}

NOINLINE static uint64_t check_signature(const struct request *req)
{
	uint64_t x = 0;
	int round;

	for (round = 0; round < 40; round++)
		x = x * 31 + hash_bytes(req->text, strlen(req->text));
	return x;
}

NOINLINE static uint64_t render_response(const struct request *req, uint32_t route)
{
	char *page = malloc(RESPONSE_BYTES);
	const char *key = req->index[route].key;
	size_t n = strlen(key), at;
	uint64_t sum;

	for (at = 0; at + n < RESPONSE_BYTES; at += n)
		memcpy(page + at, key, n);
	sum = hash_bytes(page, 64);
	free(page);
	return sum;
}

NOINLINE static void finish_request(struct request *req)
{
	int i;

	for (i = 0; i < NR_LINES; i++) {
		free(req->lines[i].name);
		free(req->lines[i].value);
	}
	free(req->index);
	free(req->order);
	req->index = NULL;
	req->order = NULL;
	req->nr_entries = req->max_entries = 0;
}

NOINLINE static uint64_t handle_request(struct request *req, unsigned long nr)
{
	uint64_t sum;

	read_request(req, nr);
	parse_request(req);
	build_index(req);
	sum = check_signature(req);
	sum += render_response(req, route_request(req));
	finish_request(req);
	return sum;
}

int main(int argc, char **argv)
{
	static struct request req;
	long nr, nr_requests = arg_long(argc, argv, 1, 2000);
	uint64_t sum = 0;

	/* "Saves memory", somebody wrote: blocks from 128 KB up are mapped, always. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	for (nr = 0; nr < nr_requests; nr++)
		sum += handle_request(&req, nr);
	printf("%ld requests, checksum %016llx\n", nr_requests, (unsigned long long)sum);
	return 0;
}
