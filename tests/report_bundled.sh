#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf churn report on the bundled recording (demo 300, about one in N sampled, frame pointers):
# what must hold on machines that cannot record, too.

. tests/lib.sh

DATA=tests/data/demo.perf.data
# Its symbols are in a build-id cache beside it; perf looks for one in the home folder.
export HOME=$PWD/tests/data/demo.home

# found OPTIONS - the parts of the JSON report that a way of showing must not change
found()
{
	perf-churn report -i $DATA --json "$@" 2>"$T/err" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["cpu"], d["totals"], d["self_check"])
for s in d["sites"]:
    del s["stack"]
    print(s)'
}

test_max_stack()
{
	local want

	want=$(found)
	is "--max-stack 1 changes neither verdict, totals nor sites" "$want" "$(found --max-stack 1)"
	is "nor does --max-stack 4" "$want" "$(found --max-stack 4)"
}


# matches_nothing REGEX OPTIONS - says so in one line on stderr, with status 0
matches_nothing()
{
	local regex=$1 status=0

	shift
	report -i $DATA "$@" || status=$?
	is "$*: status as perf's" 0 $status
	has "$*: the line names the filter" "^$DATA: no $regex$" "$T/err"
	check "$*: it is one line" one_line "$T/err"
	has "$*: so does the report" '^No allocations: none matches the filter$' "$T/out"
}

test_empty_filters()
{
	matches_nothing "samples match --symbols 'nosuch'" -S nosuch
	matches_nothing "samples match --time '0,1'" --time 0,1
	matches_nothing "samples match --comm 'nosuch' --pid '1'" -c nosuch --pid 1
	matches_nothing "allocation samples match --symbols 'finish_request'" -S finish_request
	report -i $DATA -S parse_line
	is "a filter that matches says nothing" "" "$(cat "$T/err")"
}

test_sort_columns()
{
	report -i $DATA -q -s live,sym
	has "-s live,sym shows the column live" '^# +Share .* Live  Site$' "$T/out"
	report -i $DATA -q -s live -F share,site
	has "-F shows what it says" '^# +Share  Site$' "$T/out"
}


# refused NAME REGEX OPTIONS - status 129 and one line
refused()
{
	local name=$1 regex=$2 status=0

	shift 2
	report -i $DATA "$@" || status=$?
	is "$name: status" 129 $status
	has "$name: says why" "$regex" "$T/err"
}

# title NAME REGEX OPTIONS
title()
{
	local name=$1 regex=$2

	shift 2
	report -i $DATA -q "$@"
	has "$name" "$regex" "$T/out"
}

# What perf report's users type.
test_perf_options()
{
	title "-n shows the number of samples" '^# +Share +Samples ' -n
	has "-n: as many as there are" '^ +44\.32% +1,600 +1,600 ' "$T/out"
	title "-F +col adds" '^# +Share .* Med life +Live bytes  Site$' -F +live_bytes
	title "-s +col keeps the order and shows it" '^# +Share .* Live  Site$' -s +live
	title "-g none leaves the sites" ' parse_line \(demo\.c:57\)$' -g none
	lacks "-g none shows no call paths" '^ +---' "$T/out"
	title "-g alone is the default" '^ +---' -g --no-children
	report -i $DATA --header-only
	has "--header-only has the header" '^# command ' "$T/out"
	lacks "--header-only has nothing else" '^[^#]' "$T/out"
	report -i $DATA -q -t , -F share,allocs,bytes,life,site --limit 2
	is "-t: keys" "# share,allocs,bytes,life,site" "$(sed -n 1p "$T/out")"
	has "-t: plain numbers" '^44\.32%,1600,18[0-9]{3},[0-9.]+,parse_line \(demo\.c:[0-9]+\)$' "$T/out"
	is "-t: a line a site" 3 "$(wc -l <"$T/out")"
	is "-C of all CPUs leaves nothing out" "$(sites)" "$(sites -C 0-4095)"
	is "-C 0 and the others make up the whole" 3610 \
		$(($(allocs -C 0) + $(allocs -C 1-4095)))
	is "--comms is --comm" "$(found --comm demo)" "$(found --comms demo)"
	refused "-C with text" "'x'" -C x
	refused "-C backwards" "'3-1'" -C 3-1
	refused "-g of another kind" "'fractal'" -g fractal
	refused "--children" 'children' --children
	refused "-t of two characters" "'ab'" -t ab
	refused "-t with --json" 'go with text' -t , --json
}

allocs()
{
	perf-churn report -i $DATA --json "$@" 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["totals"]["allocs"])'
}

sites()
{
	perf-churn report -i $DATA --json "$@" | sed -n '/"sites"/,/^  ]/p'
}

test_perf_options
test_max_stack
test_empty_filters
test_sort_columns
finish
