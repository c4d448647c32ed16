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

test_max_stack
finish
