// SPDX-License-Identifier: GPL-2.0-only
/*
 * What calls what in glibc's malloc.c, in small; never run.
 *
 *	-DTWO		two functions could be _int_malloc: all ways to sbrk go through both
 *	-DFEW		none could: calloc calls malloc, and who calls it is too few
 *	-DROUND		none could: calloc has a way to sbrk of its own
 */
#define API	__attribute__((visibility("default"), noipa))
#define LOCAL	static __attribute__((noipa))

static struct arena {
	void *top;
	unsigned long nr;
} arena;

API void *sbrk(long n)
{
	arena.nr += n;
	return arena.top;
}

API void *mmap(void *at, unsigned long n)
{
	arena.nr -= n;
	return at;
}

LOCAL void *morecore(long n)
{
	arena.nr++;
	return sbrk(n + 1);
}

LOCAL int systrim(unsigned long pad)
{
	return morecore(-pad) != 0;
}

LOCAL void *sysmalloc(unsigned long n, struct arena *av)
{
	void *p = n > 4096 ? mmap(av->top, n) : morecore(n);

	av->nr++;
	return p;
}

LOCAL void *_int_malloc(struct arena *av, unsigned long n)
{
	void *p = sysmalloc(n + 16, av);

	av->nr--;
	return p;
}

#ifdef TWO
LOCAL void *outer(struct arena *av, unsigned long n)
{
	void *p = _int_malloc(av, n + 8);

	av->nr ^= 1;
	return p;
}
#define REFILL	outer
#else
#define REFILL	_int_malloc
#endif

API void *malloc(unsigned long n)
{
	void *p = REFILL(&arena, n | 1);

	arena.nr += 2;
	return p;
}

API void free(void *p)
{
	arena.top = p;
	systrim(arena.nr + 4);
	arena.nr += 3;
}

API void *calloc(unsigned long n, unsigned long m)
{
#if defined(FEW)
	void *p = malloc(n * m);
#elif defined(ROUND)
	void *p = n > m ? REFILL(&arena, n * m) : morecore(n);
#else
	void *p = REFILL(&arena, n * m);
#endif
	arena.nr += 4;
	return p;
}

API void *realloc(void *p, unsigned long n)
{
	void *q = _int_malloc(&arena, n + 5);

	free(p);
#ifdef TWO
	q = q ? q : outer(&arena, n);
#endif
	return q;
}

API void *memalign(unsigned long a, unsigned long n)
{
#ifdef FEW
	void *p = malloc(n + a);
#else
	void *p = _int_malloc(&arena, n + a);
#endif

#ifdef TWO
	p = p ? p : outer(&arena, n);
#endif
	arena.nr += 5;
	return p;
}

API int malloc_trim(unsigned long pad)
{
	int done = systrim(pad + 6);

	arena.nr += 6;
	return done;
}
