#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf churn report: options, filters and formats, on a recording of a workload whose counts are known.

. tests/lib.sh

ROUNDS=500	# of shares: 3 allocations of 200 bytes by heavy_site, 1 of 24 by light_site, all freed

# shows NAME REGEX OPTIONS - the report succeeds and has such a line
shows()
{
	local name=$1 regex=$2

	shift 2
	if report -i "$T/data" "$@"; then
		has "$name" "$regex" "$T/out"
	else
		fail "$name"
		diag_file "$T/err"
	fi
}

# hides NAME REGEX OPTIONS
hides()
{
	local name=$1 regex=$2

	shift 2
	report -i "$T/data" "$@"
	lacks "$name" "$regex" "$T/out"
}

# refused NAME REGEX OPTIONS - status 129 and one line
refused()
{
	local name=$1 regex=$2 status=0

	shift 2
	report -i "$T/data" "$@" || status=$?
	is "$name: status" 129 $status
	has "$name: says why" "$regex" "$T/err"
	is "$name: prints no report" "" "$(cat "$T/out")"
}

test_usage()
{
	local arg

	refused "an unknown option" 'unknown option' --no-such-option
	refused "an unknown column" 'nonsense.*share, samples, allocs' -F share,nonsense
	refused "an unknown sort key" 'nonsense.*share, samples, allocs' --sort nonsense
	refused "--limit with text" "'many'" --limit many
	refused "--max-stack 0" "'0'" --max-stack 0
	refused "--percent-limit 101" "'101'" --percent-limit 101
	for arg in 0x10 ' 5' +5 5e0 nan; do
		refused "--percent-limit '$arg'" "^--percent-limit '[$arg]*': " --percent-limit "$arg"
	done
	refused "-i ''" "^-i '': " -i ''
	refused "an empty regex" "^--wrapper '': " --wrapper ''
	refused "a regex of nested groups" 'deeper' --wrapper "$(printf '%060d' 0 | tr 0 '(')"
	refused "a regex of nested repetitions" 'multiply' --wrapper '((((a{99}){99}){99}){99}){99}'
	refused "--by with nonsense" 'count, bytes or cpu' --by weight
	refused "--pid with text" "'me'" --pid me
	refused "--comm with an empty name" "'a,,b'" --comm a,,b
	refused "--time backwards" "'3,2'" --time 3,2
	refused "a bad regex" "'\\('" --wrapper '('
	refused "two formats" 'exclude' --json --folded
	refused "an argument" "-i" "$T/data"
}

test_text()
{
	shows "the command is in the header" '^# command  : perf churn record .*shares 500$'
	shows "nothing was lost" '^# lost     : nothing$'
	shows "a verdict" '^(Churn|Some churn|Not churn|Perhaps churn): .*allocations/s'
	shows "allocations are counted" "^  Allocations +2,000 "
	shows "and bytes" "^  Bytes +305 KB "
	shows "and frees" "^  Frees +2,000 .*allocated before 0$"
	shows "and what lives" "^  Live at end +0 "
	shows "sizes are a histogram" '^ +256 B #+ +75\.0 %'
	shows "heavy_site has 75 %" '^ +75\.00% +1,500 .* 200 B .* heavy_site \(shares\.c:17\)$'
	shows "light_site has 25 %" '^ +25\.00% +500 .* 24 B .* light_site \(shares\.c:22\)$'
	shows "its caller stands below" '^ +---one_round$'
	shows "the self-check compares" 'samples stand for 2,000 allocations, counted were 2,000 \(\+0\.00 %\)'
	shows "-v lists probes" ' hits  malloc in .*libc' -v
	hides "-q has no comments but titles" 'Self-check|command|lost' -q
	hides "no escape sequence in a file" $'\033'
	lacks "no line ends in a blank" ' $' "$T/out"
}

