// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "window_gate.h"

#include "gate.h"
#include "gate_process.h"
#include "governor.h"
#include "hit_cost.h"
#include "probes.h"
#include "util/clock.h"
#include "util/msg.h"

#define STALL_NS	200000.0	/* of attaching and detaching once: 65 us, and caches */
#define EDGE_HITS	30		/* waking up and reading clocks disturb as much as so many hits */
#define ON_STEP_NS	10000000ULL	/* probes that stay are looked after so often, */
#define ON_REPORT_NS	1000000000ULL	/* and reported so often */
#define IDLE_STEP_NS	100000000ULL
#define MIN_STEP_NS	1000000ULL
#define RECALIBRATE_NS	10000000000ULL
#define GLANCES		3		/* some 100 ms, with all that attaching waits for */
#define MAX_GLANCED	8		/* processes */
#define GATE_NICE	(-20)
#define MAX_FACTOR	3.0		/* more than that no machine changes its speed */

enum gate_order_kind { GATE_ADD, GATE_FORK, GATE_REMOVE };

struct gate_order {
	struct gate_order *next;
	enum gate_order_kind kind;
	pid_t pid, ppid;
	size_t index;
	__u64 time_ns;
};

struct gate_result {
	struct gate_result *next;
	struct gate_window window;
};

struct window_gate {
	struct window_gate_opts opts;
	struct gate_tools tools;
	struct hit_cost costs;

	/* The thread's own. */
	struct gate_process **processes;
	size_t nr_processes;
	__u64 period;
	__u64 calibrated_ns;
	bool started;
	bool said_off;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;		/* of the queues */
	pthread_cond_t wake;
	struct gate_order *first, **last;
	struct gate_result *first_result, **last_result;
	bool stopping;

	pthread_mutex_t samples_lock;
	bool is_open;			/* nobody knows yet what its samples stand for */
};

static int calibrate(struct window_gate *g, struct probes *probes)
{
	int err;

	probes__start(probes);
	err = hit_child__calibrate(g->opts.child, probes, &g->costs);
	probes__stop(probes);
	if (err)
		return err;
	pr_debug("A hit costs %.0f ns for malloc, %.0f for free, %.0f for realloc; single-stepped %.0f; a sample %.0f more; +- %.0f %%\n",
		 g->costs.ns[HIT_ALLOC][HIT_EMULATED], g->costs.ns[HIT_FREE][HIT_EMULATED],
		 g->costs.ns[HIT_WRAPPING][HIT_EMULATED], g->costs.ns[HIT_ALLOC][HIT_STEPPED],
		 g->costs.sampled_ns,
		 100 * g->costs.error);
	probes__set_costs(probes, &g->costs);
	g->calibrated_ns = clock__now_ns();
	return 0;
}

int window_gate__new(const struct window_gate_opts *opts, struct probes *probes,
		     struct window_gate **ret)
{
	struct window_gate *g = calloc(1, sizeof(*g));
	pthread_condattr_t attr;
	int err;

	if (!g)
		return -ENOMEM;
	g->opts = *opts;
	g->last = &g->first;
	g->last_result = &g->first_result;
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_init(&g->samples_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->wake, &attr);
	pthread_condattr_destroy(&attr);
	srand48(clock__now_ns());
	g->period = opts->period ?: GOVERNOR_FIRST_PERIOD;
	err = opts->budget > 0 ? calibrate(g, probes) : 0;
	g->tools = (struct gate_tools){
		.probes = probes, .opts = &g->opts, .cost_factor = 1,
		.cost_error = g->costs.error, .stall_ns = STALL_NS,
		.edge_error_ns = EDGE_HITS * g->costs.ns[HIT_ALLOC][HIT_EMULATED],
	};
	if (err)
		window_gate__free(g);
	else
		*ret = g;
	return err;
}

static struct gate_order *take_order(struct window_gate *g)
{
	struct gate_order *o;

	pthread_mutex_lock(&g->lock);
	o = g->first;
	if (o) {
		g->first = o->next;
		if (!g->first)
			g->last = &g->first;
	}
	pthread_mutex_unlock(&g->lock);
	return o;
}

static void drop_process(struct window_gate *g, size_t i)
{
	gate_process__exit(g->processes[i]);
	free(g->processes[i]);
	g->processes[i] = g->processes[--g->nr_processes];
}

