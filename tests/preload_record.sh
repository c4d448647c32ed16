#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# perf churn record by the preload library: all calls counted, samples unbiased and with stacks of the
# program alone, children from their first call on; what cannot be preloaded is said, and recorded
# otherwise.

. tests/lib.sh

LIB=$OUTPUT/libperf-churn.so

# window NAME FIELD - its sum over all processes
window()
{
	tally "$T/data" "windows.total.$1"
}

by_preload()
{
	is "$1: by preload" preload "$(json "$T/data" recording.method)"
}

test_exact()
{
	recorded "exact23" -c 1 --method=preload -o "$T/data" -- "$WL/exact23" || return
	by_preload "exact23"
	is "exact23: 23 allocations are sampled" 23 "$(tally "$T/data" total.allocs)"
	is "exact23: and their frees" 23 "$(tally "$T/data" total.frees)"
	is "exact23: 23 are counted" 23 "$(window nr_allocs)"
	is "exact23: 4416 bytes" 4416 "$(window alloc_bytes)"
	"$PERF" script -i "$T/data" -F event,ip,sym 2>/dev/null >"$T/script"
	is "exact23: stacks begin at the program's call" "23 leaf" \
		"$(awk '/churn:alloc/ { getline; print $2 }' "$T/script" | sort | uniq -c | sed 's/^ *//')"
	is "exact23: so do those of frees" "23 release" \
		"$(awk '/churn:free/ { getline; print $2 }' "$T/script" | sort | uniq -c | sed 's/^ *//')"
	is "exact23: all reach the start" "churn:alloc 23 0 churn:free 23 0" \
		"$("$PERF" script -i "$T/data" -F comm,tid,time,event,ip,sym 2>/dev/null | python3 tests/roots.py |
			grep -v '^#' | paste -sd' ')"
	recorded "exact23, fp" -c 1 --method=preload --call-graph fp -o "$T/data" -- "$WL/exact23" || return
	"$PERF" script -i "$T/data" -F event,ip,sym 2>/dev/null >"$T/script"
	is "exact23, frame pointers: stacks begin at the program's call" "23 leaf" \
		"$(awk '/churn:alloc/ { getline; print $2 }' "$T/script" | sort | uniq -c | sed 's/^ *//')"
}

# What the library does itself is no work of the allocator.
test_own_cost()
{
	recorded "own cost" -c 1 --method=preload -m 16M -o "$T/data" -- "$WL/loop" -n 100000 || return
	check "most of the CPU is the recording's cost, and said to be" \
		awk -v s="$(json "$T/data" cpu.probe_share)" 'BEGIN { exit !(s > 0.5) }'
}

# The estimates are good, and the count does not depend on them.
test_sampled()
{
	recorded "sampled" -c 100 -o "$T/data" -- "$WL/shares" 20000 || return
	by_preload "sampled"
	is "sampled: all 80000 calls are counted" 80000 "$(window nr_allocs)"
	is "sampled: all bytes, too" 12480000 "$(window alloc_bytes)"
	is "sampled: and frees" 80000 "$(window nr_frees)"
	is "sampled: the frees of the sampled blocks are seen" "$(tally "$T/data" total.alloc_weight)" \
		"$(tally "$T/data" total.free_weight)"
	# 80000 at p = 1/100: a standard error of 2815 calls; and 60000 of them one of 2437 (3.0 %).
	check "sampled: the weights add up (4.5 standard errors)" \
		awk -v w="$(tally "$T/data" total.alloc_weight)" 'BEGIN { exit !(w > 67300 && w < 92700) }'
	recorded "by bytes" --bytes 8K -o "$T/data" -- "$WL/shares" 20000 || return
	is "by bytes: all calls are counted" 80000 "$(window nr_allocs)"
	# 12.48 MB at one in 8 KB: 1523 samples, so 2.6 %.
	check "by bytes: the weighted bytes add up (4.5 standard errors)" \
		awk -v b="$(tally "$T/data" total.alloc_weight_bytes)" 'BEGIN { exit !(b > 11.0e6 && b < 13.95e6) }'
	has "by bytes: the report knows the method" 'allocations by preload$' <(perf-churn report -i "$T/data" 2>&1)
}

