#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# Traps that other tools fell into: the missing caller, samples of nobody, silent losses, old heaps,
# probes that never fire.

. tests/lib.sh

# chains FILE - one line per churn:alloc sample: its symbols from the inside out
chains()
{
	"$PERF" script -i "$1" -F event,ip,sym 2>/dev/null | awk '
		/^ *churn:alloc/ { on = 1; line = ""; next }
		/^ *[a-z-]+:/ && !/^ *[0-9a-f]+ / { on = 0 }
		NF == 0 { if (on) print line; on = 0 }
		on && NF >= 2 { line = line (line == "" ? "" : " ") $2 }'
}

test_caller()
{
	local method fn want

	for method in auto uprobe-session uprobe-multi uprobe-event; do
		recorded "the caller, $method" --method $method -g -c 1 -o "$T/data" "$WL/exact23" || continue
		is "exact23, $method: each stack is leaf mid main, each once" "23 leaf mid main" \
			"$(chains "$T/data" | awk '{ print $1, $2, $3; for (i = 4; i <= NF; i++) if ($i ~ /^(leaf|mid|main)$/) print "again:", $i }' |
				sort | uniq -c | awk '{ $1 = $1 } 1')"
	done
	recorded "the caller, family" -g -c 1 -o "$T/data" "$WL/family" 10 || return
	chains "$T/data" >"$T/chains"
	is "calloc, memalign and family: succeeds is in each stack, once, and first" "110" \
		"$(awk '$1 == "succeeds" && $2 == "main" && gsub(/succeeds/, "&") == 1' "$T/chains" | wc -l)"
	is "and these are all stacks" 110 "$(wc -l <"$T/chains")"
	recorded "the caller, realloc" -g -c 1 -o "$T/data" "$WL/realloc_heavy" 10 || return
	chains "$T/data" >"$T/chains"
	for fn in grow_moving:190 stay_in_place:30 from_null:10 size_zero:10 too_big:10 mapped:3; do
		want=${fn#*:}
		fn=${fn%:*}
		is "realloc: $fn is first in $want stacks" "$want" \
			"$(awk -v fn="$fn" '$1 == fn && gsub(fn, "&") == 1' "$T/chains" | wc -l)"
	done
	recorded "deep recursion" -g -c 1 -o "$T/data" "$WL/deep" 100 50 || return
	is "100 frames of recursion are all there" "50 of 100" \
		"$(chains "$T/data" | awk '{ print gsub(/dive/, "&") }' | sort | uniq -c | awk '{ print $1 " of " $2 }')"
	report -i "$T/data"
	has "the report says how many stacks were repaired" '[Rr]epaired' "$T/out"
}

test_sample_identity()
{
	local pid

	recorded "samples" -g -c 1 -o "$T/data" "$WL/threads4" 500 || return
	check "every churn sample: pid, tid, user cpumode, time, ip in a mapping, chain" \
		check_samples "$T/data"
	pid=$("$PERF" script -i "$T/data" -F pid,event 2>/dev/null | awk '/churn:alloc/ { print $1 }' | sort -u)
	check "all of one process" test "$(wc -w <<<"$pid")" = 1
	is "each thread has its own" "500 1000 1500 2000" "$("$PERF" script -i "$T/data" -F tid,event,sym,ip -G 2>/dev/null |
		awk '/churn:alloc/ && /one_batch/ { n[$1]++ } END { for (t in n) print n[t] }' | sort -n | paste -sd' ')"
	"$PERF" report -i "$T/data" --stdio --no-children -g none -s dso,sym >"$T/out" 2>"$T/err"
	awk '/^# Samples/ { on = /churn:/ } on && /%/' "$T/out" >"$T/churn"
	check "stock perf names something" test -s "$T/churn"
	lacks "nothing is on [unknown] or in a BPF program" 'unknown|bpf_prog|\[\.\] 0x' "$T/churn"
	check "time order: no sample is older than its round allows" check_rounds "$T/data"

	recorded "inherited blocks" -c 1 -o "$T/data" "$WL/inherited" &&
		is "a child's frees of blocks that its parent has are marked so" "23 23" \
			"$(tally "$T/data" total.free_inherited total.free_unseen | paste -sd' ')"
	recorded "blocks of vfork's children" -c 1 -o "$T/data" "$WL/vforker" &&
		is "a vfork child's block is its parent's: no free of an unseen one" "23 23 0" \
			"$(tally "$T/data" total.allocs total.frees total.free_unseen | paste -sd' ')"
	recorded "cross-thread frees" -c 1 -o "$T/data" "$WL/crossfree" 2000 &&
		is "each free by another thread is marked so" 2000 "$(tally "$T/data" total.free_cross_thread)"
}

check_samples()
{
	python3 tests/perfdata.py check "$1" >"$T/check" || { diag_file "$T/check"; return 1; }
}

