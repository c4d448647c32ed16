#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench-stacks.sh [PART...] - what callchains cost: walked in the kernel, by frame pointers, as copies.
#
# Parts, all of them by default:
#   walk       time of a stack inside BPF programs, on stacks of a known depth
#   recorder   time of a stack in the recorder's own programs, on clang
#   cpu        CPU time of the recorder, and samples lost at a high rate
#   tables     time and memory that tables take
#   memory     memory of the recorder
#   files      size of the same recording with each kind of callchain
#
#   RUNS    runs of each, the median is shown (default: 5)
set -eu
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
RUNS=${RUNS:-5}
PATH=$(realpath -m "$OUTPUT"):$PATH
scripts/can-record.sh || exit 1

bench=$OUTPUT/tests/bench
busy=$OUTPUT/tests/workloads/busy
dir=$(mktemp -d "${TMPDIR:-/tmp}/perf-churn-bench.XXXXXX")
BPF_PROG_TYPE_PERF_EVENT=7
stats_before=
jobs_started=()

clean_up() {
	[ -z "$stats_before" ] || sysctl -q kernel.bpf_stats_enabled="$stats_before"
	[ ${#jobs_started[@]} -eq 0 ] || kill "${jobs_started[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT

median() { sort -g | sed -n "$(((RUNS + 1) / 2))p"; }

# ratio A B FORMAT
ratio() { awk -v a="$1" -v b="$2" -v f="$3" 'BEGIN { printf f, b ? a / b : 0 }'; }

# cpu_ns PID - CPU time of all its threads that live.
cpu_ns() { cat /proc/"$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }

# closing_line FILE WORD - the number before WORD in the line that the recorder ends with.
closing_line() { sed -n "s/^\[ perf churn record: .*[ (]\([0-9.]*\) $2.*/\1/p" "$1"; }

# Small: what makes clang long are its allocations, each a trap or two.
write_source() {
	cat >"$dir/source.c" <<'C'
#include <stdio.h>

int main(void)
{
	return printf("a\n") < 0;
}
C
}

compile=(clang -fintegrated-cc1 -O2 -c -o /dev/null "$dir/source.c")

# cpu_program_ns PID - ns a run of the BPF program on the CPU events that it holds.
cpu_program_ns() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '
		/^prog_type:/ { type = $2 } /^run_time_ns:/ { ns = $2 }
		/^run_cnt:/ && type == '"$BPF_PROG_TYPE_PERF_EVENT"' && $2 { print ns / $2; exit }'
}

# user_frames FILE - user frames a CPU sample of the recording, on average.
user_frames() {
	perf script -i "$1" -F ip,event 2>/dev/null | awk '
		/^ *[a-z].*:/ { cpu = !/churn:/; nr += cpu; next }
		NF && cpu && $1 !~ /^ffff/ { frames++ }
		END { printf "%.1f\n", nr ? frames / nr : 0 }'
}

# program_row TITLE COMMAND... - The programs are gone with the recorder: ask while it waits for the last
# of its command.
program_row() {
	local title=$1 pid i ns frames

	shift
	rm -f "$dir/stats"
	for ((i = 0; i < RUNS; i++)); do
		rm -f "$dir/done"
		# shellcheck disable=SC2016
		perf-churn record -q -e cpu-clock -F 2000 -o "$dir/perf.data" -- \
			sh -c 'done=$1; shift; "$@"; touch "$done"; sleep 2' sh "$dir/done" "$@" \
			>/dev/null 2>&1 &
		pid=$!
		while [ ! -e "$dir/done" ] && kill -0 "$pid" 2>/dev/null; do
			sleep 0.1
		done
		ns=$(cpu_program_ns "$pid")
		wait "$pid" || true
		frames=$(user_frames "$dir/perf.data")
		echo "$ns $frames $(ratio "$ns" "$frames" %.1f)" >>"$dir/stats"
	done
	printf '%-32s %10.0f %10s %10s\n' "$title" "$(awk '{ print $1 }' "$dir/stats" | median)" \
		"$(awk '{ print $2 }' "$dir/stats" | median)" "$(awk '{ print $3 }' "$dir/stats" | median)"
}

part_recorder() {
	stats_before=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -q kernel.bpf_stats_enabled=1
	printf '%-32s %10s %10s %10s\n' "recorder's CPU program" "ns a run" "frames" "ns/frame"
	program_row "busy, recursion of 8" "$busy" 2 8 2000
	program_row "busy, recursion of 34" "$busy" 2 34 2000
	program_row "clang" "${compile[@]}"
	sysctl -q kernel.bpf_stats_enabled="$stats_before"
	stats_before=
}

part_walk() { "$bench/stacks_bench" -r "$RUNS"; }

# await_start RECORDER - until its command runs: all is loaded then.
await_start() {
	local pid

	while kill -0 "$1" 2>/dev/null; do
		# shellcheck disable=SC2013
		for pid in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
			[ "$(cat /proc/"$pid"/comm 2>/dev/null)" != sleep ] || return 0
		done
		sleep 0.05
	done
}

# busy_run NAME SECONDS RECORD_OPTION... - the middle of a recording of two busy threads.
busy_run() {
	local name=$1 seconds=$2 target recorder before after wall

	shift 2
	"$busy" 2 20 $((seconds * 1000 + 60000)) 1 &
	target=$!
	jobs_started+=("$target")
	perf-churn record -o "$dir/perf.data" "$@" -p "$target" -- sleep $((seconds + 1)) \
		>"$dir/log" 2>&1 &
	recorder=$!
	await_start "$recorder"
	before=$(cpu_ns "$recorder")
	wall=$(date +%s%N)
	sleep "$seconds"
	after=$(cpu_ns "$recorder")
	wall=$(($(date +%s%N) - wall))
	wait "$recorder" || true
	kill "$target" 2>/dev/null || true
	wait "$target" 2>/dev/null || true
	echo "$(ratio $(((after - before) * 100)) "$wall" %.2f)" "$(closing_line "$dir/log" cpu-clock)" \
		"$(closing_line "$dir/log" churn:alloc)" "$(closing_line "$dir/log" lost)" >>"$dir/$name"
}

# busy_row NAME TITLE - medians of what busy_run left.
busy_row() {
	local i row=()

	for i in 1 2 3 4; do
		row+=("$(awk -v i=$i '{ print $i }' "$dir/$1" | median)")
	done
	printf '%-32s %10s %10s %10s %10s\n' "$2" "${row[@]}"
}

part_cpu() {
	local i

	printf '%-32s %10s %10s %10s %10s\n' "two busy threads" "% of a CPU" "samples" "allocs" "lost"
	for ((i = 0; i < RUNS; i++)); do
		busy_run auto 5 -e cpu-clock -F 1000
		busy_run fp 5 -e cpu-clock -F 1000 --call-graph fp
		busy_run dwarf 5 -e cpu-clock -F 1000 --call-graph dwarf
		busy_run fast 5 -e cpu-clock -F 5000
	done
	busy_row auto "-F 1000"
	busy_row fp "-F 1000 --call-graph fp"
	busy_row dwarf "-F 1000 --call-graph dwarf"
	busy_row fast "-F 5000"
}

# clang that waits for its source: all its files are mapped.
part_tables() {
	local pid

	mkfifo "$dir/fifo"
	sleep 60 >"$dir/fifo" &
	jobs_started+=($!)
	clang++ -fintegrated-cc1 -x c++ -c -o /dev/null - <"$dir/fifo" 2>/dev/null &
	pid=$!
	jobs_started+=("$pid")
	sleep 1
	"$bench/tables_bench" -r "$RUNS" -p "$pid"
	kill "$pid"
}

# memory_of PID - KB: resident, of that anonymous, of that BPF maps; and all maps it has open.
memory_of() {
	awk '/^[0-9a-f]+-/ { bpf = /bpf-map/ } /^Rss:/ { rss += $2; if (bpf) map += $2 }
		/^Anonymous:/ { anon += $2 } END { printf "%d %d %d ", rss, anon, map }' \
		/proc/"$1"/smaps
	cat /proc/"$1"/fdinfo/* | awk '/^pos:/ { bytes = 0 } /^memlock:/ { bytes = $2 }
		/^map_id:/ { held[$2] = bytes }
		END { for (id in held) sum += held[id]; printf "%d\n", sum / 1024 }'
}

# memory_row TITLE RECORD_ARGUMENT... - each at its largest.
memory_row() {
	local title=$1 pid

	shift
	perf-churn record -q -o "$dir/perf.data" "$@" >/dev/null 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		memory_of "$pid" 2>/dev/null || true
		sleep 0.2
	done | awk -v title="$title" '
		{ for (i = 1; i <= NF; i++) if ($i > max[i]) max[i] = $i }
		END { printf "%-32s %10d %10d %10d %10d\n", title, max[1], max[2], max[3], max[4] }'
	wait "$pid" || true
}

part_memory() {
	printf '%-32s %10s %10s %10s %10s\n' "recorder, KB" "RSS" "anonymous" "BPF mapped" "BPF held"
	memory_row "true" -- true
	memory_row "true, fp" --call-graph fp -- true
	memory_row "clang" -- "${compile[@]}"
	memory_row "clang, fp" --call-graph fp -- "${compile[@]}"
	memory_row "-a" -a -- sleep 5
	memory_row "-a, fp" -a --call-graph fp -- sleep 5
}

# files_row TITLE COMMAND... - MB under each kind.
files_row() {
	local title=$1 kind bytes=() lost

	shift
	for kind in auto fp dwarf,8192 dwarf,65528; do
		perf-churn record -m 256M -o "$dir/perf.data" --call-graph "$kind" "${options[@]}" -- "$@" \
			>"$dir/log" 2>&1 || true
		lost=$(closing_line "$dir/log" lost)
		bytes+=("$(stat -c %s "$dir/perf.data")")
		[ "${lost:-0}" = 0 ] || echo "note: $title, $kind: $lost samples lost"
		rm -f "$dir/perf.data"
	done
	printf '%-32s' "$title"
	for kind in 0 1 2 3; do
		printf ' %10s' "$(ratio "${bytes[kind]}" 1048576 %.2f)"
	done
	printf '\n%-32s' "  as parts of auto"
	for kind in 0 1 2 3; do
		printf ' %10s' "$(ratio "${bytes[kind]}" "${bytes[0]}" %.2f)"
	done
	printf '\n'
}

part_files() {
	local options

	printf '%-32s %10s %10s %10s %10s\n' "file, MB" auto fp "dwarf,8192" "dwarf,65528"
	options=(-c 1)
	files_row "deep 34 1000, -c 1" "$OUTPUT/tests/workloads/deep" 34 1000
	options=(-c 100)
	files_row "clang, -c 100" "${compile[@]}"
}

write_source
[ $# -gt 0 ] || set -- walk recorder cpu tables memory files
for part; do
	"part_$part"
	echo
done
