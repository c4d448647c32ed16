#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# Stock perf reads our file like one of its own: each command's output is checked against what the
# workload did (shares.c: 75 % heavy_site, 25 % light_site), and no command warns.
#
# PERF=/path/to/perf tests another one. Its name of a sort order or a column may be another, its numbers
# may not.

. tests/lib.sh

ROUNDS=4000
DATA=$T/data
SRC=tests/workloads/shares.c

# perf_ok NAME ARGS - run it in $T; output in $T/out, nothing bad on stderr
perf_ok()
{
	local name=$1 status=0

	shift
	(cd "$T" && timeout -k 5 "$LIMIT_S" "$PERF" "$@" </dev/null) >"$T/out" 2>"$T/err" || status=$?
	is "$name: status" 0 $status || diag_file "$T/err"
	lacks "$name: no warning" \
		'[Ww]arning|WARNING|[Ee]rror|[Ff]ailed|[Cc]orrupt|[Uu]nable|[Cc]annot|[Cc]an.t|out of order|truncated|unsupported|Processed .* lost' \
		"$T/err"
}

# perf_survives ARGS - this perf itself does not crash on a file of its own, of a tracepoint and
# cpu-clock. perf 6.12 does, with "trace -i" and when it sorts by a tracepoint's field.
perf_survives()
{
	local status=0

	[ -s "$T/own.data" ] ||
		"$PERF" record -q -e sched:sched_switch -e cpu-clock -o "$T/own.data" -- ls -R /usr/share/doc >"$T/null" 2>&1
	"$PERF" "$@" -i "$T/own.data" </dev/null >"$T/null" 2>&1 || status=$?
	[ $status -lt 128 ]
}

# section EVENT - the part of perf report's output that is about one event, into $T/section
section()
{
	awk -v event="'$1'" '/^# Samples:/ { on = index($0, event) } on' "$T/out" >"$T/section"
}

line_of()
{
	grep -n "$1" "$SRC" | head -n 1 | cut -d: -f1
}

test_report()
{
	local raw=

	perf_ok "report --stdio" report -i "$DATA" --stdio --no-children -g none
	section churn:alloc
	has "report --stdio: names churn:alloc and counts it" "^# Event count \(approx.\): $((ROUNDS * 4))$" "$T/section"
	has "report --stdio: heavy_site has 75 %" '^ +75\.00% +shares +shares +\[\.\] heavy_site' "$T/section"
	has "report --stdio: light_site has 25 %" '^ +25\.00% +shares +shares +\[\.\] light_site' "$T/section"
	section churn:free
	has "report --stdio: churn:free, all by drop_block" '^ +100\.00% +shares +shares +\[\.\] drop_block' "$T/section"
	has "report --stdio: the CPU samples are there" ' \[\.\] crunch' "$T/out"

	perf_ok "report with callers" report -i "$DATA" --stdio --children
	section churn:alloc
	has "report with callers: one_round has all below it" '^ +100\.00% +0\.00% +shares +shares +\[\.\] one_round' "$T/section"

	perf_ok "report --group" report -i "$DATA" --stdio --group --no-children -g none -s sym
	has "report --group: the events stand side by side" "churn:alloc, churn:free" "$T/out"
	has "report --group: crunch has CPU, no churn" '^ +[1-9][0-9.]+% +0\.00% +0\.00% .*\[\.\] crunch' "$T/out"
	has "report --group: heavy_site has churn" '75\.00% .*\[\.\] heavy_site' "$T/out"

	perf_survives report --stdio -s sched:sched_switch.prev_comm || raw=--raw-trace
	perf_ok "report -s churn:alloc.size_class,sym" report -i "$DATA" --stdio --no-children -g none $raw \
		-s churn:alloc.size_class,sym
	section churn:alloc
	has "sort by size class: 256 for 200 bytes" '^ +75\.00% +(256|0x100) +\[\.\] heavy_site' "$T/section"
	has "sort by size class: 32 for 24 bytes" '^ +25\.00% +(32|0x20) +\[\.\] light_site' "$T/section"

	perf_ok "report -s churn:free.life_class" report -i "$DATA" --stdio --no-children -g none $raw \
		-s churn:free.life_class
	section churn:free
	check "sort by life class: powers of two, 100 % in all" python3 - "$T/section" <<-'END'
	import re, sys
	rows = re.findall(r"^ +([0-9.]+)% +(\w+)", open(sys.argv[1]).read(), re.M)
	values = [int(v, 0) for _, v in rows]
	print("#", rows[:6])
	assert rows and all(v > 1000 and v & (v - 1) == 0 for v in values)
	assert 99 < sum(float(p) for p, _ in rows) < 101
	END

	perf_ok "report -s sym,srcline" report -i "$DATA" --stdio --no-children -g none -s sym,srcline
	section churn:alloc
	has "srcline: of the call in heavy_site" "heavy_site +shares\.c:$(line_of 'malloc(200)')" "$T/section"
	has "srcline: of the call in light_site" "light_site +shares\.c:$(line_of 'malloc(24)')" "$T/section"
}

