// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <subcmd/parse-options.h>

#include "report_opts.h"

#include "churn/names.h"
#include "churn/places.h"
#include "util/msg.h"
#include "util/parse.h"

#define EXIT_USAGE		129
#define DEFAULT_LIMIT		10
#define DEFAULT_MAX_STACK	127
#define MAX_MAX_STACK		1024
#define DEFAULT_PATH_LINES	8

static const char *const report_usage[] = {
	"perf churn report [-i <file>] [--json | --folded[=<what>]] [<options>]",
	NULL
};

static const char from_environment[] = "", as_by_says[] = "";

/* Options as they were typed, before anything is judged. */
struct typed {
	const char *comms, *dsos, *symbols, *pids, *tids, *fields, *sort, *by;
	const char *cpus, *separator;
	const char *percent_limit, *limit, *max_stack, *folded, *site_depth;
	const char *symfs, *debuginfod;
	bool children, samples, header_only, no_paths;
	bool json, stdio, by_stack, demangle, inlines, no_pager, quiet;
	int verbose;
	const char **wrappers;
	size_t nr_wrappers;
};

static int add_wrapper(const struct option *opt, const char *arg, int unset)
{
	struct typed *t = opt->value;
	const char **bigger;

	if (unset) {
		t->nr_wrappers = 0;
		return 0;
	}
	bigger = reallocarray(t->wrappers, t->nr_wrappers + 1, sizeof(*bigger));
	if (!bigger)
		return -1;
	t->wrappers = bigger;
	t->wrappers[t->nr_wrappers++] = arg;
	return 0;
}

/* Of perf report's ways to show call chains there is one, and none. */
static int set_call_graph(const struct option *opt, const char *arg, int unset)
{
	struct typed *t = opt->value;

	t->no_paths = unset || !strcmp(arg, "none");
	if (t->no_paths || !strcmp(arg, "graph") || !strcmp(arg, "callee"))
		return 0;
	pr_err("-g '%s': call paths are shown as a graph of callers, or not (none)\n", arg);
	return -1;
}

static bool list_option(const char *name, const char *text, struct word_list *ret)
{
	if (!text || !word_list__parse(ret, text))
		return true;
	pr_err("%s '%s': not a list of names, comma separated\n", name, text);
	return false;
}

static bool ids_option(const char *name, const char *text, struct id_list *ret)
{
	if (!text || !parse_pids(text, &ret->ids, &ret->nr))
		return true;
	pr_err("%s '%s': not a list of ids, comma separated\n", name, text);
	return false;
}

static bool number_option(const char *name, const char *text, __u64 min, __u64 max, size_t *ret)
{
	__u64 value;

	if (!text)
		return true;
	if (!parse_u64(text, min, max, &value)) {
		*ret = value;
		return true;
	}
	pr_err("%s '%s': must be a whole number from %llu to %llu\n", name, text, min, max);
	return false;
}

static bool percent_option(const char *text, double *ret)
{
	char *end;
	double value;

	if (!text)
		return true;
	value = strtod(text, &end);
	/* strtod() alone takes blanks, signs, 0x, exponents, names. */
	if (end != text && strspn(text, "0123456789.") == (size_t)(end - text) &&
	    (!*end || !strcmp(end, "%")) && value >= 0 && value <= 100) {
		*ret = value / 100;
		return true;
	}
	pr_err("--percent-limit '%s': must be a number from 0 to 100\n", text);
	return false;
}

static bool by_option(const char *option, const char *text, const char *count, enum view_by *ret)
{
	if (!text || text == as_by_says)
		return true;
	if (!strcmp(text, count))
		*ret = BY_COUNT;
	else if (!strcmp(text, "bytes"))
		*ret = BY_BYTES;
	else if (!strcmp(text, "cpu"))
		*ret = BY_CPU;
	else
		pr_err("%s '%s': not known, use %s, bytes or cpu\n", option, text, count);
	return *ret != BY_DEFAULT;
}