void window_gate__free(struct window_gate *g)
{
	struct gate_window window;
	struct gate_order *o;

	if (!g)
		return;
	window_gate__stop(g);
	while ((o = take_order(g)))
		free(o);
	while (window_gate__next(g, &window))
		;
	while (g->nr_processes)
		drop_process(g, g->nr_processes - 1);
	free(g->processes);
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
	pthread_mutex_destroy(&g->samples_lock);
	free(g);
}

static void queue_result(struct window_gate *g, pid_t pid, __u64 ip, bool stays_on,
			 const struct churn_window *w)
{
	struct gate_result *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->window = (struct gate_window){ 
		.pid = pid, .ip = ip, .stays_on = stays_on, .window = *w,
	};
	pthread_mutex_lock(&g->lock);
	*g->last_result = r;
	g->last_result = &r->next;
	pthread_mutex_unlock(&g->lock);
}

static int queue_order(struct window_gate *g, enum gate_order_kind kind, pid_t pid, pid_t ppid,
		       size_t index)
{
	struct gate_order *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	*o = (struct gate_order){
		.kind = kind, .pid = pid, .ppid = ppid, .index = index, .time_ns = clock__now_ns(),
	};
	pthread_mutex_lock(&g->lock);
	*g->last = o;
	g->last = &o->next;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	return 0;
}

/* Without probes there is one record, which says so. */
static void report_off(struct window_gate *g, pid_t pid)
{
	struct churn_window w = {
		.common = { .type = CHURN_WINDOW_ID, .pid = pid }, .start_ns = clock__now_ns(),
		.sample_period = 1, .flags = CHURN_W_OFF,
	};

	w.end_ns = w.start_ns;
	if (!g->said_off)
		queue_result(g, pid == -1 ? getpid() : pid, 0, false, &w);
	g->said_off = true;
}

int window_gate__add(struct window_gate *g, pid_t pid, size_t index)
{
	if (!(g->opts.budget > 0)) {
		report_off(g, pid);
		return 0;
	}
	return queue_order(g, GATE_ADD, pid, 0, index);
}

int window_gate__fork(struct window_gate *g, pid_t pid, pid_t ppid)
{
	if (!(g->opts.budget > 0))
		return 0;
	return queue_order(g, GATE_FORK, pid, ppid, 0);
}

void window_gate__remove(struct window_gate *g, pid_t pid)
{
	if (g->opts.budget > 0)
		queue_order(g, GATE_REMOVE, pid, 0, 0);
}

/* Windows of all processes are shown in one of them. */
static void report(struct window_gate *g, const struct gate_process *p, const struct churn_window *w)
{
	struct churn_totals totals;
	pid_t pid = 0;

	if (p->pid != -1) {
		queue_result(g, p->pid, p->end.totals.malloc_ip, p->on, w);
		return;
	}
	while (!probes__next_totals(g->tools.probes, &pid, &totals) && !totals.malloc_ip)
		;
	if (pid)
		queue_result(g, pid, totals.malloc_ip, p->on, w);
}

bool window_gate__next(struct window_gate *g, struct gate_window *ret)
{
	struct gate_result *r;

	pthread_mutex_lock(&g->lock);
	r = g->first_result;
	if (r) {
		g->first_result = r->next;
		if (!g->first_result)
			g->last_result = &g->first_result;
	}
	pthread_mutex_unlock(&g->lock);
	if (!r)
		return false;
	*ret = r->window;
	free(r);
	return true;
}

bool window_gate__lock(struct window_gate *g)
{
	pthread_mutex_lock(&g->samples_lock);
	return !__atomic_load_n(&g->is_open, __ATOMIC_SEQ_CST);
}

void window_gate__unlock(struct window_gate *g)
{
	pthread_mutex_unlock(&g->samples_lock);
}

/* From here on samples have to wait; who takes some just now has taken them before. */
static void begin_open(struct window_gate *g)
{
	pthread_mutex_lock(&g->samples_lock);
	__atomic_store_n(&g->is_open, true, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&g->samples_lock);
}

/*
 * What the window stands for is queued. Without the lock: its owner may be kept from the CPU by the very
 * threads that our probes are on.
 */
static void end_open(struct window_gate *g)
{
	__atomic_store_n(&g->is_open, false, __ATOMIC_SEQ_CST);
}

