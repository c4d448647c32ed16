// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <subcmd/parse-options.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_opts.h"

#include "bpf/walk_tables.h"

#include "target/process.h"
#include "trace/sample_rate.h"
#include "util/msg.h"
#include "util/parse.h"

#define DEFAULT_STACK_BYTES	8192
#define DEFAULT_MAX_STACK	127	/* perf's */
#define MAX_SAMPLE_BYTES	(1ULL << 30)
#define MAX_PERIOD		(1ULL << 24)
#define MAX_COMPRESSION_LEVEL	22	/* zstd's */
#define DEFAULT_BUDGET		0.03
#define MAX_BUDGET		50	/* more is as good as none */
#define DEFAULT_PAGES		128	/* 512 KB, as perf record */
#define DWARF_PAGES		1024
#define SAMPLED_CHURN_PAGES	256
#define EXACT_CHURN_PAGES	4096
#define SAMPLED_MAX_BLOCKS	(1U << 17)
#define EXACT_MAX_BLOCKS	(1U << 20)

static const char *const record_usage[] = {
	"perf churn record [<options>] [--] <command> [<args>]",
	"perf churn record [<options>] -p <pid>[,<pid>...] [-- <command>]",
	"perf churn record [<options>] -t <tid>[,<tid>...] [-- <command>]",
	"perf churn record [<options>] -u <user> [-- <command>]",
	"perf churn record [<options>] -a [-- <command>]",
	NULL
};

/* Options as they were typed, before anything is judged. */
struct typed {
	const char *events, *pids, *tids, *uid, *mmap_pages, *freq, *period, *delay, *method;
	const char *sample_bytes;
	const char *max_blocks, *max_stack, *output, *cpu_list, *call_graph, *level, *budget;
	bool callchains, system_wide, quiet, strict, strict_freq, all_user, all_kernel;
	bool no_inherit, exact, slow_path;
	int verbose;
};

static bool stack_bytes_option(const char *text, __u32 *ret)
{
	__u64 bytes;

	if (parse_size(text, 8, MAX_STACK_BYTES, &bytes) || bytes % 8) {
		pr_err("--call-graph dwarf,%s: the size of a stack copy is a multiple of 8, at most %d\n",
		       text, MAX_STACK_BYTES);
		return false;
	}
	*ret = bytes;
	return true;
}

/* @text: NULL for --no-call-graph. */
static bool call_graph_option(const char *text, struct record_opts *opts)
{
	if (!text || !strcmp(text, "fp")) {
		opts->callgraph = text ? CALLGRAPH_FP : CALLGRAPH_NONE;
		return true;
	}
	if (!strcmp(text, "auto")) {
		opts->callgraph = CALLGRAPH_WALK;
		return true;
	}
	if (!strcmp(text, "dwarf") || !strncmp(text, "dwarf,", 6)) {
		opts->callgraph = CALLGRAPH_DWARF;
		return !text[5] || stack_bytes_option(text + 6, &opts->stack_bytes);
	}
	pr_err("--call-graph '%s': not known, use auto, fp or dwarf[,size]\n", text);
	return false;
}

static bool number_option(const char *name, const char *text, __u64 min, __u64 max, __u64 *ret)
{
	if (!text || !parse_u64(text, min, max, ret))
		return true;
	pr_err("%s %s: must be a whole number from %llu to %llu\n", name, text, min, max);
	return false;
}

static bool freq_option(const struct typed *t, __u64 *ret)
{
	if (t->freq && !strcmp(t->freq, "max"))
		*ret = SAMPLE_RATE_MAX;
	else if (!number_option("-F", t->freq, 1, UINT32_MAX, ret))
		return false;
	return !sample_rate__fit(ret, t->freq, t->strict_freq);
}

/* Pages, or with a suffix bytes; rounded up to a power of two of pages, as perf does. */
static bool pages_option(const char *text, size_t *ret)
{
	__u64 value, pages = 1, page_bytes = sysconf(_SC_PAGESIZE);
	bool is_size = text[0] && strchr("BKMGbkmg", text[strlen(text) - 1]);

	if (is_size ? parse_size(text, 1, 1ULL << 32, &value) :
		      parse_u64(text, 1, 1ULL << 20, &value)) {
		pr_err("-m %s: must be a number of pages (at most 1048576) or a size like 512K or 16M\n",
		       text);
		return false;
	}
	if (is_size)
		value = (value + page_bytes - 1) / page_bytes;
	while (pages < value)
		pages <<= 1;
	*ret = pages;
	return true;
}

