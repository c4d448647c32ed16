#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# Stacks of programs as the distribution ships them end at the thread's start: 99 % of the churn events
# and of the CPU samples in the allocator. (Blocks that destructors of clang's libraries free are below
# __do_global_dtors_aux, which has no call frame information.) Of one CPU sample in ten the stack is copied,
# too (64 KB): every address that stock perf unwinds from the copy is the one that was walked.
#
#	CALLGRAPH=auto	the argument of --call-graph
#	PROGRAMS	some of those in programs.sh only

. tests/lib.sh
. tests/programs.sh

CALLGRAPH=${CALLGRAPH:-auto}
PROGRAMS=${PROGRAMS:-$PROGRAM_NAMES}
LIMIT_S=180

# share_is NR PART PERCENT - PART is that much of NR, which is not 0
share_is()
{
	[ "$1" -gt 0 ] && [ $((100 * $2)) -ge $(($3 * $1)) ]
}

# judge NAME
judge()
{
	local class nr part

	"$PERF" script -i "$T/data" --no-inline --max-stack 1024 -F comm,tid,event,ip,sym,dso \
		>"$T/stream" 2>"$T/script.err"
	python3 tests/stacks_reach.py "$T/stream" >"$T/reach" 2>"$T/py.err" || diag_file "$T/py.err"
	while read -r class nr part; do
		case $class in
		churn) check "$1: $part of $nr churn events end at the thread's start" share_is "$nr" "$part" 99 ;;
		allocator) check "$1: $part of $nr CPU samples in the allocator do" share_is "$nr" "$part" 99 ;;
		other) diag "$1: $part of $nr other CPU samples do" ;;
		esac
	done < <(grep -v '^ ' "$T/reach")
	diag_file "$T/reach" 20
}

# compare NAME - walked stacks with what perf makes of the copies
compare()
{
	local what=("$PERF" script -i "$T/data" --ns --no-inline --max-stack 1024 -F tid,time,event,ip,sym,dso)

	"${what[@]}" 2>"$T/script.err" >"$T/stream"
	check "$1: addresses walked and unwound from copies are equal, 99.9 %" \
		python3 tests/compare_stacks.py --min-equal 99.9 --events cpu-clock stack-copy "$T/stream" \
		>"$T/compared" 2>"$T/py.err" || diag_file "$T/py.err"
	diag_file "$T/compared" 12
}

# For a file that stands at different addresses in several processes, perf 6.1 unwinds only one: a
# compiler is run without its driver, redis is not compared.
set_command()
{
	program_command "$1" "$T"
	verify=--verify-stacks
	case $1 in
	g++)
		g++ -std=c++17 -E "$T/in.cpp" -o "$T/in.ii" || return
		program=("$(g++ -print-prog-name=cc1plus)" -quiet -fpreprocessed -std=c++17 -O1 "$T/in.ii" -o /dev/null)
		;;
	redis) verify= ;;
	esac
	[ "$CALLGRAPH" = auto ] || verify=
}

need_tracing
make_program_inputs "$T" 5
for name in $PROGRAMS; do
	missing=$(program_missing "$name")
	[ -z "$missing" ] || { skip "$name" "$missing is not installed"; continue; }
	set_command "$name"
	recorded "$name" -c 1000 -F 999 -m 64M --max-stack 512 --call-graph "$CALLGRAPH" $verify -o "$T/data" -- \
		"${program[@]}" || continue
	judge "$name"
	[ -z "$verify" ] || compare "$name"
done
finish