test_order()
{
	report -i "$T/data" -q --sort life,share -F allocs,site
	has "-F leaves only its columns" '^# +Allocations +Site$' "$T/out"
	report -i "$T/data" -q --sort avg -F avg,site
	is "--sort avg begins with the largest" heavy_site "$(awk '$4 ~ /shares.c/ { print $3; exit }' "$T/out")"
	report -i "$T/data" -q --sort site -F site
	is "--sort site goes by name" heavy_site "$(awk '$2 ~ /shares.c/ { print $1; exit }' "$T/out")"
	shows "--by bytes weighs bytes" '^ +96\.15% .*heavy_site' --by bytes
	hides "--limit 1 leaves one site" 'light_site' --limit 1
	hides "--percent-limit leaves the large" 'light_site' --percent-limit 30
	hides "--max-stack cuts" '__libc_start' --max-stack 3
}

test_filters()
{
	local pid

	pid=$("$PERF" script -i "$T/data" -F pid,event 2>/dev/null | awk '/churn:alloc/ { print $1; exit }')
	shows "--symbols takes a function" "^  Allocations +500 " --symbols light_site
	hides "--symbols leaves the rest out" heavy_site --symbols light_site
	shows "filters are said" '^# filtered' --symbols light_site
	shows "--dsos by file name" "^  Allocations +2,000 " --dsos shares
	shows "--dsos of others" "^  Allocations +0 " --dsos libc.so.6
	shows "--comm" "^  Allocations +2,000 " --comm shares
	shows "--comm of others" "^  Allocations +0 " --comm sh
	shows "--pid" "^  Allocations +2,000 " --pid "$pid"
	shows "--pid of others" "^  Allocations +0 " --pid 1
	shows "--tid" "^  Allocations +2,000 " --tid "$pid"
	shows "--time of all" "^  Allocations +2,000 " --time 0%-100%
	shows "--time of half has some" "^  Allocations +[1-9]" --time 0%-50%
	hides "--time of half has not all" "^  Allocations +2,000 " --time 0%-50%
	shows "--time in seconds, after the end" "^  Allocations +0 " --time 99999999,
	shows "--wrapper moves the site to the caller" ' one_round \(shares\.c:42\)$' --wrapper '^heavy_site$'
}

test_json()
{
	is "--json: schema" perf-churn-report/1 "$(json "$T/data" schema)"
	is "--json: allocations" 2000 "$(json "$T/data" totals.allocs)"
	is "--json: without error" 0 "$(json "$T/data" totals.allocs_error)"
	is "--json: bytes" $((624 * ROUNDS)) "$(json "$T/data" totals.bytes)"
	is "--json: nothing lost" 0 "$(json "$T/data" recording.lost.churn_events)"
	is "--json: the first site" heavy_site "$(json "$T/data" sites.0.function)"
	is "--json: its line" shares.c:17 "$(json "$T/data" sites.0.srcline)"
	is "--json: its stack begins with it" heavy_site "$(json "$T/data" sites.0.stack.0)"
	is "--json: then its caller" one_round "$(json "$T/data" sites.0.stack.1)"
	is "--json: size classes" 32 "$(json "$T/data" size_histogram.0.le)"
	is "--json: in a class" 500 "$(json "$T/data" size_histogram.0.allocs)"
}

test_folded()
{
	report -i "$T/data" --folded
	has "--folded: the heavy stack" '^shares;.*main;one_round;heavy_site;malloc 1500$' "$T/out"
	lacks "--folded: nothing but stacks" '^#|[^0-9]$' "$T/out"
	report -i "$T/data" --folded --by bytes
	check "--folded: says nothing else" test ! -s "$T/err"
	has "--folded: bytes" ';one_round;light_site;malloc 12000$' "$T/out"
}

test_folded_of_nothing()
{
	check "--folded of nothing: no failure" report -i "$T/data" --folded --pid 1
	is "--folded of nothing: no stack" "" "$(cat "$T/out")"
	has "--folded of nothing: says so" "no (allocation )?samples match --pid '1'" "$T/err"
	check "--folded of nothing: in one line" one_line "$T/err"
}

test_closed_pipe()
{
	local status

	perf-churn report -i "$T/data" 2>"$T/err" | head -n 1 >"$T/out"
	status=${PIPESTATUS[0]}
	check "a closed pipe ends it quietly (status $status)" test ! -s "$T/err"
}

need_tracing
if recorded "a recording of two sites" -c 1 -g -o "$T/data" "$WL/shares" $ROUNDS; then
	test_usage
	test_text
	test_order
	test_filters
	test_json
	test_folded
	test_folded_of_nothing
	test_closed_pipe
fi
finish