static bool method_option(const char *text, struct record_opts *opts)
{
	enum probe_method *ret = &opts->method;

	opts->may_preload = !text || !strcmp(text, "auto");
	if (opts->may_preload || !strcmp(text, "uprobe"))
		*ret = PROBE_AUTO;
	else if (!strcmp(text, "preload"))
		*ret = PROBE_PRELOAD;
	else if (!strcmp(text, "uprobe-session"))
		*ret = PROBE_SESSION;
	else if (!strcmp(text, "uprobe-multi"))
		*ret = PROBE_MULTI;
	else if (!strcmp(text, "uprobe-event"))
		*ret = PROBE_EVENT;
	else {
		pr_err("--method %s: not known, use auto, preload, uprobe, uprobe-session, uprobe-multi or uprobe-event\n",
		       text);
		return false;
	}
	return true;
}

static bool cpu_option(const char *list, struct record_opts *opts)
{
	int err;

	if (!list)
		return true;
	err = parse_cpus(list, sysconf(_SC_NPROCESSORS_CONF), &opts->cpus, &opts->nr_cpus);
	if (err)
		pr_err("-C '%s': %s\n", list, err == -ERANGE ? "no such CPU" :
		       err == -EINVAL ? "not a list of CPUs, each once, like 0-3,6" :
		       strerror(-err));
	opts->cpu_list = list;
	return !err;
}

static bool uid_option(const char *text, uid_t *ret)
{
	struct passwd *user;
	__u64 uid;

	if (!text)
		return true;
	user = getpwnam(text);
	if (user) {
		*ret = user->pw_uid;
		return true;
	}
	if (parse_u64(text, 0, (uid_t)-2, &uid)) {
		pr_err("-u %s: no such user\n", text);
		return false;
	}
	*ret = uid;
	return true;
}

static void set_defaults(struct record_opts *opts)
{
	bool exact = opts->period == 1;

	if (!opts->pages)
		opts->pages = opts->callgraph == CALLGRAPH_DWARF || opts->verify_stacks ? DWARF_PAGES : DEFAULT_PAGES;
	if (!opts->churn_pages)
		opts->churn_pages = exact || opts->callgraph == CALLGRAPH_DWARF ?
				    EXACT_CHURN_PAGES : SAMPLED_CHURN_PAGES;
	if (!opts->max_blocks)
		opts->max_blocks = exact ? EXACT_MAX_BLOCKS : SAMPLED_MAX_BLOCKS;
}

void record_opts__copy_stacks(struct record_opts *opts)
{
	opts->callgraph = CALLGRAPH_DWARF;
	opts->verify_stacks = false;
	if (!opts->pages_given)
		opts->pages = opts->churn_pages = 0;
	set_defaults(opts);
}

static bool judge_numbers(const struct typed *t, struct record_opts *opts)
{
	__u64 delay = 0, blocks = 0, max_stack = DEFAULT_MAX_STACK, level = 0;

	if (!freq_option(t, &opts->freq_hz) ||
	    !number_option("-c", t->period, 1, MAX_PERIOD, &opts->period) ||
	    !number_option("-D", t->delay, 0, 1U << 30, &delay) ||
	    !number_option("--max-stack", t->max_stack, 1, WALK_MAX_FRAMES, &max_stack) ||
	    !number_option("--max-blocks", t->max_blocks, 1, 1U << 26, &blocks) ||
	    !number_option("-z", t->level, 1, MAX_COMPRESSION_LEVEL, &level))
		return false;
	opts->compression_level = level;
	opts->delay_ms = delay;
	opts->max_blocks = blocks;
	opts->freq_given = t->freq;
	opts->max_stack = max_stack;
	if (t->mmap_pages) {
		if (!pages_option(t->mmap_pages, &opts->pages))
			return false;
		opts->churn_pages = opts->pages;
		opts->pages_given = true;
	}
	return true;
}

