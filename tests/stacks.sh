#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# Stacks are true: programs whose stacks are known (tests/workloads/stacks, tests/data/stacks.txt), with and
# without frame pointers, with symbols and stripped. What is compared is what stock perf reads from the
# file. Stacks of stripped programs are named by the program that was stripped: the same build id.
#
#	CALLGRAPH=auto	the argument of --call-graph
#	KINDS, PROGRAMS	some of them only
#	V=1		say, too, what became of CPU samples elsewhere

CALLGRAPH=${CALLGRAPH:-auto}
# Stock perf 6.1 unwinds copies only where a file has the same address in all processes.
case $CALLGRAPH in
dwarf*) [ "$(cat /proc/self/personality)" = 00040000 ] || exec setarch -R "$0" ;;
esac
. tests/lib.sh

KINDS=${KINDS:-fp nofp fp_stripped nofp_stripped}
PROGRAMS=${PROGRAMS:-stacks stacks_static stacks_rust}
ring=16M
case $CALLGRAPH in
dwarf*) ring=128M ;;
esac

# Not in $T: perf takes /tmp/perf-* for files that list symbols of JIT code.
run=$WL/stacks/run.$$

# copy_programs KIND - to $run
copy_programs()
{
	mkdir -p "$run"
	cp -f "$WL/stacks/$1"/stacks* "$run/"
}

# record_stacks KIND COUNT MODE PROGRAM - and put the program's symbols in place. By uprobes, whose return
# probes are what is hard about stacks; preload_record.sh looks at the others.
record_stacks()
{
	copy_programs "$1"
	recorded "$1/$4 $3" -c "$2" --method=uprobe -F 1999 -m $ring --max-stack 512 --call-graph "$CALLGRAPH" -o "$T/data" -- \
		"$run/$4" "$3" || return
	copy_programs "${1%_stripped}"
}

stream()
{
	"$PERF" script -i "$T/data" --no-inline --max-stack 1024 -F comm,tid,event,trace,ip,sym,dso \
		2>"$T/script.err"
}

# judge PREFIX WHAT PROGRAM
judge()
{
	local verdict text

	stream | python3 tests/stacks.py "$2" "$3" tests/data/stacks.txt >"$T/verdicts" 2>"$T/py.err"
	[ -s "$T/verdicts" ] || { fail "$1"; diag_file "$T/py.err"; diag_file "$T/script.err"; }
	while IFS= read -r text; do
		verdict=${text%% *}
		case $verdict in
		pass) pass "$1, ${text#* }" ;;
		fail) fail "$1, ${text#* }" ;;
		note) [ "${V:-0}" = 0 ] || diag "${text#* }" ;;
		*) diag "$text" | cut -c1-300 ;;
		esac
	done <"$T/verdicts"
}

allocations()
{
	record_stacks "$1" 1 alloc "$2" && judge "$1/$2" alloc "$2"
}

# cpu_samples KIND PROGRAM COUNT
cpu_samples()
{
	record_stacks "$1" "$3" burn "$2" && judge "$1/$2, -c $3" cpu "$2"
}

need_tracing
for kind in $KINDS; do
	for program in $PROGRAMS; do
		# A static allocator without symbols cannot be found: record refuses it.
		[ "$program" = stacks_static ] && [ "$kind" != "${kind%_stripped}" ] && continue
		allocations "$kind" "$program"
		# What a program keeps in its file makes no difference to walks of CPU samples.
		[ "$kind" = "${kind%_stripped}" ] || continue
		cpu_samples "$kind" "$program" 1000
		# Each call with a return probe, which hides the caller's address. Copies would be GBs.
		case $CALLGRAPH in
		dwarf*) ;;
		*) [ "$kind" = fp ] || cpu_samples "$kind" "$program" 1 ;;
		esac
	done
done
rm -rf "$run"
finish
