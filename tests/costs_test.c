// SPDX-License-Identifier: GPL-2.0-only
/*
 * What CPU samples were spent on, and which sites pay for it: made-up stacks, exact sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "churn/costs.h"
#include "churn/cpu_class.h"
#include "churn/model.h"
#include "churn/names.h"
#include "churn/places.h"
#include "stack/machine.h"

#include "kselftest_harness.h"

/* --- classes ---------------------------------------------------------------------------------- */

#define LIBC	"/lib/libc.so.6"
#define PROG	"/bin/prog"

FIXTURE(class) { struct names *names; };

FIXTURE_SETUP(class)
{
	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
}

FIXTURE_TEARDOWN(class)
{
	names__free(self->names);
}

/* @kernel and @user: functions, innermost first, a blank between them; "?" has no name. */
FIXTURE_VARIANT(class) {
	const char *kernel, *user;
	enum cpu_class want;
	__u32 flags;
};

#define CLASS(row, kernel_, user_, want_, flags_) \
	FIXTURE_VARIANT_ADD(class, row) { kernel_, user_, want_, flags_ }

CLASS(malloc_itself, "", "_int_malloc malloc leaf main", CLASS_MALLOC, 0);
CLASS(calloc_calls_memset, "", "memset calloc leaf main", CLASS_MALLOC, CPU_ZEROING);
CLASS(operator_new_itself, "", "_Znwm leaf main", CLASS_MALLOC, 0);
CLASS(free_with_a_version, "", "_int_free cfree@GLIBC_2.2.5 leaf main", CLASS_FREE, 0);
CLASS(operator_delete_itself, "", "_ZdlPvm leaf main", CLASS_FREE, 0);
CLASS(realloc_that_mallocs, "", "_int_malloc _int_realloc realloc leaf main", CLASS_REALLOC, 0);
CLASS(realloc_that_copies, "", "memcpy realloc leaf main", CLASS_REALLOC, 0);
CLASS(jemalloc_free, "", "je_free leaf main", CLASS_FREE, 0);
CLASS(plt_of_free, "", "free@plt leaf main", CLASS_FREE, 0);
CLASS(free_that_consolidates, "", "malloc_consolidate _int_free free main", CLASS_FREE, 0);
CLASS(malloc_that_consolidates, "", "malloc_consolidate _int_malloc malloc main", CLASS_MALLOC, 0);
CLASS(nameless_under_free, "", "[internals] free main", CLASS_FREE, 0);
CLASS(nameless, "", "[internals] main", CLASS_MALLOC, CPU_SIDE_UNKNOWN);
CLASS(program, "", "leaf main", CLASS_COMPUTE, 0);
CLASS(memset_of_the_program, "", "memset leaf main", CLASS_COMPUTE, CPU_MEMSET);
CLASS(end_of_a_calloc_of_the_preload_librarys, "", "__memset_avx2_erms own:slow_calloc leaf main",
      CLASS_MALLOC, CPU_ZEROING);
CLASS(interrupt_in_malloc, "handle_softirqs asm_sysvec_apic_timer_interrupt",
      "_int_malloc malloc main", CLASS_MALLOC, 0);
CLASS(arena_lock, "futex_wait do_futex __x64_sys_futex do_syscall_64 entry_SYSCALL_64_after_hwframe",
      "__lll_lock_wait_private _int_free free main", CLASS_FREE, 0);
CLASS(brk_of_malloc, "do_brk_flags __do_sys_brk do_syscall_64 entry_SYSCALL_64_after_hwframe",
      "brk sbrk sysmalloc malloc main", CLASS_HEAP_SYSCALL, 0);
CLASS(munmap_of_free, "unmap_vmas __vm_munmap __x64_sys_munmap do_syscall_64", "munmap free main",
      CLASS_HEAP_SYSCALL, CPU_UNDER_FREE);
CLASS(entry_of_a_heap_syscall, "entry_SYSCALL_64_after_hwframe", "munmap free main",
      CLASS_HEAP_SYSCALL, CPU_UNDER_FREE);
CLASS(mmap_of_the_program, "do_mmap __x64_sys_mmap do_syscall_64", "mmap leaf main",
      CLASS_COMPUTE, 0);
