// SPDX-License-Identifier: GPL-2.0-only
/*
 * counter.c - counts every call of the malloc family, exactly; the truth that tests compare with.
 *
 *	LD_PRELOAD=counter.so COUNTER_OUT=/tmp/dir/count program
 *
 * leaves /tmp/dir/count.PID for each process (see counter.h; counter_dump prints them). It shares no
 * code and no mechanism with perf churn: no probes, no BPF, no sampling.
 *
 * What it sees: every call that goes through a symbol, from the dynamic loader's first call after
 * relocation to the process's last instruction. What it cannot see, by nature:
 *  - the loader's own allocations before relocation (they never reach libc either);
 *  - calls inside malloc.o that bypass the symbol: realloc(NULL, n) -> malloc, realloc(p, 0) -> free,
 *    the thread cache emptied at thread exit (tcache_thread_shutdown -> free). These are no calls
 *    by the program;
 *  - programs that are static or bring their own malloc.
 * The counter makes no heap call of its own: it uses raw mmap'ed memory and static buffers. Nor does it
 * change what the program asks for: it has no thread-local storage, which would make pthread_create()
 * allocate 16 bytes more.
 *
 * A thread finds its slot by {getpid(), gettid()}, asked from the kernel at each call, because
 * nothing else is right at the same time after fork, vfork and clone.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counter.h"

#define EXPORT		__attribute__((visibility("default")))
#define OWN_BYTES	65536

struct next_fns {
	void *(*malloc)(size_t n);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t n);
	void *(*reallocarray)(void *p, size_t n, size_t size);
	void *(*memalign)(size_t align, size_t n);
	void *(*aligned_alloc)(size_t align, size_t n);
	int (*posix_memalign)(void **p, size_t align, size_t n);
	void *(*valloc)(size_t n);
	void *(*pvalloc)(size_t n);
	void (*free)(void *p);
};

static struct next_fns next;
static atomic_bool next_ready;

static char own_heap[OWN_BYTES] __attribute__((aligned(16)));
static _Atomic size_t own_used;

static _Atomic(struct counter_file *) last_file;
static _Atomic pid_t image_pid;
static char path_prefix[3072];
static atomic_int path_state;		/* 0: not looked up, 1: set, -1: no $COUNTER_OUT */

static _Atomic pid_t looking_up;		/* the thread that does */

static void die(const char *what)
{
	static const char head[] = "counter.so: ";

	syscall(SYS_write, 2, head, sizeof(head) - 1);
	syscall(SYS_write, 2, what, strlen(what));
	syscall(SYS_write, 2, "\n", 1);
	syscall(SYS_exit_group, 127);
}

static void set_prefix(const char *value)
{
	if (strlen(value) >= sizeof(path_prefix))
		die("COUNTER_OUT is too long");
	strcpy(path_prefix, value);
	atomic_store(&path_state, 1);
}

/* libc's environ is not set yet when the loader makes its first calls: ask the kernel. */
static void find_prefix(void)
{
	static char buf[1 << 17];
	static const char key[] = "COUNTER_OUT=";
	ssize_t bytes = 0, got;
	const char *p;
	int fd;

	fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open /proc/self/environ");
	while (bytes < (ssize_t)sizeof(buf) - 1 &&
	       (got = syscall(SYS_read, fd, buf + bytes, sizeof(buf) - 1 - bytes)) > 0)
		bytes += got;
	syscall(SYS_close, fd);
	buf[bytes] = '\0';
	atomic_store(&path_state, -1);
	for (p = buf; p < buf + bytes; p += strlen(p) + 1) {
		if (!strncmp(p, key, sizeof(key) - 1)) {
			set_prefix(p + sizeof(key) - 1);
			return;
		}
	}
}

static void make_path(char *path, pid_t pid)
{
	char digits[16], *d = digits + sizeof(digits);

	*--d = '\0';
	do {
		*--d = '0' + pid % 10;
	} while (pid /= 10);
	*--d = '.';
	strcpy(path, path_prefix);
	strcat(path, d);
}

static struct counter_file *map_file(pid_t pid)
{
	char path[sizeof(path_prefix) + 16];
	struct counter_file *file;
	int fd;

