#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# kill -9 of the recorder: the target does not notice, no breakpoint stays in its text, and the file can
# be read up to the last checkpoint, by stock perf and by us.

. tests/lib.sh

# median FILE FROM TO - of the "rate N" lines FROM to TO
median()
{
	sed -n "s/^rate //p" "$1" | sed -n "$2,$3p" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] + 0 }'
}

lines()
{
	wc -l <"$1"
}

at_least()
{
	[ "$(lines "$1")" -ge "$2" ]
}

# Another recorder may be at work on this machine: only those with the number of ours count.
no_event_of()
{
	! grep -hqE "churn.*[^0-9]$1[^0-9]" /sys/kernel/tracing/uprobe_events /sys/kernel/debug/tracing/uprobe_events
}

readable()
{
	check "$1: stock perf reads the file" "$PERF" report -i "$T/data" --stdio >"$T/out" 2>"$T/err"
	has "$1: stock perf finds churn:alloc samples" "of event 'churn:alloc'" "$T/out"
	lacks "$1: stock perf warns of nothing" '[Ww]arning|WARNING|corrupt|truncated|[Ee]rror' "$T/err"
	check "$1: perf churn report reads the file" report -i "$T/data"
	has "$1: perf churn report shows the site" 'one_pair' "$T/out"
	has "$1: it says that this is not all" '^# warning  : the recording was cut short: the recorder was killed' "$T/out"
	is "$1: so does the JSON" True "$(json "$T/data" recording.truncated)"
	check "$1: --strict fails" test "$(report --strict -i "$T/data"; echo $?)" = 1
}

attached_to_running()
{
	local target recorder nr before after

	spawn "$WL/loop" -s 60 -i 100 >"$T/loop.out"
	target=$spawned
	wait_for 10 at_least "$T/loop.out" 8 || { fail "the target runs"; return; }
	spawn perf-churn record --budget none -c 10 -p "$target" -o "$T/data" 2>"$T/rec.err"
	recorder=$spawned
	if ! wait_for 10 text_is "$target" patched; then
		fail "the recorder attaches"
		diag_file "$T/rec.err"
		kill "$recorder" "$target"
		return
	fi
	nr=$(lines "$T/loop.out")
	sleep 2.5
	kill -9 "$recorder"
	reap "$recorder" 2>/dev/null
	check "no trace event of it stays behind" wait_for 5 no_event_of "$recorder"
	check "no breakpoint stays in the target's text" wait_for 5 text_is "$target" same
	before=$(median "$T/loop.out" 1 $((nr - 2)))
	nr=$(lines "$T/loop.out")
	wait_for 10 at_least "$T/loop.out" $((nr + 14))
	after=$(median "$T/loop.out" $((nr + 3)) $((nr + 14)))
	# Other work on the machine moves it, by half at times; a breakpoint left would cost a factor of 50.
	check "the target is as fast as before ($before, then $after pairs/s)" test "$((after * 100))" -ge "$((before * 30))"
	check "the target lives" kill -0 "$target"
	grep -v "^rate [0-9][0-9]*$" "$T/loop.out" >"$T/odd"
	is "the target's output is unharmed" "" "$(cat "$T/odd")"
	kill "$target"
	reap "$target"
	is "the target ended by our SIGTERM, not before" 143 $?
	readable "kill -9 of an attached recorder"
}

launched()
{
	local recorder child

	rm -f "$T/data"
	spawn perf-churn record --method uprobe-event -c 10 -o "$T/data" -- "$WL/loop" -s 5 -i 100 >"$T/launched.out" 2>"$T/rec.err"
	recorder=$spawned
	wait_for 10 at_least "$T/launched.out" 25 || { fail "a launched command runs"; diag_file "$T/rec.err"; return; }
	child=$(pgrep -P "$recorder" -x loop)
	kill -9 "$recorder"
	reap "$recorder" 2>/dev/null
	check "no trace event of it stays behind" wait_for 5 no_event_of "$recorder"
	check "a launched command survives its recorder" test -d "/proc/$child"
	# The kernel closes a dead recorder's events one by one, each after grace periods: seconds.
	check "no breakpoint stays in its text" wait_for 20 text_is "$child" same
	check "it runs to its end" wait_for 15 grep -q '^loop: ' "$T/launched.out"
	readable "kill -9 of a launching recorder"
}

no_events_left()
{
	! grep -qs perf_churn_ /sys/kernel/tracing/uprobe_events
}

need_tracing
attached_to_running
launched
wait_for 20 no_events_left
finish