CLASS(fault_in_calloc, "clear_page_erms do_anonymous_page handle_mm_fault asm_exc_page_fault",
      "memset calloc main", CLASS_HEAP_FAULT, CPU_ZEROING);
CLASS(fault_in_free, "asm_exc_page_fault", "_int_free free main", CLASS_HEAP_FAULT, CPU_UNDER_FREE);
CLASS(first_touch, "clear_page_erms alloc_anon_folio do_anonymous_page.isra.0 handle_mm_fault "
      "exc_page_fault asm_exc_page_fault", "fill leaf main", CLASS_HEAP_FAULT, CPU_FIRST_TOUCH);
CLASS(first_touch_of_a_huge_page, "folio_zero_user do_huge_pmd_anonymous_page asm_exc_page_fault",
      "leaf main", CLASS_HEAP_FAULT, CPU_FIRST_TOUCH);
CLASS(fault_on_a_file, "filemap_map_pages do_read_fault do_fault handle_mm_fault asm_exc_page_fault",
      "leaf main", CLASS_COMPUTE, CPU_OTHER_FAULT);
CLASS(table_page_of_a_file_fault, "clear_page_erms pte_alloc_one do_fault asm_exc_page_fault",
      "leaf main", CLASS_COMPUTE, CPU_OTHER_FAULT);
CLASS(fault_that_does_not_say, "irq_enable exc_page_fault asm_exc_page_fault", "leaf main",
      CLASS_COMPUTE, CPU_SOME_FAULT);
CLASS(read_of_the_program, "filemap_read ksys_read __x64_sys_read", "read leaf main",
      CLASS_COMPUTE, 0);
CLASS(uprobe, "uprobe_notify_resume asm_exc_int3", "malloc main", CLASS_PROBE, 0);
CLASS(preload_library, "", "own:perf_churn_count leaf main", CLASS_PROBE, 0);
CLASS(what_the_preload_library_calls, "do_madvise __x64_sys_madvise", "madvise own:boot leaf main",
      CLASS_PROBE, 0);
CLASS(allocator_below_the_preload_library, "", "_int_malloc malloc own:slow_malloc leaf main",
      CLASS_MALLOC, 0);
CLASS(nameless_kernel, "?", "malloc main", CLASS_MALLOC, CPU_UNNAMED_KERNEL);

static size_t make_frames(char *text, bool kernel, struct frame *frames, size_t nr)
{
	char *name;

	for (name = strtok(text, " "); name; name = strtok(NULL, " ")) {
		bool own = !strncmp(name, "own:", 4), internals = !strcmp(name, "[internals]");

		frames[nr] = (struct frame){
			.sym = internals ? MACHINE_INTERNALS : strcmp(name, "?") ? name + 4 * own : NULL,
			.dso = kernel ? "[kernel.kallsyms]" : own ? "/lib/libperf-churn.so" : PROG,
			.kernel = kernel, .allocator = internals, .ip = 0x1000 + nr,
		};
		nr++;
	}
	return nr;
}

TEST_F(class, is_told_by_the_stack)
{
	const __u32 kinds_of = CPU_UNDER_FREE | CPU_FIRST_TOUCH | CPU_OTHER_FAULT | CPU_SOME_FAULT |
			       CPU_SIDE_UNKNOWN | CPU_UNNAMED_KERNEL | CPU_MEMSET |
			       CPU_ZEROING;
	char kernel[256], user[256];
	struct frame frames[32];
	enum frame_kind kinds[32];
	size_t nr, i;
	__u32 flags;

	strcpy(kernel, variant->kernel);
	strcpy(user, variant->user);
	nr = make_frames(kernel, true, frames, 0);
	nr = make_frames(user, false, frames, nr);
	for (i = 0; i < nr; i++)
		kinds[i] = frames[i].allocator ? FRAME_ALLOCATOR :
			   names__classify(self->names, frames[i].sym, frames[i].dso, frames[i].kernel);
	EXPECT_EQ(variant->want, cpu_class__of(frames, kinds, nr, &flags));
	EXPECT_EQ(variant->flags, flags & kinds_of);
}

/* --- costs ------------------------------------------------------------------------------------ */

FIXTURE(costs) {
	struct names *names;
	struct model *m;
	struct report_recording rec;
	const struct report *r;
	__u64 seq;
};

