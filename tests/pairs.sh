#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The programs that prove the report's savings, tests/workloads/pair_*: each and its two twins print the
# same, and the twins lack the allocations of its one site and no others. Then tools/bench/savings with
# tiny numbers of rounds: a table of the right shape, and one line for a bad argument. Needs no privilege.

. tests/lib.sh

# allocs PROGRAM - of 10 rounds; what it printed in $T/out.PROGRAM
allocs()
{
	rm -f "$T"/count.*
	"$OUTPUT/tests/with_counter" "$OUTPUT/tests/counter.so" "$T/count" "$WL/$1" 10 >"$T/out.$1" &&
		"$OUTPUT/tests/counter_dump" "$T"/count.* |
		python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["allocs"])'
}

savings()
{
	timeout -k 5 "$LIMIT_S" tools/bench/savings "$@" >"$T/out" 2>"$T/err"
}

# refused NAME REGEX ARGS
refused()
{
	local name=$1 regex=$2

	shift 2
	savings "$@"
	is "$name: status 2" 2 $?
	check "$name: one line" one_line "$T/err"
	has "$name: which says why" "$regex" "$T/err"
}

build_workloads

# Allocations, of plain, freelist and fixed. 1 is stdout's buffer, 1 more each libstdc++'s pool, a thread.
while read -r pair counts; do
	is "$pair: allocations of its variants" "$counts" \
		"$(allocs "pair_$pair") $(allocs "pair_$pair.freelist") $(allocs "pair_$pair.fixed")"
	for twin in freelist fixed; do
		check "$pair.$twin prints the same" cmp "$T/out.pair_$pair" "$T/out.pair_$pair.$twin"
	done
done <<'END'
arena_contention 165 21 5
calloc_large 11 2 1
large_buffers 11 2 2
linked_list 5001 501 1
many_sites 1131 532 531
map_nodes 3798 386 2
producer_consumer 2562 1026 2
realloc_growth 1011 28 15
short_strings 62 11 1
vector_growth 74 10 12
END
is "no pair is left out" "$(find tests/workloads -name 'pair_*' | wc -l)" "$(find "$T" -name 'out.*.fixed' | wc -l)"

refused "an unknown pair" "'vi' is none of pair_arena_contention, " --pairs vi
refused "no number of runs" "'0' is no positive number" --runs 0
refused "an unknown method" "'ptrace' is none of launched, attached" --methods ptrace
cell='[0-9.-]+ \+-[0-9.]+ *'
check "twins are compared" savings --pairs pair_linked_list,calm_compute --runs 3 --rounds 1000 --unrecorded \
	--json "$T/json" || diag_file "$T/err"
has "a pair has the savings of both" "^\| pair_linked_list +\| [0-9.]+ +\| $cell\| $cell\|$" "$T/out"
has "a calm program has none" '^\| calm_compute +\| [0-9.]+ +\| - +\| - +\|$' "$T/out"
is "all runs are in the JSON" "3 3 3 3 0 0" "$(python3 -c '
import json, sys
print(*(len(took) for row in json.load(open(sys.argv[1]))["rows"] for took in row["cpu_s"].values()))' "$T/json")"
finish
