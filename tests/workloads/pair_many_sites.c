// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_many_sites.c - a server that allocates in many places, one of which is the one that
 * counts.
 *
 *	pair_many_sites [REQUESTS]	default 600000
 *
 * Site: format_number, a scratch buffer of 96 bytes for each of 60 numbers a request. Beside it
 * are nine others (make_*), 3 to 11 blocks a request each, live until its end: they stay in all
 * variants. FREELIST: in front of malloc() and free() in format_number. FIXED: the buffer is on
 * the stack.
 */
#include <inttypes.h>
#include <stdio.h>

#include "freelist.h"
#include "workload.h"

#define NR_NUMBERS	60
#define SCRATCH_BYTES	96
#define MAX_PARTS	80

struct request {
	uint64_t nr, sum;
	void *parts[MAX_PARTS];
	int nr_parts;
};

NOINLINE static uint64_t format_number(uint64_t x)
{
#ifdef FIXED
	char scratch[SCRATCH_BYTES], *buf = scratch;
#else
	char *buf = site_alloc(SCRATCH_BYTES);
#endif
	char *end = buf + SCRATCH_BYTES, *at = end;
	uint64_t sum = 0;

	do {
		*--at = '0' + x % 10;
		x /= 10;
	} while (x);
	keep(buf);
	for (; at < end; at++)
		sum = sum * 31 + *at;
#ifndef FIXED
	site_free(buf, SCRATCH_BYTES);
#endif
	return sum;
}

#define DEFINE_PART(name, bytes, nr_blocks)						\
NOINLINE static void make_##name(struct request *req)					\
{											\
	for (int i = 0; i < (nr_blocks); i++) {						\
		char *part = malloc((bytes) + i * 8);					\
											\
		memset(part, req->nr, bytes);						\
		req->sum += part[(bytes) / 2];						\
		req->parts[req->nr_parts++] = part;					\
	}										\
}

DEFINE_PART(session, 400, 3)
DEFINE_PART(headers, 64, 11)
DEFINE_PART(cookies, 48, 7)
DEFINE_PART(query, 120, 5)
DEFINE_PART(user, 200, 3)
DEFINE_PART(groups, 32, 9)
DEFINE_PART(template, 300, 4)
DEFINE_PART(fields, 80, 8)
DEFINE_PART(answer, 600, 3)

NOINLINE static void drop_parts(struct request *req)
{
	while (req->nr_parts)
		free(req->parts[--req->nr_parts]);
}

NOINLINE static uint64_t handle_request(uint64_t nr)
{
	struct request req = { .nr = nr };
	uint64_t x = nr;
	int i;

	make_session(&req);
	make_headers(&req);
	make_cookies(&req);
	make_query(&req);
	make_user(&req);
	make_groups(&req);
	make_template(&req);
	make_fields(&req);
	make_answer(&req);
	for (i = 0; i < NR_NUMBERS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		req.sum += format_number(x >> 34);
	}
	drop_parts(&req);
	return req.sum;
}

int main(int argc, char **argv)
{
	long i, nr_requests = arg_long(argc, argv, 1, 600000);
	uint64_t sum = 0;

	for (i = 0; i < nr_requests; i++)
		sum += handle_request(i);
	printf("%ld requests, checksum %016" PRIx64 "\n", nr_requests, sum);
	return 0;
}