static struct gate_process *find(const struct window_gate *g, pid_t pid)
{
	size_t i;

	for (i = 0; i < g->nr_processes; i++) {
		if (g->processes[i]->pid == pid)
			return g->processes[i];
	}
	return NULL;
}

/* It ended before anything could be known of it. */
static void report_missed(struct window_gate *g, pid_t pid, __u64 since_ns)
{
	struct churn_window w = {
		.common = { .type = CHURN_WINDOW_ID, .pid = pid }, .start_ns = clock__now_ns(),
		.sample_period = 1, .budget_ppm = g->opts.budget * 1e6 + 0.5, .flags = CHURN_W_SAMPLED,
	};

	w.end_ns = w.start_ns;
	w.gap_ns = w.start_ns > since_ns ? w.start_ns - since_ns : 1;
	queue_result(g, pid, 0, false, &w);
}

/* A process that runs already may be looked at at once; a child has to earn it. */
static struct gate_process *add_process(struct window_gate *g, pid_t pid, __u64 time_ns)
{
	struct gate_process *p, **grown;
	int err;

	grown = realloc(g->processes, (g->nr_processes + 1) * sizeof(*grown));
	p = calloc(1, sizeof(*p));
	if (grown)
		g->processes = grown;
	if (!p || !grown) {
		free(p);
		return NULL;
	}
	err = gate_process__init(p, &g->tools, pid, !g->started);
	if (err) {
		if (err == -ESRCH)
			report_missed(g, pid, time_ns);
		free(p);
		return NULL;
	}
	p->born_ns = time_ns;
	g->processes[g->nr_processes++] = p;
	return p;
}

static void add_image(struct gate_process *p, size_t index)
{
	size_t i, *grown;

	for (i = 0; i < p->nr_images; i++) {
		if (p->images[i] == index)
			return;
	}
	grown = realloc(p->images, (p->nr_images + 1) * sizeof(*grown));
	if (!grown)
		return;
	p->images = grown;
	p->images[p->nr_images++] = index;
}

static void remove_process(struct window_gate *g, pid_t pid)
{
	struct churn_window w;
	size_t i;

	for (i = 0; i < g->nr_processes && g->processes[i]->pid != pid; i++)
		;
	if (i == g->nr_processes)
		return;
	if (g->processes[i]->on)
		gate_process__switch_off(g->processes[i], &g->tools, g->period, &w);
	else
		gate_process__report_rest(g->processes[i], &g->tools, &w);
	report(g, g->processes[i], &w);
	gate__drop(g->tools.probes, pid);
	probes__drop_totals(g->tools.probes, pid);
	drop_process(g, i);
}

static void carry_out(struct window_gate *g, const struct gate_order *o)
{
	const struct gate_process *parent;
	struct gate_process *p = find(g, o->pid);
	size_t i;

	if (o->kind == GATE_REMOVE) {
		remove_process(g, o->pid);
		return;
	}
	parent = o->kind == GATE_FORK ? find(g, o->ppid) : NULL;
	if (!p)
		p = add_process(g, o->pid, o->time_ns);
	if (p && o->kind == GATE_ADD)
		add_image(p, o->index);
	for (i = 0; p && parent && i < parent->nr_images; i++)
		add_image(p, parent->images[i]);
}

static void carry_out_all(struct window_gate *g)
{
	struct gate_order *o;

	while ((o = take_order(g))) {
		carry_out(g, o);
		free(o);
	}
}

/* About half the hits are allocations. */
static void adapt_period(struct window_gate *g)
{
	double hits_per_s = 0;
	__u64 period;
	size_t i;

	if (g->opts.period)
		return;
	for (i = 0; i < g->nr_processes; i++)
		hits_per_s += g->processes[i]->hits_per_s;
	period = governor__period(hits_per_s / 2, 1000000000, g->opts.samples_per_s, g->period);
	if (period != g->period && !probes__set_period(g->tools.probes, period))
		g->period = period;
}

static void look(struct window_gate *g, struct gate_process *p, const struct budget_plan *plan)
{
	struct churn_window w;
	int err;

	begin_open(g);
	err = gate_process__look(p, &g->tools, plan, g->period, &w);
	if (err)
		p->nr_images = 0;	/* it has ended, or why not is printed: not again */
	else
		report(g, p, &w);
	end_open(g);
	adapt_period(g);
}