static int new_model(FIXTURE_DATA(costs) *self, size_t depth)
{
	struct model_opts opts = { .names = self->names, .max_live = 10000, .site_depth = depth };

	model__free(self->m);
	return model__new(&opts, &self->m);
}

FIXTURE_SETUP(costs)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, names__new(NULL, 0, &self->names));
	ASSERT_EQ(0, new_model(self, 1));
	self->rec = (struct report_recording){
		.has_weights = true, .has_frees = true, .duration_s = 1,
		.cpu_call_graph = CALL_GRAPH_CFI, .call_graph = CALL_GRAPH_CFI,
	};
}

FIXTURE_TEARDOWN(costs)
{
	model__free(self->m);
	names__free(self->names);
}

#define F(name, start, at) \
	{ .ip = (at), .sym = (name), .sym_start = (start), .rel_ip = (at), .dso = PROG }
#define START	F("_start", 0x10, 0x20)
#define MAIN	F("main", 0x100, 0x110)

/* An allocation's stack begins at the call, a CPU sample's has the return address there. */
#define SITE_A(at)	F("site_a", 0x200, 0x210 + (at))
#define SITE_B(at)	F("site_b", 0x300, 0x310 + (at))
#define RELEASE(at)	F("release", 0x400, 0x410 + (at))
#define RELEASE2(at)	F("release", 0x400, 0x450 + (at))

static const struct frame alloc_a[] = { SITE_A(-1), MAIN, START };
static const struct frame alloc_b[] = { SITE_B(-1), MAIN, START };
static const struct frame malloc_a[] = { F("malloc", 0x900, 0x910), SITE_A(0), MAIN, START };
static const struct frame malloc_b[] = { F("malloc", 0x900, 0x910), SITE_B(0), MAIN, START };
static const struct frame free_at[] = { RELEASE(-1), MAIN, START };
static const struct frame free_here[] = { F("free", 0xa00, 0xa10), RELEASE(0), MAIN, START };
static const struct frame free_there[] = { F("free", 0xa00, 0xa10), RELEASE2(0), MAIN, START };
static const struct frame free_elsewhere[] = {
	F("free", 0xa00, 0xa10), F("other", 0x500, 0x510), MAIN, START };

#define STACK(frames)	frames, sizeof(frames) / sizeof(frames[0])

static void add_cpu(FIXTURE_DATA(costs) *self, int nr, enum cpu_class class, __u32 flags,
		    const struct frame *frames, size_t nr_frames)
{
	struct cpu_path like = { .stack = STACK_NONE, .class = class, .flags = flags, .comm = "" };
	__u32 path;

	if (class != CLASS_COMPUTE && class != CLASS_PROBE && !(flags & CPU_FIRST_TOUCH))
		like.flags |= CPU_ALLOCATOR;
	like.flags |= class == CLASS_PROBE ? CPU_PROBE : 0;
	if ((frames && stacks__add(model__stacks(self->m), frames, nr_frames, &like.stack)) ||
	    model__cpu_path(self->m, &like, &path))
		return;
	while (nr-- > 0)
		model__add_cpu(self->m, path, 1000);
}

/* @nr blocks, freed by @fn at @where unless that is NULL. */
static void add_blocks(FIXTURE_DATA(costs) *self, int nr, __u64 size, __u32 fn,
		       const struct frame *frames, size_t nr_frames, const struct frame *where,
		       size_t nr_where)
{
	struct model_alloc a = { .time_ns = 1000, .size_bytes = size, .weight = 1, .pid = 10,
				 .fn = CHURN_FN_MALLOC, .comm = "" };
	struct model_free f = { .time_ns = 2000, .lifetime_ns = 1000, .weight = 1, .pid = 10,
				.fn = fn, .counted = true };

	stacks__add(model__stacks(self->m), frames, nr_frames, &a.stack);
	if (where)
		stacks__add(model__stacks(self->m), where, nr_where, &f.stack);
	while (nr-- > 0) {
		a.seq = f.seq = ++self->seq;
		model__add_alloc(self->m, &a);
		if (where)
			model__add_free(self->m, &f);
	}
}

