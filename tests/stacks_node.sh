#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# Stacks through code that a program compiles for itself, which has no call frame information: node keeps
# frame pointers in its compiled JavaScript and tells perf its names.
#
#	CALLGRAPH=auto	the argument of --call-graph

. tests/lib.sh

CALLGRAPH=${CALLGRAPH:-auto}
# Of CPU samples in compiled code. What may be missing was in a prologue or epilogue, where rbp is not
# the frame's.
MIN_PERCENT=${MIN_PERCENT:-97}
MIN_SAMPLES=100

at_least()
{
	[ "$2" -ge "$MIN_SAMPLES" ] && [ $((100 * $1)) -ge $((MIN_PERCENT * $2)) ]
}

need_tracing
need_tool node "node" || finish
cp tests/workloads/stacks/node.js "$T/"
recorded "node" -F 999 -c 1000 -m 64M --call-graph "$CALLGRAPH" -o "$T/data" -- \
	node --perf-basic-prof-only-functions --interpreted-frames-native-stack "$T/node.js" 3 || finish
"$PERF" script -i "$T/data" --no-inline --max-stack 1024 -F comm,tid,event,ip,sym,dso 2>"$T/script.err" |
	python3 tests/stacks_node.py >"$T/counts" 2>"$T/py.err" || diag_file "$T/py.err"
read -r nr named started <"$T/counts"
check "$started of $nr CPU samples in compiled code end at node's start" at_least "$started" "$nr" ||
	diag_file "$T/counts"
diag "$(sed -n 2p "$T/counts")"
check "$named of $nr go through the function that they are below" at_least "$named" "$nr"
rm -f /tmp/perf-"$("$PERF" script -i "$T/data" -F pid,comm 2>/dev/null | awk '$1 == "node" {print $2; exit}')".map
finish
