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

test_max_stack
test_empty_filters
test_sort_columns
finish