static bool judge_target(const struct typed *t, struct record_opts *opts)
{
	int nr_targets = (t->pids != NULL) + (t->tids != NULL) + (t->uid != NULL) + t->system_wide;

	if (nr_targets > 1) {
		pr_err("-p, -t, -u and -a exclude each other\n");
		return false;
	}
	if (!nr_targets && !opts->command) {
		pr_err("Nothing to record: give a command, -p <pid> or -a\n");
		return false;
	}
	if (t->pids && parse_pids(t->pids, &opts->pids, &opts->nr_pids)) {
		pr_err("-p %s: not a list of process ids\n", t->pids);
		return false;
	}
	if (t->tids && parse_pids(t->tids, &opts->tids, &opts->nr_tids)) {
		pr_err("-t %s: not a list of thread ids\n", t->tids);
		return false;
	}
	opts->no_inherit = t->no_inherit || t->tids;
	opts->system_wide = t->system_wide;
	return true;
}

static bool judge_events(const struct typed *t, struct record_opts *opts)
{
	size_t i;

	if (t->all_user && t->all_kernel) {
		pr_err("--all-user and --all-kernel exclude each other\n");
		return false;
	}
	if (cpu_events__parse(t->events, opts->events, &opts->nr_events))
		return false;
	for (i = 0; i < opts->nr_events; i++) {
		if (t->all_user || t->all_kernel)
			cpu_event__restrict(&opts->events[i], t->all_user);
	}
	return true;
}

static bool budget_option(const char *text, double *ret)
{
	double percent;
	char *end;

	percent = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(percent >= 0 && percent <= MAX_BUDGET)) {
		pr_err("--budget %s: must be 'none' or per cent of the CPU time, from 0 to %d\n", text,
		       MAX_BUDGET);
		return false;
	}
	*ret = percent / 100;
	return true;
}

/* What is attached to may be anybody's production; a command that we start is the user's own. */
static bool judge_budget(const struct typed *t, struct record_opts *opts)
{
	bool attached = t->pids || t->tids || t->uid || t->system_wide;
	bool given = t->budget && strcmp(t->budget, "none");

	if (t->exact && opts->period > 1) {
		pr_err("--exact and -c %llu exclude each other\n", opts->period);
		return false;
	}
	if (t->exact)
		opts->period = 1;
	if (given && !budget_option(t->budget, &opts->budget))
		return false;
	if (given && opts->period == 1) {
		pr_err("--budget %s and %s exclude each other: exact counts need all probes all the time\n",
		       t->budget, t->exact ? "--exact" : "-c 1");
		return false;
	}
	if (given && opts->method == PROBE_PRELOAD) {
		pr_err("--budget %s and --method=preload exclude each other: the library is there all the time\n",
		       t->budget);
		return false;
	}
	opts->may_preload = opts->may_preload && !given;
	opts->windows = given || (attached && !t->budget && opts->period != 1);
	if (opts->windows && !given)
		opts->budget = DEFAULT_BUDGET;
	if (opts->windows && opts->method == PROBE_EVENT) {
		pr_err("--method uprobe-event takes up to seconds to remove its probes: no budget can be kept, use --budget none\n");
		return false;
	}
	return true;
}

static bool output_option(const char *text, struct record_opts *opts)
{
	opts->output = text;
	if (!text || !text[0])
		pr_err("-o '': give the output file a name\n");
	return text && text[0];
}

static bool bytes_option(const struct typed *t, struct record_opts *opts)
{
	if (!t->sample_bytes)
		return true;
	if (parse_size(t->sample_bytes, 1, MAX_SAMPLE_BYTES, &opts->sample_bytes)) {
		pr_err("--bytes %s: must be a number of bytes or a size like 512K, at most 1G\n",
		       t->sample_bytes);
		return false;
	}
	if (opts->period || !(opts->may_preload || opts->method == PROBE_PRELOAD)) {
		pr_err("--bytes is for --method=preload, and excludes -c\n");
		return false;
	}
	opts->method = PROBE_PRELOAD;
	return true;
}

/* glibc keeps no frame pointers, and what calls its slow functions is its own code. */
static bool slow_path_option(const struct typed *t, struct record_opts *opts)
{
	opts->slow_path = t->slow_path;
	if (!t->slow_path)
		return true;
	opts->may_preload = false;
	if (opts->method == PROBE_PRELOAD) {
		pr_err("--slow-path is for uprobes: it excludes --method=preload and --bytes\n");
		return false;
	}
	if (opts->callgraph == CALLGRAPH_FP) {
		pr_err("--slow-path excludes --call-graph fp: frame pointers end in the allocator\n");
		return false;
	}
	return true;
}

