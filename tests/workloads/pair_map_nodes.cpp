// SPDX-License-Identifier: GPL-2.0-only
/*
 * pair_map_nodes.cpp - tree nodes: each request is summed up in a map of its own.
 *
 *	pair_map_nodes [REQUESTS]	default 45000
 *
 * Site: count_keys, about 380 nodes of a map a request, freed with the map. FREELIST: behind
 * operator new and delete. FIXED: the nodes lie one after the other in an arena, which begins
 * anew each time.
 */
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>

#include "freelist.h"
#include "workload.h"

#define NR_KEYS	400
#define KEYS	4096
#define ARENA_BYTES	(NR_KEYS * 64)

#ifdef FIXED
alignas(16) static char arena[ARENA_BYTES];
static size_t arena_used;

template <typename T> struct arena_allocator {
	using value_type = T;

	arena_allocator() = default;
	template <typename U> arena_allocator(const arena_allocator<U> &) {}
	void deallocate(T *, size_t) {}
	T *allocate(size_t nr)
	{
		char *p = arena + arena_used;

		arena_used += nr * sizeof(T);
		return reinterpret_cast<T *>(p);
	}
};

using key_map = std::map<uint32_t, uint64_t, std::less<uint32_t>,
			 arena_allocator<std::pair<const uint32_t, uint64_t>>>;
#else
using key_map = std::map<uint32_t, uint64_t>;
#endif

NOINLINE static void count_keys(key_map &map, uint64_t request)
{
	uint64_t x = request + 1;

	for (int i = 0; i < NR_KEYS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		map[(x >> 40) % KEYS] += x >> 56;
	}
}

NOINLINE static uint64_t sum_up(const key_map &map)
{
	uint64_t sum = 0;

	for (const auto &[key, value] : map)
		sum = sum * 31 + key * value;
	return sum;
}

NOINLINE static uint64_t handle_request(uint64_t request)
{
	key_map map;

#ifdef FIXED
	arena_used = 0;
#endif
	count_keys(map, request);
	return sum_up(map);
}

int main(int argc, char **argv)
{
	long nr_requests = arg_long(argc, argv, 1, 45000);
	uint64_t sum = 0;

	for (long i = 0; i < nr_requests; i++)
		sum += handle_request(i);
	printf("%ld requests, checksum %016" PRIx64 "\n", nr_requests, sum);
	return 0;
}