static void finish(FIXTURE_DATA(costs) *self)
{
	model__finish(self->m, &self->rec, 5000, true, &self->r);
}

static const struct report_site *site(FIXTURE_DATA(costs) *self, const char *name)
{
	size_t i;

	for (i = 0; i < self->r->nr_sites; i++) {
		if (!strcmp(stacks__frame(self->r->stacks, self->r->sites[i].stack)->sym, name))
			return &self->r->sites[i];
	}
	return NULL;
}

#define EXPECT_NEAR(want, seen)	EXPECT_LT(fabs((want) - (seen)), 1e-9)

static double sum_of_parts(const struct report_cost *c)
{
	double sum = 0;
	int class;

	for (class = 0; class < NR_CPU_CLASSES; class++)
		sum += c->parts[class];
	return sum;
}

TEST_F(costs, malloc_goes_to_its_site_and_free_to_those_whose_blocks_die)
{
	const struct report_cost *a, *b;

	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 10, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 100, CLASS_MALLOC, 0, STACK(malloc_a));
	add_cpu(self, 60, CLASS_MALLOC, 0, STACK(malloc_b));
	add_cpu(self, 40, CLASS_FREE, 0, STACK(free_here));
	add_cpu(self, 800, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	ASSERT_EQ(2, self->r->nr_sites);
	ASSERT_TRUE(self->r->cpu.spread.known);
	a = &site(self, "site_a")->cost;
	b = &site(self, "site_b")->cost;
	EXPECT_NEAR(0.10, a->parts[CLASS_MALLOC]);
	EXPECT_NEAR(0.03, a->parts[CLASS_FREE]);
	EXPECT_NEAR(0.13, a->whole.value);
	EXPECT_NEAR(0.06, b->parts[CLASS_MALLOC]);
	EXPECT_NEAR(0.01, b->parts[CLASS_FREE]);
	EXPECT_NEAR(0, self->r->cpu.unattributed.whole.value);
	EXPECT_NEAR(0.04, self->r->cpu.spread.frees_by_line);
	EXPECT_NEAR(0.16, self->r->cpu.classes[CLASS_MALLOC].value);
	EXPECT_NEAR(0.04, self->r->cpu.classes[CLASS_FREE].value);
	EXPECT_NEAR(0.8, self->r->cpu.classes[CLASS_COMPUTE].value);
}

TEST_F(costs, classes_add_up_with_the_probes_and_sites_are_without_them)
{
	double sum = 0;
	int class;

	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 100, CLASS_MALLOC, 0, STACK(malloc_a));
	add_cpu(self, 900, CLASS_COMPUTE, 0, NULL, 0);
	add_cpu(self, 1000, CLASS_PROBE, 0, NULL, 0);
	finish(self);
	for (class = 0; class < NR_CPU_CLASSES; class++)
		sum += self->r->cpu.classes[class].value;
	EXPECT_NEAR(1, sum);
	EXPECT_NEAR(0.05, self->r->cpu.allocator.value);
	EXPECT_NEAR(0.5, self->r->cpu.classes[CLASS_PROBE].value);
	EXPECT_NEAR(0.1, site(self, "site_a")->cost.whole.value);
	/* Binomial: sqrt(0.1 * 0.9 / 1000) */
	EXPECT_LT(fabs(0.009487 - site(self, "site_a")->cost.whole.error), 1e-5);
}

TEST_F(costs, what_is_not_known_is_nobodys_and_said)
{
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 50, CLASS_FREE, 0, STACK(free_there));
	add_cpu(self, 70, CLASS_FREE, 0, STACK(free_elsewhere));
	add_cpu(self, 880, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_NEAR(0.05, self->r->cpu.spread.frees_by_function);
	EXPECT_NEAR(0.07, self->r->cpu.spread.frees_unknown);
	EXPECT_NEAR(0.05, site(self, "site_a")->cost.parts[CLASS_FREE]);
	EXPECT_NEAR(0.07, self->r->cpu.unattributed.parts[CLASS_FREE]);
	EXPECT_NEAR(0.07, self->r->cpu.unattributed.whole.value);
}

