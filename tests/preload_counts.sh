#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# The numbers of libperf-churn.so: exact counts against an independent counter, samples without
# bias, frees of what was sampled, and a rate of samples that follows the program.

. tests/lib.sh

C=$OUTPUT/tests/preload
LIMIT_S=100
NR_RUNS=200

# heard OPTIONS -- COMMAND ARGS - listen; sums in $T/sums, what else is printed in $T/out
heard()
{
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout -k 5 "$LIMIT_S" "$OUTPUT/tests/preload_listener" ${options[@]+"${options[@]}"} "$L" "$@" >"$T/all" 2>"$T/err"
	status=$?
	grep '^{"pid"' "$T/all" >"$T/sums"
	grep -v '^{"pid"' "$T/all" >"$T/out"
}

events()
{
	python3 tests/preload_events.py "$@"
}

# sums KEYS - of all processes
sums()
{
	tail -n 1 "$T/sums" | python3 -c '
import json, sys
line = json.load(sys.stdin)
print(*(line[key] for key in sys.argv[1:]))' "$@"
}

# true_counts NAME COMMAND ARGS - the same as counter.so has. Ours comes first: reallocarray of the
# one behind would call realloc past the counter.
true_counts()
{
	local name=$1

	shift
	rm -f "$T"/count.*
	heard -- "$OUTPUT/tests/with_counter" "$L:$OUTPUT/tests/counter.so${BEHIND:-}" "$T/count" "$@"
	"$OUTPUT/tests/counter_dump" "$T"/count.* >"$T/truth"
	is "$name: counts are true" "equal" "$(events truth "$T/sums" "$T/truth")"
}

# all_true COMMAND ARGS - however few calls are samples
all_true()
{
	local name

	name="$(basename "$1") ${*:2}"
	PERF_CHURN_COUNT=1 true_counts "$name, all" "$@"
	is "$name, all: each is a sample" "$(sums allocs) 0 0 0" "$(sums weight lost lost_map lost_inflight)"
	PERF_CHURN_COUNT=13 true_counts "$name, one in 13" "$@"
	PERF_CHURN_COUNT=1000000 true_counts "$name, next to none" "$@"
	PERF_CHURN_BYTES=3000 true_counts "$name, one byte in 3000" "$@"
	true_counts "$name, adaptive" "$@"
}

test_truth()
{
	all_true "$WL/exact23"
	all_true "$WL/threads4" 100
	all_true "$WL/realloc_heavy" 50 2
	all_true "$WL/forkers"
	all_true "$WL/crossfree" 500
	all_true "$WL/cxx_new" 10
	all_true "$C/corners" early
	all_true "$C/corners" dlsym
	all_true "$C/corners" keys
	all_true "$C/corners" waiting 8
	all_true "$C/corners" mainexit
	all_true "$C/corners" threads 200
	all_true "$C/corners_cxx" 100
	true_counts "1000 threads" "$C/corners" threads 1000
	true_counts "10000 short threads" "$C/corners" short 10000
	# Handlers count in the middle of anything. Only an allocator that may be interrupted lets
	# them.
	BEHIND=:$C/bump.so PERF_CHURN_COUNT=3 true_counts "signals, one in 3" "$C/corners" signals
	BEHIND=:$C/bump.so true_counts "signals, adaptive" "$C/corners" signals
	# Failures are known of samples, and where they were likely.
	PERF_CHURN_COUNT=1 true_counts "family, all" "$WL/family" 10
	PERF_CHURN_COUNT=1 true_counts "failing, all" "$WL/failing" threads
	true_counts "python" python3 -S -c 'import json; print([str(i) for i in range(1000)])'
}

