#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf-churn itself: the list of commands, the version, bad usage, and that perf finds it.

. tests/lib.sh

# cli STATUS ARGS - run perf-churn; its stdout and stderr in $T/out and $T/err
cli()
{
	local want=$1 status

	shift
	timeout 20 perf-churn "$@" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	is "'perf-churn $*' exits with $want" "$want" "$status"
}

cli 0 --version
has "--version names the program" '^perf-churn version [0-9]+\.[0-9]+' "$T/out"
is "--version says nothing else" "1 0" "$(wc -l <"$T/out") $(wc -l <"$T/err")"

cli 0 --help
has "--help lists record" '^   record +[A-Z]' "$T/out"
has "--help lists report" '^   report +[A-Z]' "$T/out"
has "--help lists list" '^   list +[A-Z]' "$T/out"
has "--help lists run" '^   run +[A-Z]' "$T/out"
check "--help leaves stderr alone" [ ! -s "$T/err" ]
cp "$T/out" "$T/help"
cli 0 -h
check "-h is --help" cmp -s "$T/help" "$T/out"

cli 129
check "no arguments: the list goes to stderr" cmp -s "$T/help" "$T/err"
cli 129 recrod
is "an unknown command is named in one line" \
	"perf churn: 'recrod' is not a perf churn command. See 'perf churn -h'." "$(cat "$T/err")"
cli 129 --frobnicate
has "an unknown option is named" "unknown option '--frobnicate'" "$T/err"
cli 129 record --frobnicate
has "a subcommand names its unknown option" 'frobnicate' "$T/err"
for sub in report list run; do
	cli 129 $sub --frobnicate
	has "so does $sub" 'frobnicate' "$T/err"
done

for sub in record report list run; do
	cli 129 $sub -h
	cat "$T/out" "$T/err" >"$T/both"
	has "'$sub -h' shows how to call it" "[Uu]sage: perf churn $sub " "$T/both"
	is "'$sub -h' shows what the man page's synopsis does" \
		"$(sed -n '/^SYNOPSIS/,/^DESCRIPTION/s/^.\(perf churn .*\)/\1/p' "Documentation/perf-churn-$sub.txt" | tr -d "'")" \
		"$(sed -n 's/^ *\(Usage\|or\): \(perf churn .*\)/\2/p' "$T/both")"
done

if [ -w /dev/full ]; then
	perf-churn --help >/dev/full 2>"$T/err"
	is "a full disk is a failure" 1 $?
	has "a full disk is named" 'cannot write standard output: No space left' "$T/err"
fi

for sub in --version --help; do
	perf-churn $sub >&- 2>"$T/err"
	is "$sub to a closed standard output is a failure" 1 $?
	has "$sub to a closed standard output says so" 'cannot write standard output' "$T/err"
done
perf-churn report -i tests/data/demo.perf.data >&- 2>"$T/err"
is "so is report" 1 $?
has "report says so" 'cannot write standard output' "$T/err"
# A file must not take the place of a closed stderr.
cp tests/data/demo.perf.data "$T/data"
perf-churn report -i "$T/data" --pid 1 --folded 2>&- >"$T/out"
check "messages to a closed standard error go nowhere" cmp -s "$T/data" tests/data/demo.perf.data

if need_tool "$PERF" "perf finds perf-churn on PATH"; then
	"$PERF" churn --version >"$T/perf" 2>&1
	perf-churn --version >"$T/own"
	check "perf finds perf-churn on PATH" cmp -s "$T/own" "$T/perf"
	"$PERF" churn recrod >/dev/null 2>&1
	is "perf passes the exit status on" 129 $?
fi
finish