test_children()
{
	recorded "a shell's children" -o "$T/data" -- /bin/sh -c 'for i in 1 2 3 4 5; do '"$WL"'/exact23; done' || return
	by_preload "a shell's children"
	lacks "a shell's children: no gap" 'before its probes|before their probes|without the preload' "$T/err"
	is "a shell's children: all count from their first call" "23 23 23 23 23" \
		"$(perf-churn report --json -i "$T/data" | true; tally "$T/data" | python3 -c '
import json, sys
w = json.load(sys.stdin)["windows"]
print(*[p["nr_allocs"] for k, p in sorted(w.items()) if k != "total" and p["nr_allocs"] == 23])')"
	recorded "programs without it" -o "$T/data" -- /bin/sh -c "env -i $WL/exact23; LD_PRELOAD= $WL/exact23; $WL/exact23" ||
		return
	has "programs without the library are said" '^2 programs ran without the preload library' "$T/err"
	is "programs without the library: --strict fails" 1 \
		"$(record --strict -o "$T/data" -- /bin/sh -c "env -i $WL/exact23"; echo $?)"
}

# falls_back NAME TEXT COMMAND - recorded by uprobes, and why is said
falls_back()
{
	local name=$1 text=$2

	shift 2
	recorded "$name" -c 10 -o "$T/data" -- "$@" || return
	has "$name: why is said" "$text" "$T/err"
	is "$name: by uprobes" uprobe "$(json "$T/data" recording.method)"
	is "$name: with --method=preload that is an error" 1 "$(record --method=preload -o "$T/data" -- "$@"; echo $?)"
	check "$name: of one line" one_line "$T/err"
}

test_refused()
{
	gcc -O2 -static -D_GNU_SOURCE -pthread -o "$T/static" tests/workloads/loop.c
	falls_back "a static program" 'statically linked' "$T/static" -n 1000
	cp "$WL/loop" "$T/suid"
	chown nobody "$T/suid"
	chmod u+s "$T/suid"
	falls_back "a set-user-ID program" 'set-user-ID|rights' "$T/suid" -n 1000
	is "-C: not by preload" uprobe "$(record -c 10 -C 0,1 -o "$T/data" -- "$WL/loop" -n 1000; json "$T/data" recording.method)"
	is "--call-graph dwarf: not by preload" uprobe \
		"$(record -c 10 --call-graph dwarf -o "$T/data" -- "$WL/loop" -n 1000; json "$T/data" recording.method)"
	is "--method=preload --call-graph dwarf: an error" 1 \
		"$(record --method=preload --call-graph dwarf -o "$T/data" -- "$WL/loop" -n 10; echo $?)"
	check "of one line" one_line "$T/err"
	is "--bytes with -c: wrong usage" 129 "$(record --bytes 1K -c 10 -o "$T/data" -- "$WL/loop" -n 10; echo $?)"
	is "--bytes 0: wrong usage" 129 "$(record --bytes 0 -o "$T/data" -- "$WL/loop" -n 10; echo $?)"
	is "-p of a process without it: an error" 1 "$(record --method=preload -o "$T/data" -p $$ -- true; echo $?)"
	has "which says what to do" 'perf churn run' "$T/err"
	PERF_CHURN_PRELOAD=/nonexistent/lib.so record -c 10 -o "$T/data" -- "$WL/loop" -n 1000
	is "without the library: uprobes" uprobe "$(json "$T/data" recording.method)"
}

# A program that has the library, attached to, twice, and at the same time.
test_attach()
{
	local target first

	LD_PRELOAD=$LIB spawn "$WL/loop" -s 600 -i 100 >"$T/loop.out"
	target=$spawned
	wait_for 10 test -s "$T/loop.out"
	recorded "attached" -p "$target" -o "$T/data" -- sleep 1 || return
	by_preload "attached"
	check "attached: millions of calls are counted" test "$(window nr_allocs)" -gt 500000
	is "attached: nothing is lost" 0 "$(window nr_lost_output)"
	spawn perf-churn record -p "$target" -o "$T/data1" -- sleep 2 2>"$T/err1"
	first=$spawned
	recorded "two at a time" -p "$target" -o "$T/data" -- sleep 1
	check "two at a time: both see calls" test "$(window nr_allocs)" -gt 100000
	reap "$first"
	is "two at a time: the other one's status" 0 $?
	spawn perf-churn record -p "$target" -o "$T/data1" -- sleep 30 2>"$T/err1"
	first=$spawned
	sleep 1
	kill -9 "$first"
	reap "$first"
	recorded "after a recorder was killed" -p "$target" -o "$T/data" -- sleep 1
	check "after a recorder was killed: calls are seen" test "$(window nr_allocs)" -gt 100000
	kill "$target"
	reap "$target"
	lacks "the program's blocks are not damaged" corrupt "$T/loop.out"
}

need_tracing
test_exact
test_own_cost
test_sampled
test_children
test_refused
test_attach
finish