	make_path(path, pid);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		die("cannot open the file COUNTER_OUT names");
	if (syscall(SYS_ftruncate, fd, sizeof(*file)))
		die("cannot size the file COUNTER_OUT names");
	file = (void *)syscall(SYS_mmap, NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, 0);
	if (file == MAP_FAILED)
		die("cannot map the file COUNTER_OUT names");
	syscall(SYS_close, fd);
	file->magic = COUNTER_MAGIC;
	file->pid = pid;
	/* First mapping of this image and process, not one more by another thread. */
	if (atomic_exchange(&image_pid, pid) != pid)
		__atomic_fetch_add(&file->images, 1, __ATOMIC_RELAXED);
	atomic_store(&last_file, file);
	return file;
}

static struct counter_slot *find_slot(struct counter_file *file, uint32_t tid)
{
	uint32_t seen;
	int i;

	for (i = 0; i < COUNTER_NR_SLOTS - 1; i++) {
		seen = __atomic_load_n(&file->slots[i].tid, __ATOMIC_RELAXED);
		if (seen == tid)
			return &file->slots[i];
		if (!seen && (__atomic_compare_exchange_n(&file->slots[i].tid, &seen, tid, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
			return &file->slots[i];
	}
	return &file->slots[COUNTER_NR_SLOTS - 1];
}

/* NULL: not counting. Leaves errno alone. */
static struct counter_file *this_file(void)
{
	int saved_errno = errno;
	pid_t pid = syscall(SYS_getpid);
	struct counter_file *file;

	if (!atomic_load(&path_state))
		find_prefix();
	if (atomic_load(&path_state) < 0)
		return NULL;
	file = atomic_load(&last_file);
	if (!file || file->pid != (uint32_t)pid)
		file = map_file(pid);
	errno = saved_errno;
	return file;
}

static struct counter_slot *this_slot(void)
{
	struct counter_file *file = this_file();

	return file ? find_slot(file, syscall(SYS_gettid)) : NULL;
}

static void add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void count_call(enum counter_fn_id id)
{
	struct counter_slot *slot = this_slot();

	if (slot)
		add(&slot->fn[id].calls, 1);
}

static void count_alloc(enum counter_fn_id id, bool ok, uint64_t bytes)
{
	struct counter_slot *slot = this_slot();

	if (!slot)
		return;
	if (ok) {
		add(&slot->fn[id].ok, 1);
		add(&slot->fn[id].bytes, bytes);
		add(&slot->allocs, 1);
		add(&slot->bytes, bytes);
	} else {
		add(&slot->fn[id].failed, 1);
		add(&slot->failed, 1);
	}
}

static void count_free(void)
{
	struct counter_slot *slot = this_slot();

	if (slot)
		add(&slot->frees, 1);
}

static void *own_alloc(size_t n)
{
	size_t at = atomic_fetch_add(&own_used, (n + 15) & ~(size_t)15);
	struct counter_file *file = this_file();

	if (n > OWN_BYTES || at + n > OWN_BYTES)
		die("the static buffer is full");
	if (file) {
		add(&file->own_allocs, 1);
		add(&file->own_bytes, n);
	}
	return own_heap + at;
}

static bool is_own(const void *p)
{
	return (const char *)p >= own_heap && (const char *)p < own_heap + OWN_BYTES;
}

static void count_own_free(void)
{
	struct counter_file *file = this_file();

	if (file)
		add(&file->own_frees, 1);
}

/* true: the next definitions are known. false: this call comes from within the look-up. */
static bool look_up(void)
{
	if (atomic_load(&next_ready))
		return true;
	if (atomic_load(&looking_up) == syscall(SYS_gettid))
		return false;
	atomic_store(&looking_up, syscall(SYS_gettid));
	next.malloc = dlsym(RTLD_NEXT, "malloc");
	next.calloc = dlsym(RTLD_NEXT, "calloc");
	next.realloc = dlsym(RTLD_NEXT, "realloc");
	next.reallocarray = dlsym(RTLD_NEXT, "reallocarray");
	next.memalign = dlsym(RTLD_NEXT, "memalign");
	next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next.valloc = dlsym(RTLD_NEXT, "valloc");
	next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	next.free = dlsym(RTLD_NEXT, "free");
	atomic_store(&looking_up, 0);
	if (!next.malloc || !next.calloc || !next.realloc || !next.free)
		die("no next malloc");
	atomic_store(&next_ready, true);
	return true;
}

static bool is_recorders(const void *code)
{
	Dl_info info;

	return dladdr(code, &info) && strstr(info.dli_fname, "libperf-churn.so");
}

/*
 * The recorder's library, where it comes behind us, asks once for more than it has, to see whose malloc comes
 * first: no call of the program's.
 */
static bool by_recorder(const void *caller)
{
	return is_recorders((const void *)next.malloc) && is_recorders(caller);
}

EXPORT void *malloc(size_t n)
{
	void *p;

	if (!look_up())
		return own_alloc(n);
	p = next.malloc(n);
	if (!p && by_recorder(__builtin_return_address(0)))
		return NULL;
	count_call(COUNTER_MALLOC);
	count_alloc(COUNTER_MALLOC, p, n);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	void *p;

	/* The static buffer is zeroed and used once. */
	if (!look_up())
		return own_alloc(n * size);
	count_call(COUNTER_CALLOC);
	p = next.calloc(n, size);
	count_alloc(COUNTER_CALLOC, p, n * size);
	return p;
}

/* A block of the static buffer moves to the heap: libc sees a malloc. */
static void *realloc_own(void *old, size_t n)
{
	size_t max = own_heap + OWN_BYTES - (char *)old;
	void *p = look_up() ? malloc(n) : own_alloc(n);

	count_own_free();
	return p ? memcpy(p, old, n < max ? n : max) : NULL;
}

EXPORT void *realloc(void *old, size_t n)
{
	struct counter_slot *slot;
	void *p;

	if (is_own(old))
		return realloc_own(old, n);
	if (!look_up())
		return own_alloc(n);
	count_call(COUNTER_REALLOC);
	p = next.realloc(old, n);
	if (old && !n && !p) {
		count_free();
		return p;
	}
	count_alloc(COUNTER_REALLOC, p, n);
	slot = this_slot();
	if (old && p && slot) {
		add(&slot->frees, 1);
		add(&slot->reallocs, 1);
	}
	return p;
}

EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	struct counter_slot *slot;
	size_t bytes;

	look_up();
	count_call(COUNTER_REALLOCARRAY);
	slot = this_slot();
	if (__builtin_mul_overflow(n, size, &bytes) && slot)
		add(&slot->fn[COUNTER_REALLOCARRAY].failed, 1);
	return next.reallocarray(old, n, size);
}

EXPORT void *memalign(size_t align, size_t n)
{
	void *p;

	look_up();
	count_call(COUNTER_MEMALIGN);
	p = next.memalign(align, n);
	count_alloc(COUNTER_MEMALIGN, p, n);
	return p;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	void *p;

	look_up();
	count_call(COUNTER_ALIGNED_ALLOC);
	p = next.aligned_alloc(align, n);
	count_alloc(COUNTER_ALIGNED_ALLOC, p, n);
	return p;
}

EXPORT int posix_memalign(void **p, size_t align, size_t n)
{
	int err;

	look_up();
	count_call(COUNTER_POSIX_MEMALIGN);
	err = next.posix_memalign(p, align, n);
	count_alloc(COUNTER_POSIX_MEMALIGN, !err, n);
	return err;
}

EXPORT void *valloc(size_t n)
{
	void *p;

	look_up();
	count_call(COUNTER_VALLOC);
	p = next.valloc(n);
	count_alloc(COUNTER_VALLOC, p, n);
	return p;
}

EXPORT void *pvalloc(size_t n)
{
	void *p;

	look_up();
	count_call(COUNTER_PVALLOC);
	p = next.pvalloc(n);
	count_alloc(COUNTER_PVALLOC, p, n);
	return p;
}

static void free_as(enum counter_fn_id id, void *p)
{
	struct counter_slot *slot;

	if (is_own(p)) {
		count_own_free();
		return;
	}
	look_up();
	slot = this_slot();
	if (slot) {
		add(&slot->fn[id].calls, 1);
		add(p ? &slot->frees : &slot->free_null, 1);
	}
	next.free(p);
}

EXPORT void free(void *p)
{
	free_as(COUNTER_FREE, p);
}

/* A compat symbol since glibc 2.26; old binaries still bind to it. */
EXPORT void cfree(void *p)
{
	free_as(COUNTER_CFREE, p);
}

/* Map the file now: later the address space may be limited. */
__attribute__((constructor)) static void counter_start(void)
{
	look_up();
	this_slot();
}
