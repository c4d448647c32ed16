// SPDX-License-Identifier: GPL-2.0-only
/*
 * A libdwfl session is costly to set up (each object is opened and parsed), so one is kept for
 * each of the last few address spaces, for as long as space__id() says that what it knows still
 * holds. Objects are added to it when the walk comes to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <elfutils/libdwfl.h>

#include "dso.h"
#include "object.h"
#include "perfdata/reader.h"
#include "space.h"
#include "unwind.h"
#include "util/msg.h"

#define NR_SESSIONS	16
#define MAX_MODULES	384	/* open at once: each holds a descriptor, the limit is often 1024 */
#define FAKE_PID	1	/* libdwfl wants one; nothing is done with it */

struct session {
	__u64 space_id;		/* 0: unused */
	__u64 last_use;
	Dwfl *dwfl;
	size_t nr_modules;
	bool attached;
};

/* The walk that goes on: what the callbacks need. */
struct walk {
	struct session *session;
	struct space *space;
	const struct pdsample *s;
	__u64 sp;
	struct unwound *frames;
	size_t nr, max;
	bool at_root;		/* a return address of 0: made by hand, as makecontext(3) does */
	bool missed;		/* the last step read outside the copy: libdwfl calls that an end */
};

struct unwinder {
	int elf_fd;
	Elf *elf;		/* ourselves: tells libdwfl the architecture */
	struct session sessions[NR_SESSIONS];
	__u64 nr_uses;
	size_t nr_modules;
	struct walk walk;
};

int unwinder__new(struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	u->elf_fd = locate__open("/proc/self/exe");
	if (u->elf_fd >= 0)
		u->elf = elf_begin(u->elf_fd, ELF_C_READ, NULL);
	*ret = u;
	return 0;
}

static void close_session(struct unwinder *u, struct session *session)
{
	dwfl_end(session->dwfl);
	u->nr_modules -= session->nr_modules;
	memset(session, 0, sizeof(*session));
}

void unwinder__free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < NR_SESSIONS; i++)
		close_session(u, &u->sessions[i]);
	elf_end(u->elf);
	if (u->elf_fd >= 0)
		close(u->elf_fd);
	free(u);
}

/* The open session that was not used for longest; NULL when there is none but @except. */
static struct session *least_recent(struct unwinder *u, const struct session *except)
{
	struct session *ret = NULL;

	for (size_t i = 0; i < NR_SESSIONS; i++) {
		struct session *session = &u->sessions[i];

		if (session->dwfl && session != except &&
		    (!ret || session->last_use < ret->last_use))
			ret = session;
	}
	return ret;
}

static struct session *find_session(struct unwinder *u, __u64 space_id)
{
	for (size_t i = 0; i < NR_SESSIONS; i++)
		if (u->sessions[i].space_id == space_id)
			return &u->sessions[i];
	return NULL;
}

static struct session *get_session(struct unwinder *u, __u64 space_id)
{
	struct session *session = find_session(u, space_id);

	if (!session) {
		session = find_session(u, 0) ?: least_recent(u, NULL);
		close_session(u, session);
		session->dwfl = object__begin(false);
		if (!session->dwfl)
			return NULL;
		session->space_id = space_id;
	}
	session->last_use = ++u->nr_uses;
	return session;
}

static void make_room(struct unwinder *u, const struct session *keep)
{
	struct session *session;

	while (u->nr_modules >= MAX_MODULES && (session = least_recent(u, keep)))
		close_session(u, session);
}

/* Make the session know the object at @ip. */
static void report_module(struct unwinder *u, __u64 ip)
{
	struct walk *w = &u->walk;
	const struct mapping *map = space__find(w->space, ip);
	const struct object_file *file;

	if (!map || dwfl_addrmodule(w->session->dwfl, ip))
		return;
	file = dso__file(map->dso);
	if (!file)
		return;
	make_room(u, w->session);
	if (object__report(w->session->dwfl, file,
			   ip - dso__vaddr(map->dso, ip - map->start + map->pgoff))) {
		w->session->nr_modules++;
		u->nr_modules++;
	}
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return FAKE_PID;
}

