#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# The report gives the advice that fits, on programs whose churn is of a known kind, and none where
# there is none. The reader's own screen and --json say the same.

. tests/lib.sh

# advice_for PROGRAM - kinds of all advice, in the order of sites
advice_for()
{
	recorded "$1" -F 999 -o "$T/data" -- "$WL/$1" || return
	perf-churn report --json -i "$T/data" 2>"$T/err" | python3 -c '
import json, sys
print(*(a["kind"] for s in json.load(sys.stdin)["sites"] for a in s["advice"]))'
}

need_tracing
is "a vector that grows by copying" reserve "$(advice_for pair_vector_growth)"
report -i "$T/data"
has "the screen says what, why and how much" \
	'^ +reserve the final size up front: [0-9]+ % are outgrown, copied and freed here; takes [0-9.]+ \+- [0-9.]+ % CPU now$' \
	"$T/out"
is "buffers that are mapped each time" reuse "$(advice_for pair_large_buffers)"
is "frees by another thread" "cross thread" "$(advice_for pair_producer_consumer)"
is "nodes of one size" pool "$(advice_for pair_map_nodes)"
is "nothing but computing: none" "" "$(advice_for calm_compute)"
is "allocations at the start only: none" "" "$(advice_for calm_startup)"
finish
