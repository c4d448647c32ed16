// SPDX-License-Identifier: GPL-2.0-only
/*
 * The allocator's time, called to allocate, goes to the site on the sample's own stack. Called to
 * free, to the sites whose blocks are freed there (mixes.h), and what the kernel does then by their
 * bytes.
 * Faults outside of the allocator go to the sites whose fresh memory it is likely to be (touch.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cost_sites.h"
#include "cpu_class.h"
#include "mixes.h"
#include "model_priv.h"
#include "touch.h"

/* Faults that must be known to tell what others are. */
#define MIN_FAULTS		5
/* No page takes longer to fault in: what is above cannot be of a site's blocks. */
#define MAX_NS_PER_PAGE		20000.0
#define PAGE_BYTES		4096.0
/* From fewer sampled blocks nobody knows how many there were. */
#define MIN_LARGE		5

enum { FAULT_OTHER, FAULT_FRESH };

struct spreader {
	struct model *m;
	struct mixes mixes;
	struct touch touch;
	struct mix_table faults;	/* by function; "sites" are FAULT_... */
	struct places callocs;		/* calls of it */
	struct period_sum classes[NR_CPU_CLASSES];
	double all;			/* the program's CPU time */
	double *touched;		/* by site */
};

static struct cost_sum *sum_of(struct spreader *sp, __u32 site)
{
	return &sp->m->cost_sums[site == SITE_NONE ? sp->m->nr_sites : site];
}

/* @error: standard error of the part that is theirs. */
static void charge(struct spreader *sp, __u32 site, enum cpu_class class,
		   const struct period_sum *cpu, double part, double error)
{
	struct cost_sum *sum = sum_of(sp, site);

	sum->parts[class] += part * cpu->sum;
	sum->squares += part * part * cpu->squares;
	sum->mix_error += error * cpu->sum;
}

static bool is_zeroing(const struct cpu_path *p)
{
	return p->flags & CPU_ZEROING && p->class != CLASS_HEAP_FAULT;
}

static double part_of(const struct mix *mix, const struct mix_part *p, bool by_bytes)
{
	if (by_bytes && mix->sum.bytes > 0)
		return p->bytes / mix->sum.bytes;
	return mix->sum.weight > 0 ? p->weight / mix->sum.weight : 0;
}

/* Binomial, drawn towards one half by a sample each way: all of five is not all of all. */
static double part_error(const struct mix *mix, double part)
{
	double nr = mix->sum.squares > 0 ?
		    mix->sum.weight * mix->sum.weight / mix->sum.squares : mix->sum.nr;
	double drawn = (part * nr + 1) / (nr + 2);

	return sqrt(drawn * (1 - drawn) / (nr + 2));
}

static void charge_mix(struct spreader *sp, const struct cpu_path *p, const struct mix *mix,
		       bool by_bytes)
{
	size_t i;

	for (i = 0; i < mix->nr; i++) {
		double part = part_of(mix, &mix->parts[i], by_bytes);

		charge(sp, mix->parts[i].site, p->class, &p->sum, part,
		       mix->nr > 1 ? part_error(mix, part) : 0);
	}
}

static void charge_free(struct spreader *sp, const struct cpu_path *p, bool by_bytes)
{
	struct report_spread *spread = &sp->m->report.cpu.spread;
	struct mix mix;

	switch (mixes__find(&sp->mixes, sp->m->stacks, p->stack, &mix)) {
	case MIX_STACK:
	case MIX_LINE:
		spread->frees_by_line += p->sum.sum;
		break;
	case MIX_FUNCTION:
		spread->frees_by_function += p->sum.sum;
		break;
	default:
		spread->frees_unknown += p->sum.sum;
		charge(sp, SITE_NONE, p->class, &p->sum, 1, 0);
		return;
	}
	charge_mix(sp, p, &mix, by_bytes);
}