static bool read_stack(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct walk *w = &((struct unwinder *)arg)->walk;
	__u64 at = addr - w->sp;

	(void)dwfl;
	if (addr < w->sp || w->s->stack_bytes < sizeof(*result) ||
	    at > w->s->stack_bytes - sizeof(*result)) {
		w->missed = true;
		return false;
	}
	memcpy(result, (const char *)w->s->stack + at, sizeof(*result));
	return true;
}

/* Registers were recorded in the order of their bits in the mask. */
static bool get_reg(const struct pdsample *s, int reg, __u64 *ret)
{
	__u64 bit = 1ULL << reg;

	if (!(s->regs_mask & bit))
		return false;
	*ret = s->regs[__builtin_popcountll(s->regs_mask & (bit - 1))];
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	/* by DWARF number */
	static const int regs_64[] = {
		PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX, PERF_REG_X86_BX,
		PERF_REG_X86_SI, PERF_REG_X86_DI, PERF_REG_X86_BP, PERF_REG_X86_SP,
		PERF_REG_X86_R8, PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,
		PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
		PERF_REG_X86_IP,
	};
	static const int regs_32[] = {
		PERF_REG_X86_AX, PERF_REG_X86_CX, PERF_REG_X86_DX, PERF_REG_X86_BX,
		PERF_REG_X86_SP, PERF_REG_X86_BP, PERF_REG_X86_SI, PERF_REG_X86_DI,
		PERF_REG_X86_IP,
	};
	const struct pdsample *s = ((struct unwinder *)arg)->walk.s;
	bool is_32 = s->regs_abi == PERF_SAMPLE_REGS_ABI_32;
	const int *order = is_32 ? regs_32 : regs_64;
	unsigned int nr = is_32 ? 9 : 17;
	Dwarf_Word values[17];

	for (unsigned int i = 0; i < nr; i++) {
		__u64 value = 0;

		get_reg(s, order[i], &value);
		values[i] = value;
	}
	return dwfl_thread_state_registers(thread, 0, nr, values);
}

static const Dwfl_Thread_Callbacks callbacks = {
	.next_thread = next_thread,
	.memory_read = read_stack,
	.set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwinder *u = arg;
	struct walk *w = &u->walk;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	w->missed = false;
	w->at_root = !pc;
	if (!pc)
		return DWARF_CB_ABORT;
	/* whether it is exact depends on the object's rule for it */
	report_module(u, w->nr ? pc - 1 : pc);
	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	w->frames[w->nr++] = (struct unwound) { .ip = pc, .exact = exact };
	return w->nr == w->max ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/*
 * Without an ELF file libdwfl takes the architecture from the first object, but where a stack
 * begins in code of no object (a JIT compiler's) there may be none yet.
 */
static bool attach(struct unwinder *u, struct session *session, bool is_64)
{
	if (!session->attached)
		session->attached = dwfl_attach_state(session->dwfl, is_64 ? u->elf : NULL,
						      FAKE_PID, &callbacks, u);
	return session->attached;
}

size_t unwinder__walk(struct unwinder *u, struct space *space, const struct pdsample *s,
		      struct unwound *frames, size_t max, bool *complete)
{
	bool is_64 = s->regs_abi == PERF_SAMPLE_REGS_ABI_64;
	struct walk *w = &u->walk;
	__u64 ip;

	*complete = false;
	*w = (struct walk) { .space = space, .s = s, .frames = frames, .max = max };
	if (!max || s->regs_abi == PERF_SAMPLE_REGS_ABI_NONE ||
	    !get_reg(s, PERF_REG_X86_SP, &w->sp) || !get_reg(s, PERF_REG_X86_IP, &ip))
		return 0;
	w->session = get_session(u, space__id(space));
	if (!w->session)
		return 0;
	report_module(u, ip);
	if (!attach(u, w->session, is_64))
		return 0;
	if (!dwfl_getthread_frames(w->session->dwfl, FAKE_PID, on_frame, u))
		*complete = !w->missed;
	else
		*complete = w->at_root;
	if (!*complete && w->nr < max)
		pr_debug("unwind: %s after %zu frames\n", dwfl_errmsg(-1), w->nr);
	return w->nr;
}