test_annotate()
{
	perf_ok "annotate heavy_site" annotate -i "$DATA" --stdio heavy_site
	has "annotate: the call of malloc carries all samples" '100\.00 .*call .*<?malloc@plt' "$T/out"
	perf_ok "annotate drop_block" annotate -i "$DATA" --stdio drop_block
	has "annotate: the call (or jump) of free carries all samples" '100\.00 .*(call|jmp) .*<?free@plt' "$T/out"
}

test_script()
{
	perf_ok "script" script -i "$DATA" -F comm,tid,time,event,trace,ip,sym
	has "script: our fields" 'churn:alloc: .*size=(200|0xc8)' "$T/out"
	has "script: field names" 'churn:alloc: .*ptr=.*size=.*size_class=.*weight=' "$T/out"
	is "script: every allocation is a line" $((ROUNDS * 4)) "$(grep -c 'churn:alloc:' "$T/out")"
	is "script: every free, too" $((ROUNDS * 4)) "$(grep -c 'churn:free:' "$T/out")"

	cat >"$T/ours.py" <<-'END'
	total = {"allocs": 0, "bytes": 0, "frees": 0, "unseen": 0}

	def churn__alloc(event_name, context, common_cpu, common_secs, common_nsecs, common_pid,
	                 common_comm, common_callchain, ptr, size, size_class, old_ptr, seq, weight,
	                 caller, fn, flags, perf_sample_dict):
	    total["allocs"] += weight
	    total["bytes"] += weight * size
	    assert ptr and caller and size_class in (32, 256), (ptr, caller, size_class)

	def churn__free(event_name, context, common_cpu, common_secs, common_nsecs, common_pid,
	                common_comm, common_callchain, ptr, size, lifetime_ns, life_class, weight, seq,
	                caller, alloc_tid, fn, flags, pad, perf_sample_dict):
	    total["frees"] += weight
	    total["unseen"] += not lifetime_ns

	def trace_end():
	    print(" ".join("%s=%d" % kv for kv in sorted(total.items())))
	END
	# Distributions without libpython in perf have neither of these.
	if "$PERF" version --build-options 2>/dev/null | grep -q 'libpython: \[ OFF'; then
		skip "script -g python" "this perf has no Python"
		return
	fi
	perf_ok "script -s, a script of ours" script -i "$DATA" -s "$T/ours.py"
	has "script -s: the handlers saw everything" \
		"^allocs=$((ROUNDS * 4)) bytes=$((ROUNDS * 624)) frees=$((ROUNDS * 4)) unseen=0" "$T/out"
	perf_ok "script -g python" script -i "$DATA" -g python
	check "script -g python: writes a handler for churn:alloc" test -s "$T/perf-script.py"
	has "script -g python: with our fields" 'ptr, size, size_class|size, size_class' "$T/perf-script.py"
	check "script -g python: it is valid Python" python3 -m py_compile "$T/perf-script.py"
	perf_ok "script -s, the generated one" script -i "$DATA" -s "$T/perf-script.py"
	is "script -s, the generated one: a line per allocation" $((ROUNDS * 4)) "$(grep -c '^churn__alloc' "$T/out")"
}