static void charge_own(struct spreader *sp, const struct cpu_path *p)
{
	__u32 site = places__find(&sp->m->site_places, sp->m->stacks, p->stack);

	charge(sp, site == PLACE_NONE ? SITE_NONE : site, p->class, &p->sum, 1, 0);
	if (site != PLACE_NONE && is_zeroing(p)) {
		sp->m->cost_sums[site].zeroing.sum += p->sum.sum;
		sp->m->cost_sums[site].zeroing.squares += p->sum.squares;
	}
}

static void charge_touch(struct spreader *sp, const struct cpu_path *p, double fresh)
{
	struct report_spread *spread = &sp->m->report.cpu.spread;
	struct mix mix;
	size_t i;

	if (!touch__find(&sp->touch, sp->m->stacks, p->stack, &mix)) {
		spread->faults_unknown += fresh * p->sum.sum;
		charge(sp, SITE_NONE, CLASS_HEAP_FAULT, &p->sum, fresh, 0);
		return;
	}
	for (i = 0; i < mix.nr; i++) {
		double part = fresh * part_of(&mix, &mix.parts[i], true);

		charge(sp, mix.parts[i].site, CLASS_HEAP_FAULT, &p->sum, part, 0);
		sp->touched[mix.parts[i].site] += part * p->sum.sum;
	}
}

static double fresh_part(const struct mix_part *parts, size_t nr)
{
	double fresh = 0, all = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		all += parts[i].weight;
		fresh += parts[i].site == FAULT_FRESH ? parts[i].weight : 0;
	}
	return all > 0 ? fresh / all : 0;
}

/* As others of the function are; where these are few, as others of the program are. */
static double likely_fresh(const struct spreader *sp, const struct cpu_path *p)
{
	__u32 function = places__find_function(&sp->faults.places, sp->m->stacks, p->stack);
	__u64 nr = 0;
	struct mix mix;
	size_t i;

	if (function != PLACE_NONE && mix_table__find(&sp->faults, function, &mix) &&
	    mix.sum.nr >= MIN_FAULTS)
		return fresh_part(mix.parts, mix.nr);
	for (i = 0; i < sp->faults.nr; i++)
		nr += sp->faults.parts[i].nr;
	return nr >= MIN_FAULTS ? fresh_part(sp->faults.parts, sp->faults.nr) : 0;
}

static int note_fault(struct spreader *sp, const struct cpu_path *p)
{
	struct mix_part part = {
		.site = p->flags & CPU_FIRST_TOUCH ? FAULT_FRESH : FAULT_OTHER,
		.nr = p->nr, .weight = p->sum.sum,
	};

	return places__add_function(&sp->faults.places, sp->m->stacks, p->stack, &part.place) ?:
	       mix_table__add(&sp->faults, &part);
}

static bool has_stack(const struct cpu_path *p)
{
	return p->stack != STACK_NONE;
}

/* Without a name to tell, what calls the allocator only to free is known by its sampled frees. */
static void resolve_side(struct spreader *sp, struct cpu_path *p)
{
	const struct mix_table *lines = &sp->mixes.tables[MIX_LINE];
	struct mix mix;

	if (!(p->flags & CPU_SIDE_UNKNOWN) || !has_stack(p))
		return;
	sp->m->report.cpu.spread.side_unknown += p->sum.sum;
	if (places__find(&sp->m->site_places, sp->m->stacks, p->stack) != PLACE_NONE ||
	    !mix_table__find(lines, places__find(&lines->places, sp->m->stacks, p->stack), &mix))
		return;
	if (p->class == CLASS_MALLOC)
		p->class = CLASS_FREE;
	else
		p->flags |= CPU_UNDER_FREE;
}

/*
 * glibc's calloc() ends with a jump to memset(), and is on the stack no more. A call that was seen
 * to call calloc() never calls memset() itself.
 */
