#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# Recording what runs already: one process, two, its threads and children, the whole system; twice at once.

. tests/lib.sh

# churn_pids FILE - processes that churn samples belong to
churn_pids()
{
	"$PERF" script -i "$1" -F pid,event 2>/dev/null | awk '/churn:(alloc|free)/ { print $1 }' | sort -un | paste -sd' '
}

same_set()
{
	[ "$1" = "$(tr ' ' '\n' <<<"$2" | sort -n | paste -sd' ')" ]
}

# Another process of the same libc must not be touched.
test_one()
{
	local target other

	spawn "$WL/loop" -s 600 >/dev/null
	target=$spawned
	spawn "$WL/loop" -s 600 -i 50 >"$T/other.out"
	other=$spawned
	sleep 0.3
	spawn perf-churn record --budget none -c 100 -p "$target" -o "$T/data" -- sleep 1.5 2>"$T/err"
	wait_for 10 text_is "$target" patched
	check "no breakpoint in a process that is not the target" text_is "$other" same
	reap "$spawned"
	is "-p PID with a duration: status" 0 $?
	closing "-p PID: the closing line"
	is "-p PID: samples of that process only" "$target" "$(churn_pids "$T/data")"
	check "-p PID: nothing is left in the target" wait_for 5 text_is "$target" same
	check "-p PID: the target lives" kill -0 "$target"
	"$PERF" report -i "$T/data" --stdio --no-children -g none -s dso,sym >"$T/out" 2>/dev/null
	has "-p PID: what was mapped before is resolved" 'loop +\[\.\] one_pair' "$T/out"

	recorded "-p PID,PID" --budget none -c 100 -p "$target,$other" -o "$T/data" -- sleep 0.5 &&
		check "-p PID,PID: samples of both" same_set "$(churn_pids "$T/data")" "$target $other"

	spawn perf-churn record --budget none -c 50 -p "$target" -o "$T/data1" -- sleep 1 2>"$T/err1"
	record --budget none -c 100 -p "$target" -o "$T/data2" -- sleep 1
	reap "$spawned"
	is "two recorders at once: the first is fine" 0 $?
	is "two recorders at once: both have samples" "$target $target" \
		"$(churn_pids "$T/data1") $(churn_pids "$T/data2")"
	check "two recorders at once: nothing is left" wait_for 5 text_is "$target" same
	kill "$target" "$other"
	reap "$target"
	reap "$other"
}

# The target ends when it is recorded, however long that took to begin.
test_ends_first()
{
	local target

	spawn "$WL/loop" -s 600 >/dev/null
	target=$spawned
	spawn perf-churn record --budget none -c 100 -p "$target" -o "$T/data" 2>"$T/err"
	wait_for 30 text_is "$target" patched
	kill "$target"
	reap "$target"
	is "the target ends first: by our SIGTERM" 143 $?
	reap "$spawned"
	is "the target ends first: the recorder's status" 0 $?
	closing "the target ends first: so does the recording"
}

# Threads that are there, and threads that come.
test_threads()
{
	local target nr

	spawn "$WL/loop" -s 600 -t 3 >/dev/null
	target=$spawned
	sleep 0.3
	recorded "threads" --budget none -c 100 -p "$target" -o "$T/data" -- sleep 0.7 &&
		is "all threads of a running process" 3 "$("$PERF" script -i "$T/data" -F tid,event 2>/dev/null |
			awk '/churn:alloc/ { print $1 }' | sort -u | wc -l)"
	kill "$target"
	reap "$target"

	mkfifo "$T/go"
	exec 5<>"$T/go"
	spawn /bin/sh -c "read -r go; '$WL/threads4' 2000; '$WL/exact23'; true" <&5
	target=$spawned
	spawn perf-churn record --method uprobe-event -c 1 -p "$target" -o "$T/data" 2>"$T/err"
	wait_for 30 text_is "$target" patched
	echo >&5
	exec 5>&-
	reap "$target"
	reap "$spawned"
	is "children: the recorder's status" 0 $?
	nr=$("$PERF" script -i "$T/data" --comm threads4 -F event,ip,sym -G 2>/dev/null | grep -c 'churn:alloc.*one_batch')
	is "children and threads that come later are followed" 20000 "$nr"
	nr=$("$PERF" script -i "$T/data" --comm exact23 -F event,ip,sym -G 2>/dev/null | grep -c 'churn:alloc.*leaf')
	is "each child from its first allocation" 23 "$nr"
}

test_system()
{
	local target

	spawn "$WL/loop" -s 600 -b 48 >/dev/null
	target=$spawned
	sleep 0.2
	if recorded "-a" --budget none -a -c 100 -o "$T/data" -- sleep 0.5; then
		closing "-a: the closing line"
		check "-a: the busy process is in it" grep -qw "$target" <<<"$(churn_pids "$T/data")"
		"$PERF" report -i "$T/data" --stdio --no-children -g none -s comm,sym >"$T/out" 2>"$T/err"
		has "-a: and resolved" 'loop +\[\.\] one_pair' "$T/out"
	fi
	check "-a: nothing is left" wait_for 5 text_is "$target" same
	kill "$target"
	reap "$target"
}

need_tracing
test_one
test_ends_first
test_threads
test_system
finish