/* Sites apart by so many frames. */
static bool depth_option(const struct typed *t, size_t *ret)
{
	*ret = t->by_stack ? PLACE_ALL_FRAMES : 1;
	if (t->by_stack && t->site_depth) {
		pr_err("--by-stack and --site-depth exclude each other\n");
		return false;
	}
	return number_option("--site-depth", t->site_depth, 1, MAX_MAX_STACK, ret);
}

/* Only whether it can be read; what it means needs the file. */
static bool time_option(const char *text)
{
	struct filter any = {0};

	if (!text || !filter__parse_time(&any, text, 1, 2))
		return true;
	pr_err("--time '%s': must be start,stop in seconds, start%%-stop%%, or part%%/n\n", text);
	return false;
}

static bool format_option(const struct typed *t, struct report_opts *opts)
{
	if (t->json + !!t->folded + t->stdio > 1) {
		pr_err("--json, --folded and --stdio exclude each other\n");
		return false;
	}
	opts->format = t->json ? FORMAT_JSON : t->folded ? FORMAT_FOLDED : FORMAT_STDIO;
	return true;
}

static bool cpus_option(const char *text, struct filter *filter)
{
	if (!text || !filter__parse_cpus(filter, text))
		return true;
	pr_err("--cpu '%s': not a list of CPUs like 0-3,5\n", text);
	return false;
}

static bool separator_option(const char *text, const char **ret)
{
	*ret = text && !strcmp(text, "\\t") ? "\t" : text;
	if (!text || strlen(*ret) == 1)
		return true;
	pr_err("--field-separator '%s': must be one character, or \\t\n", text);
	return false;
}

/* What only text has. */
static bool text_only(const struct typed *t, const struct report_opts *opts)
{
	if (t->children)
		pr_err("--children: a site has no children, its callers are below it; leave it out\n");
	else if (opts->format != FORMAT_STDIO && (t->header_only || t->separator))
		pr_err("--header-only and --field-separator go with text, not with --json or --folded\n");
	else
		return true;
	return false;
}

/* "+key" comes after the order there is without. */
static bool sort_option(const char *keys, struct column_list *ret)
{
	char text[256];

	if (!keys || *keys != '+')
		return !keys || !columns__parse("--sort", keys, ret);
	snprintf(text, sizeof(text), "share,%s", keys + 1);
	return !columns__parse("--sort", text, ret);
}

static bool columns_option(const char *name, const char *keys, struct column_list *ret)
{
	return !keys || !columns__parse(name, keys, ret);
}

/* perf joins paths to it as it was typed; without its last slash they stay readable. */
static bool symfs_option(const char *text, const char **ret)
{
	char *folder;
	size_t chars;

	if (!text)
		return true;
	folder = realpath(text, NULL);
	if (!folder || access(folder, X_OK)) {
		pr_err("--symfs '%s': %s\n", text, strerror(errno));
		free(folder);
		return false;
	}
	chars = strlen(folder);
	if (folder[chars - 1] == '/')
		folder[chars - 1] = '\0';
	*ret = folder;
	return true;
}

/* Not given: as the environment says; --no-debuginfod makes it NULL. */
static const char *debuginfod_option(const char *urls)
{
	if (urls == from_environment)
		urls = getenv("DEBUGINFOD_URLS");
	return urls && *urls ? urls : NULL;
}

static bool judge_symbols(const struct typed *t, struct machine_opts *symbols)
{
	symbols->demangle = t->demangle;
	symbols->inlines = t->inlines;
	symbols->debuginfod = debuginfod_option(t->debuginfod);
	return symfs_option(t->symfs, &symbols->symfs);
}

