#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The checkers find what they are there for, and the runner counts right: each against a small tree
# of its own.

. tests/lib.sh

root=$PWD
tree=$T/tree

# put FILE - stdin to a file of the tree
put()
{
	mkdir -p "$(dirname "$tree/$1")"
	cat >"$tree/$1"
}

new_tree()
{
	rm -rf "$tree"
	mkdir -p "$tree"/{plugin/{cmd,util,target,probe,churn,view,perfdata},bpf,Documentation,scripts,tests}
}

layers()
{
	scripts/check-layers.sh "$tree" >"$T/layers" 2>&1
}

docs()
{
	scripts/check-docs.sh "$tree" >"$T/docs" 2>&1
}

# edge NAME accepts|refuses FILE HEADER
edge()
{
	local want=0

	new_tree
	echo "#include \"$4\"" | put "$3"
	touch "$tree/plugin/probe/own.h" "$tree/plugin/perfdata/reader.h"
	[ "$2" = accepts ] || want=1
	layers
	is "check-layers $2 $1" $want $?
}

edge "a header of the own room" accepts plugin/probe/site.c own.h
edge "an earlier room" accepts plugin/probe/probe.h target/process.h
edge "the event ABI anywhere" accepts plugin/view/json.c bpf/churn.h
edge "the reader in the model" accepts plugin/churn/sites.c perfdata/reader.h
edge "the writer in the model" refuses plugin/churn/sites.c perfdata/writer.h
edge "a later room" refuses plugin/target/process.c probe/probe.h
edge "a record room on the report side" refuses plugin/view/json.c probe/probe.h
edge "the recorder's BPF ABI outside trace" refuses plugin/stack/dso.c bpf/control.h
edge "a way around through .." refuses plugin/util/msg.c ../probe/own.h
edge "anything but a command table in main" refuses plugin/perf-churn.c perfdata/reader.h
edge "another room from a subcommand" accepts plugin/cmd/cmd_report.c view/json.h
edge "a room nobody listed" refuses plugin/newroom/a.c util/msg.h

new_tree
printf '/* a */\n\n  #  include   "view/x.h"\n' | put plugin/util/a.h
layers
has "check-layers names file, line and header" '^plugin/util/a.h:3: may not include "view/x.h"' "$T/layers"

new_tree
put plugin/cmd/cmd_stat.c <<'C'
	OPT_CALLBACK('z', "min-size", &opts, "size",
		     "Skip ...", parse),
	OPT_BOOLEAN(0, "demangle", &x, "..."), OPT_INCR(
		'v', NULL, &v, "..."),
	OPT_GROUP("Sizes"), OPT_END()
C
put Documentation/perf-churn-stat.txt <<'D'
-z <bytes>::
--min-size=<bytes>::
	Text. --unrelated is no option line.
--no-demangle::
-v::
Not an option::
D
put Documentation/perf-churn.txt </dev/null
check "check-docs accepts a page that matches" docs
sed -i '/^-v::/d' "$tree/Documentation/perf-churn-stat.txt"
docs
has "check-docs finds an option without words" 'does not describe -v ' "$T/docs"
is "check-docs finds nothing else" 1 "$(wc -l <"$T/docs")"
printf -- '-v::\n--gone::\n' >>"$tree/Documentation/perf-churn-stat.txt"
docs
has "check-docs finds words without an option" 'has no option --gone' "$T/docs"
put plugin/cmd/cmd_list.c </dev/null
docs
has "check-docs finds a subcommand without a page" 'cmd_list.c: has no man page' "$T/docs"

# --- the runner --------------------------------------------------------------------------------

# run_tree [VARIABLE=VALUE...] - run-tests.sh in the tree, its output in $T/run
run_tree()
{
	env OUTPUT=build TEST= CI= "$@" bash "$tree/scripts/run-tests.sh" >"$T/run" 2>&1
}

# sub_test NAME - stdin is the script
sub_test()
{
	{ echo '#!/bin/sh'; cat; } | put "tests/$1.sh"
	chmod +x "$tree/tests/$1.sh"
}

new_runner_tree()
{
	new_tree
	cp "$root/scripts/run-tests.sh" "$tree/scripts/"
	printf '#!/bin/sh\necho no rights\nexit 1\n' | put scripts/can-record.sh
	printf '#!/bin/sh\n' | tee "$tree/scripts/check-docs.sh" | put scripts/check-layers.sh
	chmod +x "$tree"/scripts/*.sh
}

last_line()
{
	is "the runner: $1" "$2" "$(tail -n 1 "$T/run")"
}

new_runner_tree
sub_test good <<<'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
run_tree
is "the runner succeeds when all pass" 0 $?
last_line "counts each result and each checker" "4 passed, 0 failed, 0 skipped"
sub_test bad <<<'echo "ok 1 - a"; echo "# because"; echo "not ok 2 - claim b"; exit 1'
run_tree
is "the runner fails when a test fails" 1 $?
last_line "counts a failure once" "5 passed, 1 failed, 0 skipped"
has "the runner names the failed test" 'FAILED .*tests/bad.sh: claim b' "$T/run"
has "the runner shows why" '\| # because' "$T/run"
run_tree TEST=good
last_line "TEST=NAME runs that one" "2 passed, 0 failed, 0 skipped"
run_tree TEST=nothing
is "the runner fails when no test has the name" 1 $?

new_runner_tree
sub_test crash <<<'echo "ok 1 - a"; kill -SEGV $$'
run_tree TEST=crash
last_line "a crash after good results is a failure" "1 passed, 1 failed, 0 skipped"
sub_test mute <<<'exit 0'
run_tree TEST=mute
last_line "a test without results is a failure" "0 passed, 1 failed, 0 skipped"
sub_test short <<<'echo 1..3; echo "ok 1 - a"'
run_tree TEST=short
last_line "missing results are a failure" "1 passed, 1 failed, 0 skipped"
sub_test slow <<<'# timeout: 1
echo "ok 1 - a"; sleep 20'
run_tree TEST=slow
last_line "a timeout is a failure" "1 passed, 1 failed, 0 skipped"
sub_test forgotten <<<'echo "ok 1 - a"'
chmod -x "$tree/tests/forgotten.sh"
run_tree TEST=forgotten
last_line "a test that cannot be run is a failure" "0 passed, 1 failed, 0 skipped"

new_runner_tree
sub_test skip <<<'echo "ok 1 - a # SKIP no tool"'
run_tree TEST=skip
is "the runner accepts a skip" 0 $?
last_line "counts a skip" "0 passed, 0 failed, 1 skipped"
has "the runner says why a test is skipped" 'skip .*tests/skip.sh: a: no tool' "$T/run"
run_tree TEST=skip CI=true
is "the runner accepts no skip in CI" 1 $?
sed -i 's|^allowed_skips=(|&\n"tests/skip.sh: a"|' "$tree/scripts/run-tests.sh"
run_tree TEST=skip CI=true
is "the runner accepts a listed skip in CI" 0 $?
sub_test record <<<'# needs: record
echo "not ok 1 - must not run"'
run_tree TEST=record
has "a test that records is skipped where that is forbidden" 'skip .*record.sh: all: no rights' "$T/run"
last_line "counts that as one skip" "0 passed, 0 failed, 1 skipped"

finish