static void resolve_memset(struct spreader *sp, struct cpu_path *p)
{
	struct model *m = sp->m;

	if (!(p->flags & CPU_MEMSET) || !has_stack(p) ||
	    places__find_call(&sp->callocs, m->stacks, p->stack) == PLACE_NONE)
		return;
	p->class = p->flags & (CPU_FIRST_TOUCH | CPU_SOME_FAULT) ? CLASS_HEAP_FAULT : CLASS_MALLOC;
	p->flags &= ~(CPU_FIRST_TOUCH | CPU_SOME_FAULT);
	p->flags |= CPU_ZEROING;
	m->report.cpu.nr_allocator += p->nr;
	m->cpu_allocator.sum += p->sum.sum;
	m->cpu_allocator.squares += p->sum.squares;
	m->cpu_rest.sum -= p->sum.sum;
	m->cpu_rest.squares -= p->sum.squares;
}

/* Is the site of its stack the site of its cost? A stack that ends in the allocator has none. */
static bool is_own(const struct model *m, const struct cpu_path *p)
{
	if (!has_stack(p) || p->class == CLASS_COMPUTE || p->class == CLASS_FREE ||
	    p->flags & (CPU_UNDER_FREE | CPU_FIRST_TOUCH))
		return false;
	return stacks__frame(m->stacks, stacks__site(m->stacks, p->stack))->kind != FRAME_ALLOCATOR;
}

/* Who makes malloc() ask the kernel has fresh memory, even if no large block was sampled. */
static int note_fresh(struct spreader *sp, const struct cpu_path *p, __u32 site)
{
	return p->class == CLASS_HEAP_SYSCALL ?
	       touch__add(&sp->touch, sp->m->stacks, p->stack, site, 1, 1) : 0;
}

static int prepare(struct spreader *sp)
{
	struct model *m = sp->m;
	size_t i;
	__u32 site;
	int err = mixes__init(&sp->mixes, m->stacks, &m->costs);

	for (i = 0; i < m->nr_paths && !err; i++) {
		const struct path *p = &m->paths[i];
		__u32 place;

		if (p->fn == CHURN_FN_CALLOC)
			err = places__add_call(&sp->callocs, m->stacks, p->stack, &place);
		if (p->nr_large && !err)
			err = touch__add(&sp->touch, m->stacks, p->stack, p->site, p->nr_large,
					 p->large_bytes);
	}
	for (i = 0; i < m->costs.nr_paths && !err; i++) {
		struct cpu_path *p = &m->costs.paths[i];

		resolve_side(sp, p);
		resolve_memset(sp, p);
		if (is_own(m, p))
			err = find_site_of(m, p->stack, &site) ?: note_fresh(sp, p, site);
		if (has_stack(p) && p->flags & (CPU_FIRST_TOUCH | CPU_OTHER_FAULT))
			err = err ?: note_fault(sp, p);
	}
	mix_table__sort(&sp->faults);
	touch__sort(&sp->touch);
	return err;
}

static void add_class(struct spreader *sp, enum cpu_class class, const struct period_sum *sum,
		      double part)
{
	sp->classes[class].sum += part * sum->sum;
	sp->classes[class].squares += part * sum->squares;
}

static void spread_path(struct spreader *sp, struct cpu_path *p)
{
	struct report_spread *spread = &sp->m->report.cpu.spread;
	double fresh = p->flags & CPU_SOME_FAULT && has_stack(p) ? likely_fresh(sp, p) : 0;

	p->fresh = fresh;
	spread->faults_likely += fresh * p->sum.sum;
	add_class(sp, p->class, &p->sum, 1 - fresh);
	add_class(sp, CLASS_HEAP_FAULT, &p->sum, fresh);
	if (p->class != CLASS_PROBE && p->flags & CPU_UNNAMED_KERNEL)
		spread->kernel_unnamed += p->sum.sum;
	if (p->class == CLASS_HEAP_FAULT)
		*(p->flags & CPU_FIRST_TOUCH ? &spread->faults_fresh : &spread->faults_inside) +=
			p->sum.sum;
	if (fresh > 0 || (has_stack(p) && p->flags & CPU_FIRST_TOUCH))
		charge_touch(sp, p, fresh > 0 ? fresh : 1);
	else if (p->class == CLASS_COMPUTE || p->class == CLASS_PROBE)
		return;
	else if (has_stack(p) && (p->class == CLASS_FREE || p->flags & CPU_UNDER_FREE))
		charge_free(sp, p, p->class != CLASS_FREE);
	else if (is_own(sp->m, p))
		charge_own(sp, p);
	else
		charge(sp, SITE_NONE, p->class, &p->sum, 1, 0);
}