static bool judge(const struct typed *t, struct record_opts *opts)
{
	if (!output_option(t->output, opts) || !call_graph_option(t->call_graph, opts) ||
	    !judge_numbers(t, opts) || !judge_target(t, opts) ||
	    !method_option(t->method, opts) || !cpu_option(t->cpu_list, opts) ||
	    !bytes_option(t, opts) || !uid_option(t->uid, &opts->uid) || !judge_events(t, opts) ||
	    !judge_budget(t, opts) || !slow_path_option(t, opts))
		return false;
	opts->quiet = t->quiet;
	opts->verbose = t->verbose;
	opts->strict = t->strict;
	set_defaults(opts);
	return true;
}

static void explain_target(const char *what, int id, int err)
{
	if (err == -ESRCH)
		pr_err("%s %d: no such %s\n", what, id, what[0] == 'P' ? "process" : "thread");
	else
		pr_err("Cannot trace %s %d: %s (CAP_SYS_PTRACE is needed for another user's)\n",
		       what[0] == 'P' ? "process" : "thread", id, strerror(-err));
}

/* -t: probes are planted in processes; the BPF programs pick the threads. */
static int find_processes_of_threads(struct record_opts *opts)
{
	pid_t tgid;
	int i, j, err;

	opts->pids = calloc(opts->nr_tids, sizeof(*opts->pids));
	if (!opts->pids)
		return -ENOMEM;
	for (i = 0; i < opts->nr_tids; i++) {
		tgid = opts->tids[i];
		err = process__check(opts->tids[i], &tgid);
		if (err == -EINVAL)
			err = process__check(tgid, &tgid);
		if (err) {
			explain_target("Thread", opts->tids[i], err);
			return err;
		}
		for (j = 0; j < opts->nr_pids && opts->pids[j] != tgid; j++)
			;
		if (j == opts->nr_pids)
			opts->pids[opts->nr_pids++] = tgid;
	}
	return 0;
}

static int check_pids(struct record_opts *opts)
{
	pid_t tgid;
	int i, err;

	for (i = 0; i < opts->nr_pids; i++) {
		err = process__check(opts->pids[i], &tgid);
		if (err == -EINVAL)
			pr_err("%d is a thread of process %d: use -p %d, or -t %d for it alone\n",
			       opts->pids[i], tgid, tgid, opts->pids[i]);
		else if (err)
			explain_target("Process", opts->pids[i], err);
		if (err)
			return err;
	}
	return 0;
}

/* -u: the processes that the user has now, and theirs to come. */
static int list_user_processes(struct record_opts *opts)
{
	char path[32];
	struct stat st;
	pid_t *all;
	size_t nr, i;
	int err;

	err = process__all(getpid(), &all, &nr);
	if (err)
		return err;
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "/proc/%d", all[i]);
		if (!stat(path, &st) && st.st_uid == opts->uid)
			all[opts->nr_pids++] = all[i];
	}
	opts->pids = all;
	if (opts->nr_pids)
		return 0;
	pr_err("User %u has no process to record\n", opts->uid);
	return -ESRCH;
}

/* For the file's header: parse_options() shuffles argv. */
static int keep_command_line(struct record_opts *opts, int argc, const char **argv)
{
	opts->argv = calloc(argc + 3, sizeof(*opts->argv));
	if (!opts->argv)
		return -ENOMEM;
	opts->argv[0] = "perf";
	opts->argv[1] = "churn";
	memcpy(opts->argv + 2, argv, argc * sizeof(*argv));
	opts->argc = argc + 2;
	return 0;
}

