#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# With -c 1 the recording equals the truth: allocations, frees, bytes, failures, free(NULL) and reallocs,
# per process and per thread, in the window records, in the samples and in the report, against
# counter.so in the same run. The difference is 0; there is no tolerance in here.

. tests/lib.sh

options=(--method auto)

# exact NAME COMMAND ARGS
exact()
{
	local name="equal to the counter: $1" dir=$T/exact

	shift
	rm -rf "$dir"
	mkdir "$dir"
	recorded "$name" "${options[@]}" -c 1 -m 16M -o "$dir/data" -- "$OUTPUT/tests/with_counter" \
		"$OUTPUT/tests/counter.so" "$dir/count" "$@" || return
	"$OUTPUT/tests/counter_dump" "$dir"/count.* >"$dir/counter"
	tally "$dir/data" >"$dir/tally"
	perf-churn report --json --limit 0 -i "$dir/data" >"$dir/report" 2>"$dir/report.err"
	if python3 tests/exact_compare.py "$dir/counter" "$dir/tally" "$dir/report" >"$dir/diff"; then
		pass "$name"
		[ "${V:-0}" = 0 ] || diag_file "$dir/diff"
	else
		fail "$name"
		diag "$*"
		diag_file "$dir/diff" 12
		diag_file "$T/err" 5
		diag_file "$dir/report.err" 5
	fi
	rm -f "$dir/data"
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
	    f.write("d = {}\nfor i in range(20000):\n    d['k%d' % i] = [i, str(i)]\n"
	            "print(sum(len(v[1]) for v in d.values()))\n")
	END
}

need_tracing
make_inputs

exact "one thread" "$WL/exact23"
exact "shares" "$WL/shares" 2000
exact "four threads" "$WL/threads4" 5000
exact "freed by another thread" "$WL/crossfree"
exact "fork" "$WL/forkers"
exact "fork and exec" "$WL/forkers" exec
exact "exec in the same process" "$WL/execer"
exact "every way a realloc ends" "$WL/realloc_heavy" 1000
exact "every way a realloc ends, two threads" "$WL/realloc_heavy" 1000 2
exact "calloc, memalign, posix_memalign and family" "$WL/family"
exact "failures by RLIMIT_AS" "$WL/failing"
exact "failures by RLIMIT_AS, two threads" "$WL/failing" threads
exact "C++" "$WL/cxx_new"
exact "wrappers" "$WL/wrappers"
exact "blocks that are never freed" "$WL/lifetimes"
exact "a program that allocates nothing" "$WL/noalloc" 2000
exact "a shell pipeline" /bin/sh -c 'ls -l /usr/lib | sort | tail -n 3'

# Not what -c 1 takes by itself, since children that fork have a gap; without children it is as exact.
for method in uprobe-multi uprobe-session; do
	options=(--method $method)
	exact "four threads, $method" "$WL/threads4" 2000
	exact "every way a realloc ends, $method" "$WL/realloc_heavy" 500 2
	exact "the family, $method" "$WL/family"
	exact "exec, $method" "$WL/execer"
done
options=(--method auto)

need_tool jq "equal to the counter: jq" &&
	exact "jq" jq -c 'map({n: .name, t: (.tags|join(",")), w: (.v * 2)})' "$T/in.json"
need_tool xmllint "equal to the counter: xmllint" && exact "xmllint" xmllint --format "$T/in.xml"
need_tool sqlite3 "equal to the counter: sqlite3" && exact "sqlite3" sqlite3 :memory: ".read $T/in.sql"
if need_tool python3 "equal to the counter: python3"; then
	python=$(python3 -c 'import sys; print(sys.executable)')
	PYTHONMALLOC=malloc exact "python3" "$python" -S "$T/in.py"
fi

finish