/* More than a site's large blocks have pages for was somebody else's. */
static void cap_touches(struct spreader *sp)
{
	struct model *m = sp->m;
	double scale = m->sampled.bytes > 0 ? m->report.totals.bytes.value / m->sampled.bytes : 0;
	double *most = sp->touched + m->nr_sites, *nr = most + m->nr_sites;
	size_t i;

	if (!m->report.recording.cpu_is_ns || !(scale > 0))
		return;
	for (i = 0; i < m->nr_paths; i++) {
		most[m->paths[i].site] += m->paths[i].large_bytes * scale / PAGE_BYTES *
					  MAX_NS_PER_PAGE;
		nr[m->paths[i].site] += m->paths[i].nr_large;
	}
	for (i = 0; i < m->nr_sites; i++) {
		double excess = sp->touched[i] - most[i];

		if (excess <= 0 || nr[i] < MIN_LARGE)
			continue;
		m->cost_sums[i].parts[CLASS_HEAP_FAULT] -= excess;
		m->cost_sums[m->nr_sites].parts[CLASS_HEAP_FAULT] += excess;
		m->report.cpu.spread.faults_unknown += excess;
	}
}

static struct estimate share_of(const struct period_sum *part, const struct period_sum *all)
{
	double p = part->sum / all->sum;
	double var = part->squares * (1 - p) * (1 - p) +
		     fmax(all->squares - part->squares, 0) * p * p;

	return (struct estimate){ .value = p, .error = sqrt(var) / all->sum };
}

static void finish_classes(struct spreader *sp)
{
	struct report_cpu *cpu = &sp->m->report.cpu;
	struct period_sum all = {0}, allocator = {0};
	int class;

	for (class = 0; class < NR_CPU_CLASSES; class++) {
		all.sum += sp->classes[class].sum;
		all.squares += sp->classes[class].squares;
		if (class == CLASS_MALLOC || class == CLASS_FREE || class == CLASS_REALLOC) {
			allocator.sum += sp->classes[class].sum;
			allocator.squares += sp->classes[class].squares;
		}
	}
	for (class = 0; class < NR_CPU_CLASSES; class++)
		cpu->classes[class] = share_of(&sp->classes[class], &all);
	cpu->allocator = share_of(&allocator, &all);
}

static void finish_spread(struct spreader *sp)
{
	struct report_spread *s = &sp->m->report.cpu.spread;
	double *const figures[] = {
		&s->frees_by_line, &s->frees_by_function, &s->frees_unknown, &s->faults_inside,
		&s->faults_fresh, &s->faults_likely, &s->faults_unknown, &s->side_unknown,
		&s->kernel_unnamed,
	};
	size_t i;

	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		*figures[i] /= sp->all;
}

static int finish_cpu_paths(struct model *m)
{
	size_t i, nr = 0;

	m->report_cpu_paths = calloc(m->costs.nr_paths + 1, sizeof(*m->report_cpu_paths));
	if (!m->report_cpu_paths)
		return -ENOMEM;
	for (i = 0; i < m->costs.nr_paths; i++) {
		const struct cpu_path *p = &m->costs.paths[i];
		bool is_heap = p->class != CLASS_COMPUTE && p->class != CLASS_PROBE;

		if (!has_stack(p) || !(is_heap || p->fresh > 0))
			continue;
		m->report_cpu_paths[nr++] = (struct report_cpu_path){
			.stack = p->stack, .comm = p->comm,
			.class = is_heap ? p->class : CLASS_HEAP_FAULT,
			.period = is_heap ? p->sum.sum : p->fresh * p->sum.sum,
		};
	}
	m->report.cpu_paths = m->report_cpu_paths;
	m->report.nr_cpu_paths = nr;
	return 0;
}

