// SPDX-License-Identifier: GPL-2.0-only
/*
 * corners_cxx.cpp - all forms of C++'s operators, as a library of corners.c and, with -DMAIN, as a
 * program: corners_cxx ROUNDS [mild]. Each round makes 14 blocks, besides what a growing vector of
 * strings takes, and, unless "mild", fails to make two.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Wide {
	char bytes[100];
};

struct Plain {
	char bytes[40];
};

static void *volatile sink;
static bool is_mild;

template <typename T> static int one(T *p)
{
	sink = p;
	return p != nullptr && (unsigned long)p % alignof(T) == 0;
}

template <typename T> static int forms()
{
	T *a = new T, *b = new T[3], *c = new (std::nothrow) T, *d = new (std::nothrow) T[3];
	int n = one(a) + one(b) + one(c) + one(d);

	delete a;
	delete[] b;
	operator delete(c, std::nothrow);
	operator delete[](d, std::nothrow);
	return n;
}

static int by_hand()
{
	std::align_val_t align{128};
	void *p = operator new(100), *q = operator new[](100), *r = operator new(100, align);
	void *s = operator new[](100, align), *t = operator new(100, align, std::nothrow);
	void *u = operator new[](100, align, std::nothrow);
	int n = one((char *)p) + one((char *)q) + one((Wide *)r) + one((Wide *)s) + one((Wide *)t) +
		one((Wide *)u);

	operator delete(p, 100UL);
	operator delete[](q, 100UL);
	operator delete(r, 100UL, align);
	operator delete[](s, 100UL, align);
	operator delete(t, align, std::nothrow);
	operator delete[](u, align, std::nothrow);
	return n;
}

/* The exception goes through what was interposed. */
static int too_much()
{
	try {
		sink = operator new(1UL << 62);
	} catch (const std::bad_alloc &) {
		return operator new(1UL << 62, std::nothrow) == nullptr;
	}
	return 0;
}

extern "C" int corners_cxx(int nr)
{
	std::vector<std::string> strings;
	int n = 0;

	for (int i = 0; i < nr; i++) {
		n += forms<Plain>() + forms<Wide>() + by_hand() + (is_mild || too_much());
		strings.push_back(std::string(i % 100, 'x'));
	}
	delete (Plain *)nullptr;
	return n + strings.back().size();
}

#ifdef MAIN
int main(int argc, char **argv)
{
	is_mild = argc > 2;
	printf("C++ %d\n", corners_cxx(atoi(argv[1])));
}
#endif
