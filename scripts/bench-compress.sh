#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench-compress.sh - what -z costs and brings: CPU time of the recorder in the middle of a recording,
# size of the file, and samples lost, without and at some levels.
#
#   RUNS      runs of each, interleaved; the median is shown (default: 5)
#   RUN_S     seconds of each run (default: 5)
set -eu
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
RUNS=${RUNS:-5}
RUN_S=${RUN_S:-5}
PATH=$(realpath -m "$OUTPUT"):/usr/bin:$PATH
scripts/can-record.sh || exit 1

dir=$(mktemp -d "${TMPDIR:-/tmp}/perf-churn-bench.XXXXXX")
target=

clean_up() {
	[ -z "$target" ] || kill "$target" 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT

json='import json
data = [{"a": j, "b": str(j)} for j in range(500)]
while True:
    json.loads(json.dumps(data))'

# cpu_ns PID - CPU time of all its threads that live.
cpu_ns() { cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }

# closing_line BEFORE - the number behind these words in the line that the recorder ends with.
closing_line() { sed -nE "s/^\[ perf churn record: .*$1([0-9.]+).*/\1/p" "$dir/log"; }

# run KIND RECORD_OPTION... - one line: CPU time in 1/100 %, bytes of the file, ratio, lost.
run() {
	local level=() recorder before after wall ratio

	[ "$1" = none ] || level=("-z$1")
	shift
	perf-churn record -e cpu-clock -o "$dir/perf.data" "${level[@]}" "$@" -p "$target" \
		-- sleep $((RUN_S + 1)) >"$dir/log" 2>&1 &
	recorder=$!
	while ! pgrep -P "$recorder" -x sleep >/dev/null; do
		sleep 0.05
	done
	before=$(cpu_ns "$recorder")
	wall=$(date +%s%N)
	sleep "$RUN_S"
	after=$(cpu_ns "$recorder")
	wall=$(($(date +%s%N) - wall))
	wait "$recorder"
	ratio=$(closing_line 'ratio is ')
	echo "$(((after - before) * 10000 / wall))" "$(stat -c %s "$dir/perf.data")" "${ratio:-1}" \
		"$(closing_line ' allocations?, ')"
}

# column KIND NR - median.
column() { awk -v i="$2" '{ print $i }' "$dir/$1" | sort -g | sed -n "$(((RUNS + 1) / 2))p"; }

# table TITLE RECORD_OPTION... - of the $target.
table() {
	local title=$1 kind i

	shift
	for ((i = 0; i < RUNS; i++)); do
		for kind in "${kinds[@]}"; do
			run "$kind" "$@" >>"$dir/$kind"
		done
	done
	printf '%-36s %10s %10s %10s %10s\n' "$title" "% of a CPU" "MB" "ratio" "lost"
	for kind in "${kinds[@]}"; do
		printf '%-36s %10s %10s %10s %10s\n' "$([ "$kind" = none ] || echo "-z$kind")" \
			"$(awk -v n="$(column "$kind" 1)" 'BEGIN { printf "%.2f", n / 100 }')" \
			"$(awk -v n="$(column "$kind" 2)" 'BEGIN { printf "%.2f", n / 1048576 }')" \
			"$(column "$kind" 3)" "$(awk '{ n += $4 } END { print n + 0 }' "$dir/$kind")"
		rm "$dir/$kind"
	done
	echo
	kill "$target"
	wait "$target" 2>/dev/null || true
	target=
}

python3 -c "$json" &
target=$!
kinds=(none 1 9 19)
table "python3, defaults"
kinds=(none 1 9)
"$OUTPUT/tests/workloads/loop" -t 2 -s 3600 >/dev/null &
target=$!
table "two threads that allocate, -c 1" -c 1
python3 -c "$json" &
target=$!
table "python3, --call-graph dwarf,65528" --call-graph dwarf,65528
echo "lost: the sum of all runs."