static int spread_all(struct spreader *sp)
{
	struct model *m = sp->m;
	int err = prepare(sp);
	size_t i;

	if (err)
		return err;
	m->cost_sums = calloc(m->nr_sites + 1, sizeof(*m->cost_sums));
	sp->touched = calloc(3 * m->nr_sites + 1, sizeof(*sp->touched));
	if (!m->cost_sums || !sp->touched)
		return -ENOMEM;
	for (i = 0; i < m->costs.nr_paths; i++)
		spread_path(sp, &m->costs.paths[i]);
	cap_touches(sp);
	finish_classes(sp);
	finish_spread(sp);
	return finish_cpu_paths(m);
}

static const struct estimate unknown = { .value = NAN };

static void know_nothing(struct report_cpu *cpu)
{
	int class;

	for (class = 0; class < NR_CPU_CLASSES; class++)
		cpu->classes[class] = unknown;
	cpu->allocator = unknown;
}

/* Walks by frame pointers that begin in the allocator miss its caller: sites would be wrong. */
static bool has_whole_stacks(const struct report_recording *rec)
{
	return (rec->cpu_call_graph == CALL_GRAPH_CFI || rec->cpu_call_graph == CALL_GRAPH_DWARF) &&
	       !rec->share_unknown;
}

int spread_costs(struct model *m)
{
	struct report_cpu *cpu = &m->report.cpu;
	struct spreader sp = { .m = m, .all = m->cpu_allocator.sum + m->cpu_rest.sum };
	int err = 0;

	cpu->on_cpu_s = m->report.recording.cpu_is_ns ? (sp.all + m->cpu_probe.sum) / 1e9 : NAN;
	know_nothing(cpu);
	if (sp.all > 0 && m->report.recording.cpu_call_graph != CALL_GRAPH_NONE) {
		err = spread_all(&sp);
		cpu->spread.known = !err && has_whole_stacks(&m->report.recording);
	}
	if (!err)
		cpu->unattributed = cost_of_site(m, m->nr_sites);
	mixes__exit(&sp.mixes);
	touch__exit(&sp.touch);
	mix_table__exit(&sp.faults);
	places__exit(&sp.callocs);
	free(sp.touched);
	return err;
}

static struct estimate cost_estimate(const struct model *m, const struct period_sum *own,
				     double mix_error)
{
	struct period_sum all = {
		m->cpu_allocator.sum + m->cpu_rest.sum,
		m->cpu_allocator.squares + m->cpu_rest.squares,
	}, at_least = *own;
	struct estimate e;

	/* None seen is not none at all: as if the error were that of one. */
	at_least.squares = fmax(own->squares, all.squares / m->report.cpu.nr_samples);
	e = share_of(&at_least, &all);
	e.error = hypot(e.error, mix_error / all.sum);
	return e;
}

struct report_cost cost_of_site(const struct model *m, size_t site)
{
	double all = m->cpu_allocator.sum + m->cpu_rest.sum;
	struct report_cost cost = { .whole = unknown, .saving = unknown, .zeroing = NAN };
	const struct cost_sum *sum;
	struct period_sum own = {0};
	int class;

	for (class = 0; class < NR_CPU_CLASSES; class++)
		cost.parts[class] = NAN;
	if (!m->report.cpu.spread.known)
		return cost;
	sum = &m->cost_sums[site];
	own.squares = sum->squares;
	for (class = 0; class < NR_CPU_CLASSES; class++) {
		own.sum += sum->parts[class];
		cost.parts[class] = sum->parts[class] / all;
	}
	cost.whole = cost_estimate(m, &own, sum->mix_error);
	cost.zeroing = sum->zeroing.sum / all;
	own.sum -= sum->zeroing.sum;
	own.squares -= sum->zeroing.squares;
	cost.saving = cost_estimate(m, &own, sum->mix_error);
	return cost;
}
