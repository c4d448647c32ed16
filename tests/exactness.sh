#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# With -c 1 the recording equals the truth: allocations, frees, bytes, failures, free(NULL) and reallocs, in
# the window records, in the samples and in the report, against counter.so. The difference is 0; there is
# no tolerance in here.
#
#   together  the counter is in the program that is recorded, so both see the same run: equal per process
#             and per thread. The recorder finds two allocators then, one that calls the other.
#   apart     the counter is in another run of the same deterministic program: the recorded one is as users
#             have it, and the sums are equal.

. tests/lib.sh

options=()

# clean VARIABLE=VALUE... COMMAND - with an environment of the same size wherever it is used: python3
# allocates for each variable.
clean()
{
	timeout -k 5 "$LIMIT_S" env -i PATH="$PATH" PYTHONMALLOC=malloc PYTHONHASHSEED=0 \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}" "$@"
}

# compare DIR OPTIONS - of exact_compare.py
compare()
{
	local dir=$1

	shift
	"$OUTPUT/tests/counter_dump" "$dir"/count.* >"$dir/counter"
	tally "$dir/data" >"$dir/tally"
	perf-churn report --json --limit 0 -i "$dir/data" >"$dir/report" 2>"$dir/report.err"
	python3 tests/exact_compare.py "$@" "$dir/counter" "$dir/tally" "$dir/report" >"$dir/diff"
}

# judge NAME DIR OPTIONS
judge()
{
	local name=$1 dir=$2

	shift 2
	if compare "$dir" "$@"; then
		pass "$name"
		[ "${V:-0}" = 0 ] || diag_file "$dir/diff"
	else
		fail "$name"
		diag_file "$dir/diff" 12
		diag_file "$T/err" 5
		diag_file "$dir/report.err" 5
	fi
	rm -rf "$dir"
}

# together NAME COMMAND ARGS
together()
{
	local name="together, $1" dir=$T/exact

	shift
	mkdir "$dir"
	recorded "$name" -c 1 -m 16M ${options[@]+"${options[@]}"} -o "$dir/data" -- \
		"$OUTPUT/tests/with_counter" "$OUTPUT/tests/counter.so" "$dir/count" "$@" &&
		judge "$name" "$dir"
	rm -rf "$dir"
}

# counted_apart DIR COMMAND ARGS - once with the counter, once recorded
counted_apart()
{
	local dir=$1

	shift
	mkdir "$dir"
	clean "$OUTPUT/tests/with_counter" "$OUTPUT/tests/counter.so" "$dir/count" "$@" >/dev/null 2>&1
	clean "XX_PRELOAD=$OUTPUT/tests/counter.so" "COUNTER_OUT=$dir/count" perf-churn record -c 1 \
		${options[@]+"${options[@]}"} -m 16M -o "$dir/data" -- "$@" >"$T/out" 2>"$T/err"
}

# apart NAME COMMAND ARGS
apart()
{
	local name="apart, $1" dir=$T/exact

	shift
	if counted_apart "$dir" "$@"; then
		judge "$name" "$dir" --sums
	else
		fail "$name"
		diag_file "$T/err"
	fi
	rm -rf "$dir"
}

# apart_like_another NAME COMMAND ARGS - of a program whose runs differ now and then, by what lies where
# in memory: three pairs of runs, one of which must agree.
apart_like_another()
{
	local try dir=$T/exact

	for try in 1 2; do
		if counted_apart "$dir" "${@:2}" && compare "$dir" --sums; then
			rm -rf "$dir"
			pass "apart, $1"
			return
		fi
		diag "$1: two runs differ, try $try"
		rm -rf "$dir"
	done
	apart "$@"
}

# real NAME TOOL ARGS - a program of the distribution, both ways
real()
{
	command -v "$2" >/dev/null || { skip "$1" "not installed"; return; }
	together "$@"
	apart_like_another "$@"
}

