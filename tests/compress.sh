#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# perf churn record -z: stock perf and we read the same out of the file, whatever ended the recording,
# and of stock perf's own compressed files, too.

. tests/lib.sh

# quiet NAME - the last stock perf had nothing to complain of
quiet()
{
	lacks "$1: stock perf warns of nothing" '[Ww]arning|WARNING|corrupt|truncated|[Ee]rror|ailed' "$T/script.err"
}

# counts FILE - allocations and frees, by stock perf
counts()
{
	echo "$(tally "$1" total.allocs) $(tally "$1" total.frees)"
}

# same_counts NAME FILE - allocations and frees by stock perf, and by our own reader
same_counts()
{
	local stock

	stock=$(counts "$2")
	quiet "$1"
	is "$1: we read what stock perf reads" "$stock" \
		"$(json "$2" self_check.alloc_samples) $(json "$2" self_check.free_samples)"
	check "$1: there is something" test "${stock%% *}" -gt 0
}

ratio_of()
{
	"$PERF" report -i "$1" --header-only 2>/dev/null | sed -n 's/^# compressed : Zstd, level = \([0-9]*\), ratio = /\1 /p'
}

test_usage()
{
	local level

	for level in 0 23 x 1x -1; do
		record "-z$level" -o "$T/refused" "$WL/exact23"
		is "-z$level: refused" 129 $?
		has "-z$level: says why" "^-z $level: must be a whole number from 1 to 22" "$T/err"
		check "-z$level: in one line" one_line "$T/err"
	done
	recorded "--no-compression-level" -z --no-compression-level -e cpu-clock -o "$T/data" "$WL/exact23"
	is "--no-compression-level: takes it back" "" "$(ratio_of "$T/data")"
	lacks "--no-compression-level: nothing is said of it" compressed "$T/err"
}

