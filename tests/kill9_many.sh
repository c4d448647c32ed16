#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# kill -9 at a random moment, of the recorder or of the target: the other one is unharmed, nothing stays
# behind, and the file can be read. KILLS=200 kills more often (default: 40), SEED=N repeats the moments.

. tests/lib.sh

KILLS=${KILLS:-40}
SEED=${SEED:-$RANDOM}
AT_ONCE=4
# From its start the target runs for so long, if nothing slows it down.
TARGET_MS=500
BUSY_MS=700

# Everything of one kill is in its own folder $K: the target's pid and output, the recorder's, the data.

# lives PID - and is no zombie
lives()
{
	[ -e "/proc/$1" ] && ! is_zombie "$1"
}

gone()
{
	! lives "$1"
}

# wrong TEXT - of this kill; the test fails with it
wrong()
{
	echo "$*" >>"$K/wrong"
}

sleep_ms()
{
	sleep "$(printf '0.%03d' "$1")"
}

# The last thing that the shell which ran the target has written.
target_said()
{
	[ "$(cat "$K/out" 2>/dev/null)" = "$WANT" ]
}

# run_target [PREFIX] - by a shell that notes the target's status
target_command()
{
	# shellcheck disable=SC2016
	target=(/bin/sh -c '"$@" >"$0"; echo "status $?" >>"$0"' "$K/out" "$@" "$WL/steady" "$TARGET_MS" "$K/pid")
}

target_pid()
{
	sed -n 's/^pid //p' "$K/pid" 2>/dev/null
}

start_recorder()
{
	perf-churn record -o "$K/data" "$@" >"$K/rec.out" 2>"$K/rec.err" &
	recorder=$!
}

# start_CASE - target and recorder; $recorder
start_preload()
{
	target_command
	start_recorder --method preload -c 10 -- "${target[@]}"
}

start_running()
{
	"${target[@]}" &
	wait_for 20 test -s "$K/pid" || wrong "the target does not start"
	start_recorder "$@" -p "$(target_pid)"
}

start_uprobe()
{
	target_command
	start_running --method uprobe -c 10
}

start_run()
{
	target_command perf-churn run --
	start_running --method preload
}

# A target that was not started yet never is; one that was ends as it should.
judge_target()
{
	[ -s "$K/out" ] || [ -s "$K/pid" ] || [ "$1" != preload ] || return
	wait_for 20 target_said || wrong "the target: $(paste -sd' ' <"$K/out")"
}

no_text_of_ours()
{
	local pid

	pid=$(target_pid)
	[ -z "$pid" ] || gone "$pid" || text_is "$pid" same
}

no_process_of_ours()
{
	! pgrep -f -- "$K/" >/dev/null
}

judge_rests()
{
	wait_for 20 no_process_of_ours || wrong "still there: $(pgrep -af -- "$K/" | paste -sd' ')"
	! grep -hqsE "churn.*[^0-9]$recorder[^0-9]" /sys/kernel/tracing/uprobe_events || wrong "a trace event stays"
	[ -z "$(find /sys/fs/bpf -newer "$K/start" -name '*churn*' 2>/dev/null)" ] || wrong "something is pinned"
	[ -z "$(ls -A "$K/tmp")" ] || wrong "temporary files: $(ls "$K/tmp")"
}

# reads COMMAND - a status of 0, and no complaint
reads()
{
	timeout -k 5 "$LIMIT_S" "$@" >"$K/read.out" 2>"$K/read.err" || {
		wrong "$1 $2: status $?, $(head -n 2 "$K/read.err")"
		return
	}
	! grep -Ei 'corrupt|truncated|error|segmentation' "$K/read.err" >"$K/said" || wrong "$1 $2: $(head -n 2 "$K/said")"
}

judge_file()
{
	reads "$PERF" report -i "$K/data" --stdio
	reads perf-churn report -i "$K/data"
}

# A recorder that had time for it has left a file; of others what there is is read, or refused in a line.
judge_killed_file()
{
	local status

	if [ "$1" -ge 2000 ] || grep -aqs PERFILE2 "$K/data"; then
		judge_file
		return
	fi
	perf-churn report -i "$K/data" >"$K/read.out" 2>"$K/read.err"
	status=$?
	[ $status = 1 ] && [ "$(wc -l <"$K/read.err")" = 1 ] || wrong "report of no file: status $status"
}

kill_recorder()
{
	local after=$((moment % BUSY_MS))

	start_"$1"
	sleep_ms $after
	kill -9 $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	judge_target "$1"
	# Ours may be the kernel's to remove when the recorder is gone.
	wait_for 20 no_text_of_ours || wrong "breakpoints stay"
	judge_rests
	judge_killed_file $after
}

# The recorder ends by itself: with the command's status, which is that of the shell, or 0.
kill_target()
{
	local pid status after=$((moment % TARGET_MS))

	start_"$1"
	wait_for 20 test -s "$K/pid" || wrong "the target does not start"
	pid=$(target_pid)
	sleep_ms $after
	kill -9 "$pid" 2>/dev/null
	wait_for 30 gone $recorder || {
		wrong "the recorder does not end"
		kill -9 $recorder
	}
	wait $recorder
	status=$?
	if [ $status = 0 ]; then
		judge_file
	elif [ $status != 1 ] || [ "$(wc -l <"$K/rec.err")" != 1 ]; then
		wrong "the recorder: status $status, $(head -n 3 "$K/rec.err")"
	fi
	judge_rests
}

# one_kill NR - with its own random numbers
one_kill()
{
	local cases=(preload uprobe run) victims=(recorder target) which victim moment

	K=$T/$1
	mkdir -p "$K/tmp"
	touch "$K/start"
	export TMPDIR=$K/tmp
	RANDOM=$((SEED + $1))
	moment=$RANDOM
	which=${cases[$1 % 3]}
	victim=${victims[$1 / 3 % 2]}
	echo "$which, $victim killed" >"$K/name"
	kill_$victim "$which"
	if [ -e "$K/wrong" ]; then
		diag "$which, $victim, moment $moment (kill $1): $(head -n 5 "$K/wrong")"
		diag_file "$K/rec.err" 5
	else
		rm -rf "$K/data" "$K/tmp"
	fi
}


judge_case()
{
	local name=$1 nr wrongs

	nr=$(cat "$T"/*/name | grep -cx "$name")
	wrongs=$(grep -lx "$name" "$T"/*/name | while read -r file; do ls "${file%/name}/wrong" 2>/dev/null; done | wc -l)
	is "$name: of $nr kills none did harm" 0 "$wrongs"
}

need_tracing
diag "SEED=$SEED KILLS=$KILLS"
WANT=$("$WL/steady" "$TARGET_MS"; echo "status $?")
for ((i = 0; i < KILLS; i += AT_ONCE)); do
	for ((j = i; j < i + AT_ONCE && j < KILLS; j++)); do
		one_kill $j &
	done
	wait
done
for which in preload uprobe run; do
	for victim in recorder target; do
		judge_case "$which, $victim killed"
	done
done
check "no trace event stays behind" wait_for 20 eval '! grep -qs perf_churn_ /sys/kernel/tracing/uprobe_events'
finish
