#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# compare_stacks.py, by which other tests judge stacks, sees what is different and nothing else.

. tests/lib.sh

# stream EVENT TID TIME ADDRESS SYMBOL... - one sample as perf script prints it
stream()
{
	printf '%7d %s: %10s: \n' "$2" "$3" "$1"
	shift 3
	while [ $# -gt 0 ]; do
		printf '\t%16s %s\n' "$1" "$2"
		shift 2
	done
	echo
}

# compared NAME STATUS LINE [OPTIONS] - of $T/a and $T/b; the output has a line LINE
compared()
{
	local name=$1 want=$2 line=$3 status=0

	shift 3
	python3 tests/compare_stacks.py "$@" "$T/a" "$T/b" >"$T/out" 2>"$T/err" || status=$?
	is "$name: status" "$want" "$status" || diag_file "$T/err"
	if grep -qxF -- "$line" "$T/out"; then
		pass "$name"
	else
		fail "$name"
		diag "no line: $line"
		diag_file "$T/out"
	fi
}

{
	stream cpu-clock 7 1.000000001 ffffffff81000000 irq 10 leaf 21 caller 31 _start
	stream cpu-clock 7 1.000000002 10 leaf 21 caller 31 _start
	stream cpu-clock 8 1.000000002 10 leaf 41 clone3
} >"$T/a"
{
	stream cpu-clock 7 1.000000001 10 leaf 20 caller 30 _start
	stream cpu-clock 7 1.000000002 10 leaf 20 caller
	stream cpu-clock 8 1.000000002 10 leaf 40 clone3
} >"$T/b"
compared "return addresses less one, a cut copy, kernel frames" 0 \
	"samples: 3 compared, 3 equal (100.000 %), 0 only in A, 0 only in B" --min-equal 100 --min-start 100
compared "of a cut copy its own frames are compared" 0 "ips: 7 compared, 7 equal (100.000 %)"
compared "shares that reach the start" 0 \
	"thread's start reached: A 3 (100.00 %), B 2 (66.67 %); A is deeper in 1"

stream cpu-clock 7 1.000000001 11 leaf 21 caller 31 _start >"$T/a"
stream cpu-clock 7 1.000000001 10 leaf 21 caller 31 _start >"$T/b"
compared "a leaf is not less one" 1 "difference: 1 times the leaf differs" --min-equal 100

stream cpu-clock 7 1.000000001 10 leaf 31 _start >"$T/a"
stream cpu-clock 7 1.000000001 10 leaf 21 caller 31 _start >"$T/b"
compared "a frame is missing" 1 "difference: 1 times A lacks a frame, callee leaf" --min-equal 100
compared "what is behind it is compared in place" 0 "ips: 3 compared, 1 equal (33.333 %)"

stream cpu-clock 7 1.000000001 10 leaf 21 caller 25 caller2 31 _start >"$T/a"
compared "a frame too many" 0 "difference: 1 times A has a frame too many, callee caller"

stream cpu-clock 7 1.000000001 10 leaf 21 caller >"$T/a"
compared "A is cut" 1 "difference: 1 times A ends early" --min-start 1

stream cpu-clock 7 1.000000001 10 leaf 21 caller 31 _start 41 more >"$T/a"
compared "A goes on" 1 "difference: 1 times A goes on behind the thread's start" --min-start 100

stream cpu-clock 7 1.000000001 10 leaf 52 other 31 _start >"$T/a"
compared "another caller" 1 "difference: 1 times another caller of leaf" --min-equal 99.9

{
	stream cpu-clock 7 1.000000001 10 leaf 21 caller 31 _start
	stream cpu-clock 7 1.000000003 10 leaf 21 caller 31 _start
	stream page-faults 7 1.000000003 10 leaf
} >"$T/a"
{
	stream cpu-clock 7 1.000000001 10 leaf 21 caller 31 _start
	stream cpu-clock 7 1.000000004 10 leaf 21 caller 31 _start
} >"$T/b"
compared "times and tids must be equal" 0 \
	"samples: 1 compared, 1 equal (100.000 %), 1 only in A, 1 only in B" --event cpu-clock

{
	stream cpu-clock 9 1.000000001 10 leaf 21 a 99 '[unknown]'
	stream cpu-clock 9 1.000000002 10 leaf 22 b 99 '[unknown]'
	stream cpu-clock 9 1.000000003 10 leaf 21 a
} >"$T/a"
{
	stream cpu-clock 9 1.000000001 10 leaf 20 a 98 '[unknown]'
	stream cpu-clock 9 1.000000002 10 leaf 21 b 98 '[unknown]'
	stream cpu-clock 9 1.000000003 10 leaf 20 a
} >"$T/b"
compared "starts without a name" 0 \
	"thread's start reached: A 2 (66.67 %), B 2 (66.67 %); A is deeper in 0"

stream cpu-clock 7 1.000000001 10 leaf 20 __libc_start_main@@GLIBC_2.34 30 '[unknown]' >"$T/a"
cp "$T/a" "$T/b"
compared "the caller of __libc_start_main" 0 \
	"thread's start reached: A 1 (100.00 %), B 1 (100.00 %); A is deeper in 0" --min-start 100

stream cpu-clock 7 1.000000001 10 leaf 20 begin >"$T/a"
cp "$T/a" "$T/b"
compared "starts named by the user" 0 \
	"thread's start reached: A 1 (100.00 %), B 1 (100.00 %); A is deeper in 0" --start '^begin$'

: >"$T/b"
compared "nothing to compare is a failure" 1 \
	"samples: 0 compared, 0 equal (0.000 %), 1 only in A, 0 only in B"
stream cpu-clock 7 1.000000001 10 leaf 21 aux >"$T/a"
stream cpu-clock 7 1.000000001 10 leaf 20 aux 30 _dl_fini 40 _start >"$T/b"
compared "A ends in a library's destructors" 0 \
	"A ends in a library's destructors, which have no call frame information: 1" --min-equal 100

finish