static bool judge_view(const struct typed *t, struct report_opts *opts)
{
	struct view_opts *view = &opts->view;

	/* What programs read is complete unless they say otherwise. */
	view->limit = opts->format == FORMAT_STDIO ? DEFAULT_LIMIT : 0;
	view->max_stack = DEFAULT_MAX_STACK;
	view->max_path_lines = t->max_stack || t->verbose ? 0 : DEFAULT_PATH_LINES;
	view->quiet = t->quiet;
	view->show_samples = t->samples;
	view->no_paths = t->no_paths;
	view->header_only = t->header_only;
	view->verbose = t->verbose;
	return columns_option("-F", t->fields, &view->fields) &&
	       sort_option(t->sort, &view->sort) && text_only(t, opts) &&
	       separator_option(t->separator, &view->separator) &&
	       percent_option(t->percent_limit, &view->min_share) &&
	       number_option("--limit", t->limit, 0, 1000000000, &view->limit) &&
	       number_option("--max-stack", t->max_stack, 1, MAX_MAX_STACK, &view->max_stack) &&
	       by_option("--by", t->by, "count", &view->by) &&
	       by_option("--folded", t->folded, "allocs", &view->by);
}

static void print_filter(FILE *out, const char *option, const char *text)
{
	if (text)
		fprintf(out, "%s%s '%s'", ftell(out) > 0 ? " " : "", option, text);
}

static bool name_filters(const struct typed *t, struct report_opts *opts)
{
	size_t bytes = 0;
	FILE *out = open_memstream(&opts->filters, &bytes);

	if (!out)
		return false;
	print_filter(out, "--comm", t->comms);
	print_filter(out, "--pid", t->pids);
	print_filter(out, "--tid", t->tids);
	print_filter(out, "--cpu", t->cpus);
	print_filter(out, "--dsos", t->dsos);
	print_filter(out, "--symbols", t->symbols);
	print_filter(out, "--time", opts->time_text);
	return !fclose(out);
}

static bool input_option(const char *text)
{
	if (!text || !text[0])
		pr_err("-i '': give the name of the input file\n");
	return text && text[0];
}

static bool judge(const struct typed *t, struct report_opts *opts)
{
	struct filter *filter = &opts->filter;

	opts->pager = !t->no_pager;
	return input_option(opts->input) && format_option(t, opts) &&
	       judge_symbols(t, &opts->symbols) && judge_view(t, opts) &&
	       depth_option(t, &opts->site_depth) &&
	       time_option(opts->time_text) && name_filters(t, opts) &&
	       !names__new(t->wrappers, t->nr_wrappers, &opts->names) &&
	       list_option("--comm", t->comms, &filter->comms) &&
	       list_option("--dsos", t->dsos, &filter->dsos) &&
	       list_option("--symbols", t->symbols, &filter->symbols) &&
	       cpus_option(t->cpus, filter) &&
	       ids_option("--pid", t->pids, &filter->pids) &&
	       ids_option("--tid", t->tids, &filter->tids);
}