test_header()
{
	perf_ok "evlist -v" evlist -v -i "$DATA"
	has "evlist -v: churn:alloc is a tracepoint" '^churn:alloc: type: (2|2 \(PERF_TYPE_TRACEPOINT\)|PERF_TYPE_TRACEPOINT)' "$T/out"
	has "evlist -v: one clock" '^churn:alloc:.*use_clockid: 1.*clockid: 1' "$T/out"
	perf_ok "evlist --trace-fields" evlist --trace-fields -i "$DATA"
	has "evlist --trace-fields: churn:alloc" '^churn:alloc: trace_fields: ptr,size,size_class,old_ptr,seq,weight,caller,fn,flags' "$T/out"
	has "evlist --trace-fields: churn:free" '^churn:free: trace_fields: ptr,size,lifetime_ns,life_class,weight,seq' "$T/out"
	perf_ok "buildid-list" buildid-list -i "$DATA"
	has "buildid-list: the program's" "$(readelf -n "$WL/shares" | sed -n 's/.*Build ID: //p') .*/shares$" "$T/out"
	perf_ok "buildid-list --with-hits" buildid-list --with-hits -i "$DATA"
	has "buildid-list --with-hits: the program" '/shares$' "$T/out"
	perf_ok "report --header-only" report -i "$DATA" --header-only
	has "header: the command line" '^# cmdline : .*record.*shares' "$T/out"
	has "header: hostname, kernel, CPUs" '^# nrcpus online : [0-9]' "$T/out"
	has "header: when the first sample was taken" '^# time of first sample : [0-9]+\.[0-9]+' "$T/out"
	has "header: how long" '^# sample duration : +[0-9]+\.[0-9]+ ms' "$T/out"
	has "header: the version names our ABI" '^# perf version : .*churn-abi/1' "$T/out"
	has "header: the clock" 'clockid: .*monotonic|clockid = 1|clockid: 1|CLOCK_MONOTONIC' "$T/out"
	perf_ok "report --stats" report --stats -i "$DATA"
	perf_ok "report -D" report -D -i "$DATA"
}

test_convert()
{
	perf_ok "data convert --to-json" data convert -i "$DATA" --to-json "$T/out.json" --force
	# perf 6.1 writes stacks, but no fields and no event names.
	check "data convert --to-json: every sample is there, with its stack" python3 - "$T/out.json" \
		"$("$PERF" script -i "$DATA" -F pid,event 2>/dev/null | wc -l)" $((ROUNDS * 3)) <<-'END'
	import json, sys
	samples = json.load(open(sys.argv[1]))["samples"]
	tops = [s["callchain"][0].get("symbol") if s.get("callchain") else None for s in samples]
	print("#", len(samples), "samples,", tops.count("heavy_site"), "begin in heavy_site")
	assert len(samples) == int(sys.argv[2])
	assert int(sys.argv[3]) <= tops.count("heavy_site") <= int(sys.argv[3]) * 1.2
	END
	recorded "a second recording" -g -c 1 -e cpu-clock -F 4000 -o "$T/data2" -- "$WL/shares" $ROUNDS || return
	perf_ok "diff" diff "$DATA" "$T/data2"
	awk "/^# Event/ { on = /churn:alloc/ } on" "$T/out" >"$T/section"
	has "diff: churn:alloc of equal runs does not change" '75\.00% .*([+-]0\.00%)? +shares +\[\.\] heavy_site' "$T/section"
	perf_survives trace && perf_ok "trace" trace -i "$DATA"
}

need_tracing
command -v "$PERF" >/dev/null || skip_all "$PERF is not installed"
diag "$("$PERF" version)"
recorded "the recording" -g -c 1 -e cpu-clock -F 4000 -o "$DATA" -- "$WL/shares" $ROUNDS || finish
closing "the closing line"
lacks "nothing is lost" '[1-9][0-9]* lost' "$T/err"
test_report
test_annotate
test_script
test_header
test_convert
finish