test_blocks()
{
	local n

	for n in 1 7; do
		PERF_CHURN_COUNT=$n heard -e "$T/events" -- env LD_PRELOAD="$L" "$WL/crossfree" 3000
		is "one in $n: frees are of what was allocated" "fine" "$(events blocks "$T/events")"
		PERF_CHURN_COUNT=$n heard -e "$T/events" -- env LD_PRELOAD="$L" "$C/corners" threads 50
		is "one in $n, threads: frees are of what was allocated" "fine" "$(events blocks "$T/events")"
		[ $n -gt 1 ] || is "one in $n, threads: all frees are heard" "$(sums frees)" "$(sums freed)"
		PERF_CHURN_COUNT=$n heard -p -e "$T/events" -- env LD_PRELOAD="$L" "$WL/realloc_heavy" 100
		is "one in $n, realloc: frees are of what was allocated" "fine" "$(events blocks "$T/events")"
	done
	PERF_CHURN_COUNT=1 heard -p -e "$T/events" -- env LD_PRELOAD="$L" "$WL/wrappers" 10
	is "the caller follows two frames of the library" "fine" "$(events frames "$T/events")"
	is "the plain hook: all was heard" "100 100" "$(sums allocs samples)"
	PERF_CHURN_COUNT=1 heard -e "$T/events" -- env LD_PRELOAD="$L" "$WL/wrappers" 10
	is "the caller follows two frames of the library, with the fast hook" "fine" \
		"$(events frames "$T/events")"
}

test_bias()
{
	LIMIT_S=200
	PERF_CHURN_COUNT=100 heard -e "$T/events" -- "$C/repeat" "$NR_RUNS" "$L" "$C/mixed"
	is "one in 100: the mean of $NR_RUNS runs" "unbiased" "$(events unbiased "$T/events" "$NR_RUNS")"
	PERF_CHURN_BYTES=4000 heard -e "$T/events" -- "$C/repeat" "$NR_RUNS" "$L" "$C/mixed"
	is "one byte in 4000: the mean of $NR_RUNS runs" "unbiased" "$(events unbiased "$T/events" "$NR_RUNS")"
	heard -e "$T/events" -- "$C/repeat" "$NR_RUNS" "$L" "$C/mixed"
	is "adaptive: the mean of $NR_RUNS runs" "unbiased" "$(events unbiased "$T/events" "$NR_RUNS")"
}

test_rates()
{
	heard -e "$T/events" -- env LD_PRELOAD="$L" "$C/rates"
	is "the rate of samples follows a rate that jumps a thousandfold" "adapted" \
		"$(events rates "$T/events" "$T/out")"
	is "blocks are followed meanwhile" "fine" "$(events blocks "$T/events")"
}

# Listeners that come and go while the program runs.
test_attach()
{
	heard -e "$T/events" -d 300 -l 500 -- env LD_PRELOAD="$L" "$WL/loop" -s 2
	is "listening for a while: the program's status" 0 "$status"
	check "listening for a while: something was heard" test "$(sums samples)" -gt 50
	is "listening for a while: frees are of what was allocated" "fine" "$(events blocks "$T/events")"
	# Weights stand for what was counted in this time, not for what was before: 5 standard
	# errors.
	check "listening for a while: what was before does not count" python3 -c '
import sys
weight, allocs, samples = map(int, sys.argv[1:])
sys.exit(abs(weight / allocs - 1) > 5 / samples ** 0.5)' $(sums weight allocs samples)

	heard -- "$OUTPUT/tests/preload_listener" -e "$T/events" -d 200 -l 300 "$L" \
		env LD_PRELOAD="$L" "$WL/loop" -n 30000000
	is "two listeners: the first one has it all" 30000000 "$(sums allocs)"
	is "two listeners: the second one has a part" "fine" "$(events blocks "$T/events")"
}

test_killed()
{
	local target

	spawn "$OUTPUT/tests/preload_listener" "$L" setsid env LD_PRELOAD="$L" "$WL/loop" -s 3
	sleep 1
	target=$(pgrep -P "$spawned" -x loop)
	kill -9 "$spawned"
	reap "$spawned"
	check "the listener is killed: the program runs on" kill -0 "$target"
	check "the listener is killed: and ends" wait_for 20 test ! -e "/proc/$target"
}

need_tracing
L=$T/libperf-churn.so
cp "$OUTPUT/libperf-churn.so" "$L"
test_truth
test_blocks
test_bias
test_rates
test_attach
test_killed >/dev/null 2>&1
finish