void report_opts__parse(struct report_opts *opts, int argc, const char **argv)
{
	struct typed t = { .demangle = true, .inlines = true, .debuginfod = from_environment };
	const struct option options[] = {
		OPT_STRING('i', "input", &opts->input, "file", "Input file (default perf.data)"),
		OPT_BOOLEAN(0, "stdio", &t.stdio, "Print text for people (the default)"),
		OPT_BOOLEAN(0, "json", &t.json, "Print JSON, schema perf-churn-report/1"),
		OPT_STRING_OPTARG(0, "folded", &t.folded, "allocs|bytes|cpu",
				  "Print one line a stack, for flamegraph.pl (default allocs)", as_by_says),
		OPT_STRING(0, "by", &t.by, "count|bytes|cpu",
			   "Order by allocations, bytes or CPU time; shares and weights by allocations or bytes (default cpu where known)"),
		OPT_BOOLEAN(0, "by-stack", &t.by_stack, "Each stack that allocates is a site of its own"),
		OPT_STRING(0, "site-depth", &t.site_depth, "frames",
			   "Tell sites apart by so many frames, from the call outwards (default 1)"),
		OPT_STRING('F', "fields", &t.fields, "column[,column...]",
			   "Columns of the sites table, in this order"),
		OPT_STRING('s', "sort", &t.sort, "column[,column...]",
			   "Order of the sites (default: as --by says)"),
		OPT_BOOLEAN('n', "show-nr-samples", &t.samples, "Show a column with the number of samples"),
		OPT_CALLBACK_DEFAULT('g', "call-graph", &t, "graph|none",
				     "Call paths below the sites, or not (default graph)",
				     set_call_graph, "graph"),
		OPT_BOOLEAN(0, "children", &t.children, "As --no-children, for perf report's users"),
		OPT_STRING('t', "field-separator", &t.separator, "character",
			   "Print only the sites table, for programs, with this between columns"),
		OPT_BOOLEAN(0, "header-only", &t.header_only, "Print only the header"),
		OPT_STRING(0, "limit", &t.limit, "n",
			   "Show at most n sites; 0: all (default 10; all with --json)"),
		OPT_STRING(0, "percent-limit", &t.percent_limit, "percent",
			   "Leave out sites and call paths below this share (default 0)"),
		OPT_STRING(0, "max-stack", &t.max_stack, "frames",
			   "Frames of a call path that are shown, from the site outwards (default 127; text shows 8 lines a site)"),
		OPT_STRING('c', "comm", &t.comms, "comm[,comm...]", "Only threads with these names"),
		OPT_STRING(0, "comms", &t.comms, "comm[,comm...]", "The same, as perf report calls it"),
		OPT_STRING('C', "cpu", &t.cpus, "cpu[,cpu-cpu...]", "Only what happened on these CPUs"),
		OPT_STRING(0, "pid", &t.pids, "pid[,pid...]", "Only these processes"),
		OPT_STRING(0, "tid", &t.tids, "tid[,tid...]", "Only these threads"),
		OPT_STRING('d', "dsos", &t.dsos, "dso[,dso...]", "Only sites in these objects"),
		OPT_STRING('S', "symbols", &t.symbols, "symbol[,symbol...]",
			   "Only sites in these functions"),
		OPT_STRING(0, "time", &opts->time_text, "start,stop",
			   "Only this time, in seconds as perf script prints it, or like 10%-20%"),
		OPT_CALLBACK(0, "wrapper", &t, "regex",
			     "Functions whose names match are wrappers: their callers are the sites",
			     add_wrapper),
		OPT_BOOLEAN(0, "demangle", &t.demangle, "C++ and Rust names in readable form (default)"),
		OPT_BOOLEAN(0, "inline", &t.inlines, "Show inlined functions (default)"),
		OPT_STRING('k', "vmlinux", &opts->symbols.vmlinux, "file",
			   "Take kernel functions from this kernel image"),
		OPT_STRING(0, "kallsyms", &opts->symbols.kallsyms, "file",
			   "Take kernel functions from this copy of /proc/kallsyms"),
		OPT_STRING(0, "symfs", &t.symfs, "directory",
			   "Look for files with symbols relative to this directory"),
		OPT_STRING_OPTARG(0, "debuginfod", &t.debuginfod, "urls",
				  "Fetch missing debug files from these servers (default $DEBUGINFOD_URLS)",
				  from_environment),
		OPT_BOOLEAN('f', "force", &opts->symbols.force,
			    "Use /tmp/perf-PID.map whoever owns it"),
		OPT_BOOLEAN(0, "no-pager", &t.no_pager, "Print straight to the terminal"),
		OPT_BOOLEAN(0, "strict", &opts->strict,
			    "Exit with status 1 when samples are missing"),
		OPT_BOOLEAN('q', "quiet", &t.quiet, "Print figures only, no notes"),
		OPT_INCR('v', "verbose", &t.verbose, "Print more (each probe, whole call paths)"),
		OPT_END()
	};

	memset(opts, 0, sizeof(*opts));
	opts->input = "perf.data";
	argc = parse_options(argc, argv, options, report_usage, 0);
	msg__set_verbose(t.quiet ? -1 : t.verbose);
	if (argc) {
		pr_err("'%s': not expected here; the input file is given by -i\n", argv[0]);
		exit(EXIT_USAGE);
	}
	if (!judge(&t, opts))
		exit(EXIT_USAGE);
	free(t.wrappers);
}

void report_opts__exit(struct report_opts *opts)
{
	filter__exit(&opts->filter);
	free(opts->filters);
	names__free(opts->names);
	free((char *)opts->symbols.symfs);
}
