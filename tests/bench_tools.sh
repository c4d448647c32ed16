#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 300
#
# tools/bench/compare with tiny inputs and the tools that are always there: a table of the right shape,
# true totals, nothing left behind, and one line for a bad argument. What things cost is not judged here.

. tests/lib.sh

compare()
{
	timeout -k 5 "$LIMIT_S" tools/bench/compare "$@" >"$T/out" 2>"$T/err"
}

# refused NAME REGEX ARGS
refused()
{
	local name=$1 regex=$2

	shift 2
	compare "$@"
	is "$name: status 2" 2 $?
	check "$name: one line" one_line "$T/err"
	has "$name: which says why" "$regex" "$T/err"
}

# cells WORKLOAD TOOL - of its line, separated by blanks
cells()
{
	awk -F'|' -v work="$1" -v tool="$2" '
		{ for (i = 1; i <= NF; i++) gsub(/^ +| +$/, "", $i) }
		$2 == work && $3 == tool { for (i = 4; i < NF; i++) print $i }' "$T/out"
}

# shape WORKLOAD TOOL - the columns are what their heads say
shape()
{
	local ratio='[0-9]+(\.[0-9]+)?(e\+[0-9]+)?'

	cells "$1" "$2" | tr '\n' ';' >"$T/cells"
	grep -Eq "^(large|small);$ratio;$ratio - $ratio;$ratio;(-|-?[0-9.]+);(-|-?[0-9]+);(-|[0-9.]+);(-|[0-9]+);(-|at least|[+-][0-9.]+ %);$" \
		"$T/cells" || { diag_file "$T/cells"; diag_file "$T/err"; return 1; }
}

# within_percent WORKLOAD TOOL - the totals agree with the independent counter
within_percent()
{
	cells "$1" "$2" | tail -n 1 | awk '{ exit !($1 > -1 && $1 < 1 && $2 == "%") }'
}

# ours_runs NAME - a process that works in the scratch folder
ours_runs()
{
	pgrep -f "$1.*$T/churnbench" >/dev/null
}

need_tracing
export TMPDIR=$T
refused "an unknown tool" "no tool is named 'strace' \(there are: bare, perf, " --tools bare,strace
refused "an unknown workload" "no workload is named 'vi'" --workloads vi
refused "no number of runs" "'0' is no positive number" --runs 0
refused "an unknown option" "unrecognized arguments: --frob" --frob

LIMIT_S=120
tools=bare,exact
for tool in perf counting; do
	command -v "$PERF" >/dev/null && tools+=",$tool"
done
check "a comparison runs" compare --tools $tools --workloads pairs,jq --runs 2 --scale 2 --matrix --json "$T/json"
diag_file "$T/err" 20
has "it says beforehand how long it takes" '^[0-9]+ pairs of runs, about [0-9.]+ minutes' "$T/err"
for tool in ${tools//,/ }; do
	for work in pairs jq; do
		[ $work = pairs ] || command -v $work >/dev/null || continue
		check "a line of the table: $work, $tool" shape $work "$tool"
	done
done
check "exact is: pairs" within_percent pairs exact
check "exact is: jq" within_percent jq exact
has "the matrix has the tools, too" '^\| exact +\| +[0-9.e+]+ \|' "$T/out"
is "all rows are in the JSON" "$(grep -c '^| \(pairs\|jq\) ' "$T/out")" \
	"$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["rows"]))' "$T/json")"

check "a run that takes too long is ended" compare --tools exact --workloads pairs --runs 1 --limit 2
has "the table goes on without its numbers" '^\| pairs +\| exact +\| small +\| +- \|' "$T/out"
has "and says why" '^pairs, exact: timed out' "$T/out"

check "a plan runs nothing" compare --plan --tools bare --workloads pairs --scale 2
is "and prints no table" "" "$(cat "$T/out")"

spawn tools/bench/compare --tools exact --workloads pairs --runs 50 --scale 2
check "one that goes on records" wait_for 60 ours_runs perf-churn
kill -TERM "$spawned"
reap "$spawned" 2>/dev/null
is "ends when it is told to" 130 $?
check "and no process of it is left" eval '! ours_runs ""'

events=/sys/kernel/tracing/uprobe_events
if [ -w $events ] && [[ $tools == *counting* ]]; then
	spawn tools/bench/compare --tools counting --workloads pairs --runs 50 --scale 2
	check "one that counts hits of uprobes" wait_for 60 grep -q "churnbench$spawned/" $events
	kill -KILL "$spawned"
	reap "$spawned" 2>/dev/null
	check "leaves no uprobe when it is killed" wait_for 20 eval "! grep -q churnbench$spawned/ $events"
	check "nor a process" wait_for 20 eval '! ours_runs ""'
fi
finish
