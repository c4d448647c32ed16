// SPDX-License-Identifier: GPL-2.0-only
/*
 * shapes_vector.cpp - a vector that is filled without reserve().
 *
 *	shapes_vector [ROUNDS]	default 2000
 *
 * fill makes a vector of 1000 ints: 11 blocks of 4, 8, 16, ..., 4096 bytes, of which 10 are outgrown.
 */
#include <cstdlib>
#include <vector>

static int sum;

__attribute__((noinline)) static void fill()
{
	std::vector<int> v;

	for (int i = 0; i < 1000; i++)
		v.push_back(i);
	sum += v[sum % 1000];
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], nullptr, 10) : 2000;

	for (long i = 0; i < rounds; i++)
		fill();
	return sum == -1;
}