check_rounds()
{
	python3 tests/perfdata.py rounds "$1" >"$T/check" || { diag_file "$T/check"; return 1; }
}

# Libraries of a distribution keep no frame pointers: every stack must reach the start all the same.
test_dwarf()
{
	local target

	recorded "dwarf stacks" --call-graph dwarf -c 1 -o "$T/data" "$WL/exact23" || return
	is "dwarf: each stack is leaf mid main, each once, down to _start" "23 leaf mid main _start" \
		"$(chains "$T/data" | awk '{ print $1, $2, $3, $NF }' | sort | uniq -c | awk '{ $1 = $1 } 1')"
	command -v xmllint >/dev/null || return
	python3 -c 'print("<l>" + "".join("<i a=\"%d\"><n>n%d</n></i>" % (i, i) for i in range(400000)) + "</l>")' >"$T/big.xml"
	spawn xmllint --format "$T/big.xml" >/dev/null
	target=$spawned
	sleep 0.2
	recorded "dwarf stacks, attached" --budget none --call-graph dwarf -c 1000 -p "$target" -o "$T/data" -- sleep 1
	kill "$target" 2>/dev/null
	reap "$target"
	"$PERF" script -i "$T/data" -F event,ip,sym 2>/dev/null | awk '
		/churn:alloc|cpu-clock|cycles/ { n++ }
		/__libc_start_call_main/ { whole++ }
		END { print "# " whole + 0 " of " n + 0; exit !(n > 50 && whole >= n * 0.95) }' >"$T/stacks"
	check "dwarf, attached: 95 % of all stacks of xmllint reach the start" test $? = 0 || diag_file "$T/stacks"
}

test_full_rings()
{
	local status=0 lost

	# Two threads at full rate against rings of one page.
	recorded "full rings" -c 1 -m 1 -o "$T/data" "$WL/loop" -n 80000 -t 2 || return
	lost=$(sed -n 's/.*; [0-9]* allocations, \([0-9]*\) lost.*/\1/p' "$T/err")
	check "full rings: the closing line counts them (${lost:-none})" test "${lost:-0}" -gt 0
	has "full rings: says what filled up" '[Rr]ing|[Bb]uffer' "$T/err"
	lacks "full rings: no advice on stack copies where there are none" 'dwarf' "$T/err"
	is "full rings: the totals are exact all the same" "160000" \
		"$(tally "$T/data" windows.total.nr_allocs | awk '{ print ($1 >= 160000 && $1 <= 160002) ? 160000 : $1 }')"
	check "full rings: the file says so, by cause" test "$(tally "$T/data" windows.total.nr_lost_output)" -gt 0
	report -i "$T/data"
	has "full rings: the report says so" '[Ll]ost' "$T/out"
	has "full rings: numbers are marked as lower bounds" '[Ll]ower bound|at least|>=|≥' "$T/out"
	check "full rings: --json says so" test "$(json "$T/data" recording.lost.churn_events)" -gt 0
	recorded "full rings of stack copies" -c 1 -m 4 --call-graph dwarf -o "$T/data" "$WL/loop" -n 20000 -t 2
	has "full rings of stack copies: smaller copies are advised" 'samples lost: a ring was full.*--call-graph dwarf,2048' "$T/err"
	record --strict -c 1 -m 1 -o "$T/data" "$WL/loop" -n 80000 -t 2 || status=$?
	check "full rings: --strict makes it an error (status $status)" test $status -ne 0 -a $status -lt 124
	has "full rings: --strict says why" '[Ll]ost' "$T/err"
	recorded "--strict without losses" --strict -c 1 -o "$T/data" "$WL/exact23" &&
		pass "--strict is content when nothing is lost"
}

test_full_maps()
{
	local status=0

	recorded "full maps" -c 1 --max-blocks 64 -o "$T/data" "$WL/lifetimes" || return
	has "full maps: the closing line counts them" '; 617 allocations, [1-9][0-9]* lost' "$T/err"
	has "full maps: says what filled up and what to raise" 'max-blocks' "$T/err"
	check "full maps: the file says so, by cause" test "$(tally "$T/data" windows.total.nr_lost_map)" -gt 0
	report -i "$T/data"
	has "full maps: the report says so" '[Ll]ost' "$T/out"
	record --strict -c 1 --max-blocks 64 -o "$T/data" "$WL/lifetimes" || status=$?
	check "full maps: --strict makes it an error (status $status)" test $status -ne 0 -a $status -lt 124
}