static void look_after_on(struct window_gate *g, struct gate_process *p, __u64 now)
{
	struct churn_window w;

	p->due_ns = now + ON_STEP_NS;
	if (budget__is_overdrawn(&p->budget))
		gate_process__switch_off(p, &g->tools, g->period, &w);
	else if (now - p->end.time_ns >= ON_REPORT_NS)
		gate_process__report_on(p, &g->tools, g->period, &w);
	else
		return;
	report(g, p, &w);
	adapt_period(g);
}

static void serve(struct window_gate *g, struct gate_process *p, __u64 now)
{
	struct gate_reading reading;
	struct budget_plan plan;

	gate_process__read(p, &g->tools, &reading);
	gate_process__pay(p, &g->tools, &reading);
	if (p->on) {
		look_after_on(g, p, now);
		return;
	}
	budget__plan(&p->budget, now - p->end.time_ns, p->random, &plan);
	if (!p->nr_images)
		plan = (struct budget_plan){ .wait_ns = IDLE_STEP_NS };
	if (plan.window_ns && plan.wait_ns < MIN_STEP_NS) {
		look(g, p, &plan);
		plan.wait_ns = 0;
	}
	p->due_ns = clock__now_ns() + (plan.wait_ns > MIN_STEP_NS ? plan.wait_ns : MIN_STEP_NS);
}

/* Machines change their speed, and neighbours their noise. */
static void recalibrate(struct window_gate *g)
{
	double factor;

	g->calibrated_ns = clock__now_ns();
	if (hit_child__recalibrate(g->opts.child, g->tools.probes, &factor))
		return;
	if (factor > MAX_FACTOR || factor < 1 / MAX_FACTOR)
		return;
	pr_debug("A hit costs %.2f times as much as at first\n", factor);
	g->tools.cost_factor = factor;
}

static __u64 serve_all(struct window_gate *g)
{
	__u64 next = clock__now_ns() + IDLE_STEP_NS, now;
	size_t i;

	for (i = 0; i < g->nr_processes && !g->stopping; i++) {
		now = clock__now_ns();
		if (g->processes[i]->due_ns <= now)
			serve(g, g->processes[i], now);
		if (g->processes[i]->due_ns < next)
			next = g->processes[i]->due_ns;
	}
	return next;
}

static void wait_until(struct window_gate *g, __u64 time_ns)
{
	struct timespec ts = {
		.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000,
	};

	pthread_mutex_lock(&g->lock);
	if (!g->first && !g->stopping)
		pthread_cond_timedwait(&g->wake, &g->lock, &ts);
	pthread_mutex_unlock(&g->lock);
}

int window_gate__glance(struct window_gate *g, struct churn_window *ret)
{
	size_t i;
	int err = 0, round;

	*ret = (struct churn_window){0};
	carry_out_all(g);
	probes__start(g->tools.probes);
	for (round = 0; round < GLANCES; round++) {
		for (i = 0; i < g->nr_processes && i < MAX_GLANCED && !err; i++)
			err = gate_process__glance(g->processes[i], &g->tools, g->period, ret);
	}
	probes__stop(g->tools.probes);
	return err;
}

static void *run(void *arg)
{
	struct window_gate *g = arg;

	while (!g->stopping) {
		carry_out_all(g);
		wait_until(g, serve_all(g));
		if (clock__now_ns() - g->calibrated_ns >= RECALIBRATE_NS)
			recalibrate(g);
	}
	carry_out_all(g);
	while (g->nr_processes)
		remove_process(g, g->processes[0]->pid);
	return NULL;
}

int window_gate__start(struct window_gate *g)
{
	int err;

	carry_out_all(g);
	g->started = true;
	if (!(g->opts.budget > 0))
		return 0;
	/*
	 * Late at closing a window is dear for the target, and a window waits for who drains the rings,
	 * our caller. Of the CPU both take next to nothing.
	 */
	setpriority(PRIO_PROCESS, gettid(), GATE_NICE);
	err = pthread_create(&g->thread, NULL, run, g);
	if (err) {
		pr_err("Cannot start a thread: %s\n", strerror(err));
		return -err;
	}
	g->running = true;
	return 0;
}

void window_gate__stop(struct window_gate *g)
{
	if (!g->running)
		return;
	pthread_mutex_lock(&g->lock);
	g->stopping = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	g->running = false;
}