make_inputs()
{
	python3 - "$T" <<-'END'
	import sys
	dir = sys.argv[1]
	with open(dir + "/in.json", "w") as f:
	    f.write("[" + ",".join('{"id":%d,"name":"user %d","tags":["a","b%d"],"v":%d.5}'
	                           % (i, i * 7919, i % 13, i) for i in range(1500)) + "]")
	with open(dir + "/in.xml", "w") as f:
	    f.write("<list>" + "".join('<item id="%d" kind="k%d"><name>n%d</name><text>some &amp; text</text></item>'
	                               % (i, i % 7, i) for i in range(5000)) + "</list>")
	with open(dir + "/in.sql", "w") as f:
	    f.write("create table t(a integer primary key, b text, c real);\nbegin;\n")
	    for i in range(2000):
	        f.write("insert into t values(%d,'row %d',%d.25);\n" % (i, i * 31, i))
	    f.write("commit;\ncreate index i on t(b);\nselect b, count(*), sum(c) from t group by substr(b,1,5);\n")
	with open(dir + "/in.py", "w") as f:
	    f.write("d = {}\nfor i in range(8000):\n    d['k%d' % i] = [i, str(i)]\n"
	            "print(sum(len(v[1]) for v in d.values()))\n")
	END
}

need_tracing
make_inputs

together "one thread" "$WL/exact23"
together "four threads" "$WL/threads4" 5000
together "freed by another thread" "$WL/crossfree"
together "fork" "$WL/forkers"
together "fork and exec" "$WL/forkers" exec
together "exec in the same process" "$WL/execer"
together "every way a realloc ends, two threads" "$WL/realloc_heavy" 1000 2
together "calloc, memalign, posix_memalign and family" "$WL/family"
together "a shell pipeline" /bin/sh -c 'ls -l /usr/lib | sort | tail -n 3'

apart "one thread" "$WL/exact23"
apart "four threads" "$WL/threads4" 5000
apart "fork" "$WL/forkers"
apart "fork and exec" "$WL/forkers" exec
apart "exec in the same process" "$WL/execer"
apart "every way a realloc ends" "$WL/realloc_heavy" 1000
apart "every way a realloc ends, two threads" "$WL/realloc_heavy" 1000 2
apart "calloc, memalign, posix_memalign and family" "$WL/family"
apart "failures by RLIMIT_AS" "$WL/failing"
apart "failures by RLIMIT_AS, two threads" "$WL/failing" threads
apart "C++" "$WL/cxx_new"
apart "wrappers" "$WL/wrappers"
apart "blocks that are never freed" "$WL/lifetimes"
apart "a program that allocates nothing" "$WL/noalloc" 2000

# Not what -c 1 takes by itself, since children that fork have a gap; without children it is as exact.
for method in uprobe-multi uprobe-session; do
	options=(--method $method)
	apart "four threads, $method" "$WL/threads4" 2000
	apart "every way a realloc ends, $method" "$WL/realloc_heavy" 500 2
	apart "the family, $method" "$WL/family"
	apart "failures by RLIMIT_AS, two threads, $method" "$WL/failing" threads
	apart "exec, $method" "$WL/execer"
done
options=(--method preload)
together "four threads, preload" "$WL/threads4" 5000
together "freed by another thread, preload" "$WL/crossfree"
together "every way a realloc ends, two threads, preload" "$WL/realloc_heavy" 1000 2
apart "the family, preload" "$WL/family"
together "C++, preload" "$WL/cxx_new"
apart "fork and exec, preload" "$WL/forkers" exec
apart "exec in the same process, preload" "$WL/execer"
apart "failures by RLIMIT_AS, preload" "$WL/failing"
apart "wrappers, preload" "$WL/wrappers"
options=()

real jq jq -c 'map({n: .name, t: (.tags|join(",")), w: (.v * 2)})' "$T/in.json"
real xmllint xmllint --format "$T/in.xml"
real sqlite3 sqlite3 :memory: ".read $T/in.sql"
python=$(python3 -c 'import sys; print(sys.executable)')
export PYTHONMALLOC=malloc
real python3 "$python" -S "$T/in.py"

finish
