// SPDX-License-Identifier: GPL-2.0-only
/*
 * cxx_new.cpp - C++ sites: operator new behind the standard containers.
 *
 *	cxx_new [ROUNDS]	default 500
 *
 * Per round:
 *   fill_vector	vector<int> that grows to 1000 by push_back: 11 allocations
 *   make_strings	3 strings too long for the object: 3 allocations
 *   fill_map		5 nodes of a std::map: 5 allocations
 *   plain_new		1 new int[7] and 1 make_unique<long>: 2 allocations
 * All freed within the round.
 */
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

namespace demo {

template <typename T> static void keep(T &x)
{
	__asm__ volatile("" : : "r"(&x) : "memory");
}

NOINLINE static void fill_vector()
{
	std::vector<int> v;

	for (int i = 0; i < 1000; i++)
		v.push_back(i);
	keep(v);
}

NOINLINE static void make_strings()
{
	for (int i = 0; i < 3; i++) {
		std::string s(100 + i, 'x');

		keep(s);
	}
}

NOINLINE static void fill_map()
{
	std::map<int, int> m;

	for (int i = 0; i < 5; i++)
		m[i] = i;
	keep(m);
}

NOINLINE static void plain_new()
{
	int *p = new int[7];
	auto u = std::make_unique<long>(5);

	keep(p);
	keep(u);
	delete[] p;
}

} // namespace demo

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], nullptr, 10) : 500;

	for (long i = 0; i < rounds; i++) {
		demo::fill_vector();
		demo::make_strings();
		demo::fill_map();
		demo::plain_new();
	}
	return 0;
}