TEST_F(costs, four_frees_are_too_few_for_a_mix)
{
	add_blocks(self, 4, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 50, CLASS_FREE, 0, STACK(free_here));
	add_cpu(self, 950, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_NEAR(0.05, self->r->cpu.unattributed.whole.value);
	EXPECT_NEAR(0, site(self, "site_a")->cost.whole.value);
	/* None seen is not none at all. */
	EXPECT_GT(site(self, "site_a")->cost.whole.error, 0.0009);
}

TEST_F(costs, a_small_mix_has_a_large_error)
{
	double few, many;
	int i;

	for (i = 1; i >= 0; i--) {
		ASSERT_EQ(0, new_model(self, 1));
		add_blocks(self, i ? 300 : 3, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
		add_blocks(self, i ? 300 : 3, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
		add_cpu(self, 10000, CLASS_FREE, 0, STACK(free_here));
		finish(self);
		*(i ? &many : &few) = site(self, "site_a")->cost.whole.error;
	}
	/* Half of all, out of 600 and out of 6: 0.5 / sqrt(n), the latter drawn to 8 */
	EXPECT_LT(fabs(many - hypot(0.5 / sqrt(602), 0.0043)), 1e-3);
	EXPECT_LT(fabs(few - 0.5 / sqrt(8)), 1e-2);
}

TEST_F(costs, blocks_that_realloc_gives_back_are_not_in_the_mix)
{
	add_blocks(self, 10, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 90, 16, CHURN_FN_REALLOC, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 100, CLASS_FREE, 0, STACK(free_here));
	finish(self);
	EXPECT_NEAR(1, site(self, "site_a")->cost.parts[CLASS_FREE]);
}

TEST_F(costs, frees_of_blocks_never_seen_are_nobodys)
{
	struct model_free f = { .weight = 1, .pid = 10, .fn = CHURN_FN_FREE,
				.flags = CHURN_F_UNSEEN, .counted = true };
	int i;

	add_blocks(self, 25, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	stacks__add(model__stacks(self->m), STACK(free_at), &f.stack);
	for (i = 0; i < 75; i++)
		model__add_free(self->m, &f);
	add_cpu(self, 100, CLASS_FREE, 0, STACK(free_here));
	finish(self);
	EXPECT_NEAR(0.25, site(self, "site_a")->cost.whole.value);
	EXPECT_NEAR(0.75, self->r->cpu.unattributed.whole.value);
}

TEST_F(costs, what_the_kernel_does_for_free_goes_by_bytes)
{
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 10, 1 << 20, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 100, CLASS_HEAP_SYSCALL, CPU_UNDER_FREE, STACK(free_here));
	finish(self);
	EXPECT_LT(1 - site(self, "site_b")->cost.parts[CLASS_HEAP_SYSCALL], 1e-3);
}

TEST_F(costs, a_site_that_only_cpu_samples_have_seen_is_one)
{
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 10, CLASS_REALLOC, 0, STACK(malloc_b));
	add_cpu(self, 90, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_NEAR(0.1, site(self, "site_b")->cost.parts[CLASS_REALLOC]);
	EXPECT_EQ(0, site(self, "site_b")->allocs.value);
	EXPECT_EQ(0, site(self, "site_b")->nr_paths);
}

TEST_F(costs, a_stack_that_ends_in_the_allocator_is_nobodys)
{
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 10, CLASS_MALLOC, 0, malloc_a, 1);
	add_cpu(self, 90, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_EQ(1, self->r->nr_sites);
	EXPECT_NEAR(0.1, self->r->cpu.unattributed.parts[CLASS_MALLOC]);
}

/* site_a() allocates for main(), which calls fill() to write into the block. */
static const struct frame fill[] = { F("fill", 0x600, 0x610), MAIN, START };
static const struct frame strange[] = { F("fill", 0x600, 0x610), F("thread", 0x700, 0x710), START };

TEST_F(costs, first_touches_go_to_large_blocks_of_the_functions_on_the_stack)
{
	add_blocks(self, 30, 1 << 20, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 30, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, STACK(fill));
	add_cpu(self, 10, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, STACK(strange));
	add_cpu(self, 60, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_NEAR(0.3, site(self, "site_a")->cost.parts[CLASS_HEAP_FAULT]);
	EXPECT_NEAR(0, site(self, "site_b")->cost.whole.value);
	EXPECT_NEAR(0.1, self->r->cpu.unattributed.parts[CLASS_HEAP_FAULT]);
	EXPECT_NEAR(0.1, self->r->cpu.spread.faults_unknown);
	EXPECT_NEAR(0.4, self->r->cpu.classes[CLASS_HEAP_FAULT].value);
}

TEST_F(costs, who_asks_the_kernel_for_memory_has_fresh_one)
{
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 10, CLASS_HEAP_SYSCALL, 0, STACK(malloc_a));
	add_cpu(self, 30, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, STACK(fill));
	add_cpu(self, 60, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_NEAR(0.3, site(self, "site_a")->cost.parts[CLASS_HEAP_FAULT]);
	EXPECT_NEAR(0.1, site(self, "site_a")->cost.parts[CLASS_HEAP_SYSCALL]);
}

TEST_F(costs, a_few_pages_do_not_take_for_ever)
{
	self->rec.cpu_is_ns = true;
	/* 5 pages take 100 us at most, and 200 samples are 200 us. */
	add_blocks(self, 5, 4096, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 200, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, STACK(fill));
	finish(self);
	EXPECT_NEAR(0.5, site(self, "site_a")->cost.whole.value);
	EXPECT_NEAR(0.5, self->r->cpu.unattributed.whole.value);
}

TEST_F(costs, faults_that_do_not_say_are_as_others_of_their_function)
{
	add_blocks(self, 30, 1 << 20, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 30, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, STACK(fill));
	add_cpu(self, 10, CLASS_COMPUTE, CPU_OTHER_FAULT, STACK(fill));
	add_cpu(self, 40, CLASS_COMPUTE, CPU_SOME_FAULT, STACK(fill));
	add_cpu(self, 20, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	EXPECT_NEAR(0.6, self->r->cpu.classes[CLASS_HEAP_FAULT].value);
	EXPECT_NEAR(0.4, self->r->cpu.classes[CLASS_COMPUTE].value);
	EXPECT_NEAR(0.6, site(self, "site_a")->cost.parts[CLASS_HEAP_FAULT]);
	EXPECT_NEAR(0.3, self->r->cpu.spread.faults_likely);
}

TEST_F(costs, without_whole_stacks_nothing_is_said_of_sites)
{
	self->rec.cpu_call_graph = CALL_GRAPH_FP;
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 100, CLASS_MALLOC, 0, STACK(malloc_a));
	finish(self);
	EXPECT_FALSE(self->r->cpu.spread.known);
	EXPECT_TRUE(isnan(site(self, "site_a")->cost.whole.value));
	EXPECT_NEAR(1, self->r->cpu.classes[CLASS_MALLOC].value);
}

TEST_F(costs, nameless_allocator_code_is_free_where_only_frees_were_seen)
{
	const struct frame nameless[] = {
		{ .ip = 0xb10, .rel_ip = 0xb10, .sym = MACHINE_INTERNALS, .dso = LIBC,
		  .allocator = true }, RELEASE(0), MAIN, START };

	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_cpu(self, 100, CLASS_MALLOC, CPU_SIDE_UNKNOWN, STACK(nameless));
	finish(self);
	EXPECT_NEAR(1, self->r->cpu.classes[CLASS_FREE].value);
	EXPECT_NEAR(1, site(self, "site_a")->cost.parts[CLASS_FREE]);
	EXPECT_NEAR(1, self->r->cpu.spread.side_unknown);
}

TEST_F(costs, depth_tells_sites_apart_by_their_callers)
{
	const struct frame other_caller[] = { SITE_A(-1), F("main", 0x100, 0x150), START };
	const struct frame from_there[] = {
		F("malloc", 0x900, 0x910), SITE_A(0), F("main", 0x100, 0x150), START };

	ASSERT_EQ(0, new_model(self, 2));
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 10, 16, CHURN_FN_FREE, STACK(other_caller), STACK(free_at));
	add_cpu(self, 30, CLASS_MALLOC, 0, STACK(malloc_a));
	add_cpu(self, 50, CLASS_MALLOC, 0, STACK(from_there));
	add_cpu(self, 20, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	ASSERT_EQ(2, self->r->nr_sites);
	EXPECT_EQ(30, self->r->sites[0].allocs.value);
	EXPECT_NEAR(0.3, self->r->sites[0].cost.whole.value);
	EXPECT_EQ(10, self->r->sites[1].allocs.value);
	EXPECT_NEAR(0.5, self->r->sites[1].cost.whole.value);
}

TEST_F(costs, memset_at_a_call_of_calloc_is_callocs)
{
	const struct frame tail[] = {
		{ .ip = 0xc10, .rel_ip = 0xc10, .sym = "memset", .dso = LIBC, .allocator = true },
		SITE_A(0), MAIN, START };
	const struct frame plain[] = {
		{ .ip = 0xc10, .rel_ip = 0xc10, .sym = "memset", .dso = LIBC, .allocator = true },
		SITE_B(0), MAIN, START };
	struct model_alloc a = { .time_ns = 1000, .size_bytes = 64, .weight = 1, .seq = 1, .pid = 10,
				 .fn = CHURN_FN_CALLOC, .comm = "" };

	stacks__add(model__stacks(self->m), STACK(alloc_a), &a.stack);
	model__add_alloc(self->m, &a);
	add_blocks(self, 30, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	add_cpu(self, 30, CLASS_COMPUTE, CPU_MEMSET, STACK(tail));
	add_cpu(self, 10, CLASS_COMPUTE, CPU_MEMSET | CPU_SOME_FAULT, STACK(tail));
	add_cpu(self, 60, CLASS_COMPUTE, CPU_MEMSET, STACK(plain));
	finish(self);
	EXPECT_NEAR(0.3, site(self, "site_a")->cost.parts[CLASS_MALLOC]);
	EXPECT_NEAR(0.1, site(self, "site_a")->cost.parts[CLASS_HEAP_FAULT]);
	EXPECT_NEAR(0.4, site(self, "site_a")->cost.whole.value);
	/* Zeros are needed all the same, as far as anybody knows; fresh pages are not. */
	EXPECT_NEAR(0.3, site(self, "site_a")->cost.zeroing);
	EXPECT_NEAR(0.1, site(self, "site_a")->cost.saving.value);
	EXPECT_NEAR(0, site(self, "site_b")->cost.whole.value);
	EXPECT_NEAR(0.6, self->r->cpu.classes[CLASS_COMPUTE].value);
	EXPECT_EQ(40, self->r->cpu.nr_allocator);
}

/* Whatever the stacks: what sites have, and nobody, is what the classes have. */
TEST_F(costs, nothing_is_lost_and_nothing_counted_twice)
{
	const struct frame *const stacks[] = { malloc_a, malloc_b, free_here, free_there,
					       free_elsewhere };
	double sites = 0, classes = 0;
	size_t i;
	int class;

	add_blocks(self, 17, 5000, CHURN_FN_FREE, STACK(alloc_a), STACK(free_at));
	add_blocks(self, 23, 16, CHURN_FN_FREE, STACK(alloc_b), STACK(free_at));
	for (i = 0; i < 5; i++) {
		for (class = CLASS_MALLOC; class <= CLASS_HEAP_SYSCALL; class++) {
			add_cpu(self, 3 + i, class, 0, stacks[i], 4);
			add_cpu(self, 2 + class, class, CPU_UNDER_FREE, stacks[i], 4);
		}
		add_cpu(self, 7, CLASS_HEAP_FAULT, CPU_FIRST_TOUCH, stacks[i], 4);
		add_cpu(self, 5, CLASS_COMPUTE, CPU_SOME_FAULT, stacks[i], 4);
	}
	add_cpu(self, 100, CLASS_COMPUTE, 0, NULL, 0);
	finish(self);
	for (i = 0; i < self->r->nr_sites; i++) {
		EXPECT_NEAR(self->r->sites[i].cost.whole.value, sum_of_parts(&self->r->sites[i].cost));
		sites += self->r->sites[i].cost.whole.value;
	}
	for (class = CLASS_MALLOC; class <= CLASS_HEAP_SYSCALL; class++)
		classes += self->r->cpu.classes[class].value;
	EXPECT_NEAR(classes, sites + self->r->cpu.unattributed.whole.value);
	EXPECT_NEAR(1, classes + self->r->cpu.classes[CLASS_COMPUTE].value);
}

TEST_HARNESS_MAIN