test_old_heap()
{
	local target recorder

	mkfifo "$T/fifo"
	exec 8<>"$T/fifo"
	spawn "$WL/oldheap" 3000 7000 <"$T/fifo" >"$T/oldheap.out"
	target=$spawned
	wait_for 10 grep -q ready "$T/oldheap.out"
	spawn perf-churn record -c 1 -g -p "$target" -o "$T/data" >/dev/null 2>"$T/err"
	recorder=$spawned
	wait_for 10 text_is "$target" patched
	sleep 0.3
	echo >&8
	wait_for 10 grep -q 'done' "$T/oldheap.out"
	kill -INT "$recorder"
	reap "$recorder"
	echo >&8
	reap "$target"
	exec 8>&-
	is "an old heap: allocations, frees, frees of blocks never seen" "7000 10000 3000" \
		"$(tally "$T/data" windows.total.nr_allocs windows.total.nr_frees windows.total.nr_free_unseen | paste -sd' ')"
	is "an old heap: the samples say the same" "7000 10000 3000" \
		"$(tally "$T/data" total.allocs total.frees total.free_unseen | paste -sd' ')"
	report -i "$T/data"
	has "an old heap: the report counts them apart" 'allocated before.*3,?000|3,?000.*allocated before' "$T/out"
	is "an old heap: nothing is live, and never less" 0 "$(json "$T/data" totals.live_allocs)"
	lacks "an old heap: no negative number" '[ (]-[0-9]' "$T/out"
	has "an old heap: the new site is named" 'new_site' "$T/out"
	lacks "an old heap: the old site is not" 'old_site' "$T/out"
}

test_lifetimes()
{
	recorded "lifetimes" -c 1 -g -o "$T/data" "$WL/lifetimes" || return
	"$PERF" script -i "$T/data" -F event,trace 2>/dev/null |
		sed -n 's/.*churn:free:.* size=\([0-9]*\).*lifetime_ns=\([0-9]*\).*/\1 \2/p' >"$T/lives"
	is "lifetimes: as the program held its blocks" "400 100 100" "$(awk '
		$1 == 40 && $2 < 50000000 { s++ }
		$1 == 140 && $2 >= 5000000 && $2 < 150000000 { m++ }
		$1 == 1100 && $2 >= 200000000 && $2 < 600000000 { l++ }
		END { print s + 0, m + 0, l + 0 }' "$T/lives")"
	is "lifetimes: 17 blocks are still live" 17 "$(json "$T/data" totals.live_allocs)"
}

test_silent()
{
	local status=0 target

	recorded "a program that allocates nothing" -c 1 -o "$T/data" "$WL/noalloc" || return
	has "no hits: record says so, with the object" 'libc\.so.*[Nn]o hits|[Nn]o hits.*libc\.so' "$T/err"
	has "no hits: and what it may mean" 'does not allocate, or uses an allocator of its own' "$T/err"
	report -i "$T/data"
	has "no hits: the report says so, too" '[Nn]o hits' "$T/out"
	report --json -i "$T/data"
	check "no hits: --json is well formed" python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["totals"]["allocs"] == 0' "$T/out"

	recorded "a program that ends at once" -e cpu-clock -o "$T/data" true
	check "a program that ends at once: nothing is suspected" one_line "$T/err"
	recorded "a program that sleeps" -e cpu-clock -D 100 -o "$T/data" sleep 0.3
	check "a program that sleeps: nothing is suspected" one_line "$T/err"

	for target in bump_static loop_stripped; do
		status=0
		record -c 1 -o "$T/data" "$WL/$target" || status=$?
		check "$target: fails, for there is nothing to hook (status $status)" test $status -ne 0 -a $status -lt 124
		has "$target: says that there is no known allocator" '[Nn]o (known )?allocator' "$T/err"
		has "$target: says what was searched for" 'glibc|malloc' "$T/err"
	done
	spawn "$WL/bump_static"
	target=$spawned
	status=0
	record -c 1 -o "$T/data" -p "$target" -- sleep 0.1 || status=$?
	check "attached to a static program: fails (status $status)" test $status -ne 0 -a $status -lt 124
	has "attached to a static program: says why" '[Nn]o (known )?allocator' "$T/err"
	reap "$target"
}

test_self_check()
{
	recorded "self-check" -c 1 -g -o "$T/data" "$WL/exact23" || return
	report -i "$T/data"
	has "the report has a self-check line" '[Ss]elf-check' "$T/out"
	grep -Ei -A 8 'self-check' "$T/out" >"$T/self"
	has "self-check: probes fired" '[Pp]robe' "$T/self"
	has "self-check: events lost" '[Ll]ost' "$T/self"
	has "self-check: stacks cut or repaired" '[Ss]tacks' "$T/self"
	has "self-check: frees unmatched" '[Uu]nmatched|not matched' "$T/self"
}

need_tracing
test_caller
test_sample_identity
test_dwarf
test_full_rings
test_full_maps
test_old_heap
test_lifetimes
test_silent
test_self_check
finish
