#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh - what recording costs on this machine: a loop of malloc/free pairs, and a program that
# works between its allocations, each without and with the recorder. Then perf churn and other tools side by
# side, on real programs (tools/bench/compare); what the preload library costs (bench-preload.sh), callchains
# (bench-stacks.sh), what -z does (bench-compress.sh), and how right recordings under a budget are
# (bench-budget.sh). At last, whether the savings that the report states are true (tools/bench/savings).
#
#   RUNS      runs of each, the median is shown (default: 5)
#   COMPARE   options of tools/bench/compare, such as "--tools bare,preload --workloads jq,pairs --runs 7"
set -eu
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
RUNS=${RUNS:-5}
PATH=$(realpath -m "$OUTPUT"):$PATH
scripts/can-record.sh || exit 1

dir=$(mktemp -d "${TMPDIR:-/tmp}/perf-churn-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

# median_ms COMMAND... - wall time of $RUNS runs, in ms
median_ms() {
	local i start

	for ((i = 0; i < RUNS; i++)); do
		start=$(date +%s%N)
		"$@" >/dev/null 2>&1
		echo $((($(date +%s%N) - start) / 1000000))
	done | sort -n | sed -n "$(((RUNS + 1) / 2))p"
}

# pair_ns COMMAND... - what "loop" says a pair took, median of $RUNS runs
pair_ns() {
	local i

	for ((i = 0; i < RUNS; i++)); do
		"$@" 2>&1 | sed -n 's/^loop: .* \([0-9.]*\) ns per pair.*/\1/p'
	done | sort -n | sed -n "$(((RUNS + 1) / 2))p"
}

loop=$OUTPUT/tests/workloads/loop
demo=$OUTPUT/tests/workloads/demo
record=(perf-churn record -q -o "$dir/perf.data")
row='%-40s %12s %14s\n'

# shellcheck disable=SC2059
{
	printf "$row" "" "loop, ns/pair" "demo, wall ms"
	printf "$row" "not recorded" "$(pair_ns "$loop" -n 2000000)" "$(median_ms "$demo" 200)"
	printf "$row" "perf churn record -c 1" "$(pair_ns "${record[@]}" -c 1 -- "$loop" -n 100000)" \
		"$(median_ms "${record[@]}" -c 1 -- "$demo" 200)"
	printf "$row" "perf churn record -c 100" \
		"$(pair_ns "${record[@]}" -c 100 -- "$loop" -n 200000)" \
		"$(median_ms "${record[@]}" -c 100 -- "$demo" 200)"
	printf "$row" "perf churn record" "$(pair_ns "${record[@]}" -- "$loop" -n 200000)" \
		"$(median_ms "${record[@]}" -- "$demo" 200)"
	printf "$row" "perf churn record -g" "$(pair_ns "${record[@]}" -g -- "$loop" -n 200000)" \
		"$(median_ms "${record[@]}" -g -- "$demo" 200)"
}
echo "A recorded run includes start and end of the recorder in its wall time."
echo
read -ra compare_options <<<"${COMPARE:-}"
OUTPUT=$OUTPUT tools/bench/compare --matrix --runs "$RUNS" ${compare_options[@]+"${compare_options[@]}"}
echo
RUNS=$RUNS OUTPUT=$OUTPUT scripts/bench-preload.sh
echo
RUNS=$RUNS OUTPUT=$OUTPUT scripts/bench-stacks.sh
RUNS=$RUNS OUTPUT=$OUTPUT scripts/bench-compress.sh
RUNS=20 OUTPUT=$OUTPUT scripts/bench-budget.sh
echo
OUTPUT=$OUTPUT tools/bench/savings --runs "$RUNS"