test_exact()
{
	local option level

	for option in -z -z3 --compression-level=22; do
		level=${option##*[z=]}
		recorded "$option" "$option" -c 1 -e cpu-clock -o "$T/data" "$WL/exact23"
		closing "$option: the closing line"
		has "$option: it tells the ratio" '\), compressed \(original 0\.[0-9]+ MB, ratio is [0-9.]+\) \]$' "$T/err"
		is "$option: 23 allocations and frees" "23 23" "$(counts "$T/data")"
		quiet "$option"
		is "$option: in our report, too" 23 "$(json "$T/data" totals.allocs)"
		is "$option: perf knows the level" "${level:-1}" "$(ratio_of "$T/data" | cut -d' ' -f1)"
		check "$option: and a ratio" test "$(ratio_of "$T/data" | cut -d' ' -f2)" -gt 1
	done
}

test_stock_reads()
{
	recorded "many samples" -z -c 1 -o "$T/data" "$WL/loop" -n 20000
	same_counts "many samples" "$T/data"
	is "many samples: all of them" 20000 "$(tally "$T/data" total.allocs)"
	check "many samples: the file is a quarter at most" python3 - "$T/err" <<-'END'
	import re, sys
	m = re.search(r"wrote ([0-9.]+) MB.*original ([0-9.]+) MB, ratio is ([0-9.]+)", open(sys.argv[1]).read())
	size, plain, ratio = map(float, m.groups())
	assert size * 4 < plain and ratio > 4
	END
	check "perf report" "$PERF" report -i "$T/data" --stdio >"$T/out" 2>"$T/script.err"
	has "perf report: shows who allocates" 'one_pair' "$T/out"
	quiet "perf report"
	check "perf annotate" "$PERF" annotate -i "$T/data" --stdio one_pair >"$T/out" 2>"$T/script.err"
	has "perf annotate: shows where" "Percent.*Source code .* for churn:alloc" "$T/out"
	check "our report" report -i "$T/data"
	has "our report: shows who allocates" 'one_pair' "$T/out"
	recorded "copies of stacks" -z -c 1 --call-graph dwarf,65528 -o "$T/data" "$WL/exact23"
	is "copies of stacks, a record each" "23 23" "$(counts "$T/data")"
	has "copies of stacks: are unwound" 'main' <("$PERF" script -i "$T/data" 2>/dev/null)
	check "copies of stacks: our report" report -i "$T/data"
}

test_cut()
{
	local i before=0 now

	recorded "a file to cut" -z -c 1 -o "$T/data" "$WL/loop" -n 20000
	for i in 50 75 98; do
		head -c $(($(stat -c %s "$T/data") * i / 100)) "$T/data" >"$T/part"
		now=$(json "$T/part" self_check.alloc_samples)
		check "cut at $i %: has more samples than the last" test "${now:-0}" -gt "$before"
		report -i "$T/part"
		is "cut at $i %: status of the report" 1 $?
		has "cut at $i %: it says so" '^# warning  : the recording was cut short' "$T/out"
		before=${now:-0}
	done
}

test_kill9()
{
	local recorder

	rm -f "$T/data"
	spawn perf-churn record -z -c 10 -o "$T/data" -- "$WL/loop" -s 4 >/dev/null 2>"$T/err"
	recorder=$spawned
	sleep 3.5
	kill -9 "$recorder"
	reap "$recorder" 2>/dev/null
	same_counts "kill -9" "$T/data"
	check "kill -9: the report is printed" report -i "$T/data"
	has "kill -9: it says that this is not all" '^# warning  : the recording was cut short: the recorder was killed' "$T/out"
	check "kill -9: perf knows a ratio" test "$(ratio_of "$T/data" | cut -d' ' -f2)" -gt 1
	# The command outlives its recorder.
	wait_for 20 no_loop
}

no_loop()
{
	! pgrep -f "$WL/loop -s 4" >/dev/null
}

# no_room NAME FILE REASON COMMAND...
no_room()
{
	local status=0

	timeout -k 5 "$LIMIT_S" "${@:4}" >"$T/out" 2>"$T/err" || status=$?
	is "$1: fails" 1 $status
	has "$1: says so" "$(basename "$2"): cannot write: $3" "$T/err"
	is "$1: says how much there is" "Cut short, $(stat -c %s "$2" | awk '{ printf "%.3f", $1 / 1048576 }') MB" \
		"$(grep -o 'Cut short, .* MB' "$T/err")"
	same_counts "$1" "$2"
}

test_no_room()
{
	no_room "a limit of the file's size" "$T/limited" 'File too large' bash -c "ulimit -f 128; exec \"\$@\"" - \
		perf-churn record -z -c 1 -o "$T/limited" "$WL/loop" -n 50000
	mkdir "$T/small"
	if ! mount -t tmpfs -o size=128k perf-churn-test "$T/small" 2>/dev/null; then
		skip "a full disk" "cannot mount a tmpfs here"
		return
	fi
	mounts+=("$T/small")
	no_room "a full disk" "$T/small/data" 'No space left on device' \
		perf-churn record -z -c 1 -o "$T/small/data" "$WL/loop" -n 50000
}

# Files that stock perf has compressed, with a uprobe that only fires in the command.
test_stock_files()
{
	local option group=churn_compress_$$

	# It fails while somebody else changes the list of probes.
	if ! wait_for 5 "$PERF" probe -q --force -x "$(ldd "$WL/loop" | awk '$1 ~ /^libc/ { print $3 }')" \
		-a "$group:malloc=malloc size=%di:u64" 2>/dev/null; then
		"$PERF" probe -q -d "$group:*" 2>/dev/null
		skip "perf record -z" "perf probe does not work here"
		return
	fi
	for option in -z -z9; do
		"$PERF" record -q $option -g -e "$group:malloc" -c 1 -m 16M -o "$T/stock$option" \
			"$WL/loop" -n 5000 >/dev/null 2>&1
	done
	"$PERF" probe -q -d "$group:*"
	for option in -z -z9; do
		is "perf record $option: we see its samples" \
			"$("$PERF" script -i "$T/stock$option" -F event 2>/dev/null | grep -c malloc)" \
			"$(json "$T/stock$option" self_check.alloc_samples)"
		check "perf record $option: all of them" test "$(json "$T/stock$option" totals.allocs)" -ge 5000
		check "perf record $option: the report is printed" report -i "$T/stock$option"
	done
}

need_tracing
test_usage
test_exact
test_stock_reads
test_cut
test_kill9
test_no_room
test_stock_files
finish