int record_opts__parse(struct record_opts *opts, int argc, const char **argv)
{
	struct typed t = { .events = "cycles", .output = "perf.data", .call_graph = "auto" };
	const struct option options[] = {
		OPT_STRING('e', "event", &t.events, "event",
			   "CPU events, comma separated: cycles, cpu-clock, instructions, ... with :u :k (default cycles)"),
		OPT_STRING('F', "freq", &t.freq, "Hz|max", "Samples of each CPU event a second (default 999, or less where a sample costs much)"),
		OPT_BOOLEAN(0, "strict-freq", &t.strict_freq, "Fail when -F is more than the kernel allows"),
		OPT_STRING('c', "count", &t.period, "n",
			   "Sample one allocation in n, at random; 1: all (default: about 1000 a second and CPU)"),
		OPT_STRING(0, "bytes", &t.sample_bytes, "n",
			   "Sample one allocated byte in n, like 512K, instead of calls; for --method=preload"),
		OPT_BOOLEAN('g', NULL, &t.callchains, "Record callchains (the default)"),
		OPT_STRING(0, "call-graph", &t.call_graph, "auto|fp|dwarf[,size]",
			   "Callchains by CFI, by frame pointers, from stack copies of so many bytes (default auto; 8192); --no-call-graph: none"),
		OPT_STRING(0, "max-stack", &t.max_stack, "frames",
			   "Frames of a callchain at most, up to 512; with --call-graph auto (default 127)"),
		OPT_BOOLEAN(0, "verify-stacks", &opts->verify_stacks,
			    "Copy the stack, too, of one CPU sample in ten (event stack-copy), to compare"),
		OPT_STRING('p', "pid", &t.pids, "pid", "Record these running processes, comma separated"),
		OPT_STRING('t', "tid", &t.tids, "tid", "Record these threads only, comma separated"),
		OPT_BOOLEAN('i', "no-inherit", &t.no_inherit,
			    "No threads and processes that are started later"),
		OPT_BOOLEAN('a', "all-cpus", &t.system_wide, "Record all processes"),
		OPT_STRING('u', "uid", &t.uid, "user", "Record the processes of this user"),
		OPT_STRING('C', "cpu", &t.cpu_list, "cpu", "Record on these CPUs only, like 0-3,6"),
		OPT_STRING('o', "output", &t.output, "file", "Output file (default perf.data)"),
		OPT_STRING_OPTARG('z', "compression-level", &t.level, "n",
				  "Compress the file: 1 (the default) fastest, 22 smallest", "1"),
		OPT_STRING('m', "mmap-pages", &t.mmap_pages, "pages",
			   "Ring buffer per CPU, in pages or like 16M (default: CPU events 512K, with dwarf 4M; churn events 1M, with -c 1 or dwarf 16M)"),
		OPT_STRING('D', "delay", &t.delay, "ms", "Wait so many ms after the start before recording"),
		OPT_STRING(0, "method", &t.method, "auto|preload|uprobe|...",
			   "How to hook: auto, preload, uprobe, uprobe-session, uprobe-multi, uprobe-event (default auto)"),
		OPT_BOOLEAN(0, "slow-path", &t.slow_path,
			    "Probe where the allocator refills its caches and asks the system for memory, in place of malloc and free"),
		OPT_STRING(0, "max-blocks", &t.max_blocks, "n",
			   "Sampled blocks followed to their free at a time (default 131072, 1048576 with -c 1)"),
		OPT_STRING(0, "budget", &t.budget, "percent|none",
			   "CPU time that probes may cost what they are attached to (default 3): they are on in windows only; 0: no probes; none: on all the time"),
		OPT_BOOLEAN(0, "exact", &t.exact, "All allocations, as -c 1: probes are on all the time"),
		OPT_BOOLEAN(0, "all-user", &t.all_user, "CPU events in user space only"),
		OPT_BOOLEAN(0, "all-kernel", &t.all_kernel, "CPU events in the kernel only"),
		OPT_BOOLEAN(0, "strict", &t.strict, "Fail when anything was lost"),
		OPT_BOOLEAN('q', "quiet", &t.quiet, "Print errors only"),
		OPT_INCR('v', "verbose", &t.verbose, "Print more (probe sites, BPF messages)"),
		OPT_END()
	};
	int err;

	memset(opts, 0, sizeof(*opts));
	opts->freq_hz = RECORD_DEFAULT_FREQ_HZ;
	opts->max_stack = DEFAULT_MAX_STACK;
	opts->stack_bytes = DEFAULT_STACK_BYTES;
	opts->uid = (uid_t)-1;
	if (keep_command_line(opts, argc, argv))
		return -ENOMEM;
	argc = parse_options(argc, argv, options, record_usage, PARSE_OPT_STOP_AT_NON_OPTION);
	if (argc)
		opts->command = (char **)argv;
	msg__set_verbose(t.quiet ? -1 : t.verbose);
	if (!judge(&t, opts))
		exit(129);
	if (t.tids)
		err = find_processes_of_threads(opts);
	else if (t.uid)
		err = list_user_processes(opts);
	else
		err = check_pids(opts);
	if (err)
		record_opts__exit(opts);
	return err;
}

void record_opts__exit(struct record_opts *opts)
{
	free(opts->argv);
	free(opts->pids);
	free(opts->tids);
	free(opts->cpus);
}
