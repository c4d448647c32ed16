#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 600
#
# perf churn record on the command line: options, exit status, files, and one clear line for each thing
# a user can get wrong.

. tests/lib.sh

# complete NAME - stock perf reads $T/data without a word on stderr
complete()
{
	if "$PERF" script -i "$T/data" -F pid,event >/dev/null 2>"$T/script.err" && [ ! -s "$T/script.err" ]; then
		pass "$1"
	else
		fail "$1"
		diag_file "$T/script.err"
	fi
}

# refused NAME REGEX STATUS OPTIONS - fails with that status (or any but 0: "any") and a line that matches;
# an older recording is not touched
refused()
{
	local name=$1 regex=$2 want=$3 status=0

	shift 3
	echo precious >"$T/refused"
	record -o "$T/refused" "$@" || status=$?
	if [ "$want" = any ]; then
		check "$name: fails, without a crash" test $status -ne 0 -a $status -lt 124 -o $status = 129 ||
			diag "status $status"
	else
		is "$name: status" "$want" $status
	fi
	has "$name: says why" "$regex" "$T/err"
	is "$name: an older file stays, and nothing beside it" "refused: precious" \
		"$(cd "$T" && tail -vn 1 refused* | sed -n 's/^==> \(.*\) <==$/\1:/p; t; /./p' | paste -sd' ')"
}

# refused_in_one_line - likewise, and says nothing else
refused_in_one_line()
{
	refused "$@"
	check "$1: in one line" one_line "$T/err"
}

evlist_has()
{
	"$PERF" evlist -v -i "$T/data" >"$T/evlist" 2>&1
	has "$1" "$2" "$T/evlist"
}

test_usage()
{
	local arg

	refused "no command and no target" '[Uu]sage|command|-p' 129
	refused "an unknown option" "unknown option|no-such-option" 129 --no-such-option "$WL/exact23"
	refused "-c 0" "-c|period|count|0" 129 -c 0 "$WL/exact23"
	refused "-c with trailing text" "100x" 129 -c 100x "$WL/exact23"
	refused "-c negative" "-5" 129 -c -5 "$WL/exact23"
	refused "-F 0" "-F|freq|0" 129 -F 0 "$WL/exact23"
	refused "-m with nonsense" "many" 129 -m many "$WL/exact23"
	refused "-D with nonsense" "soon" 129 -D soon "$WL/exact23"
	refused "an unknown method" "magic" 129 --method magic "$WL/exact23"
	refused "an unknown call graph" "lbrx" 129 --call-graph lbrx "$WL/exact23"
	for arg in lbr '' auto, fp, dwarf,7 dwarf,; do
		refused_in_one_line "--call-graph '$arg'" "^--call-graph '?$arg'?: " 129 --call-graph "$arg" "$WL/exact23"
	done
	for arg in 0-9999999 0,0 1-0 -1 '' 0-; do
		refused_in_one_line "-C '$arg'" "^-C '$arg': " 129 -C "$arg" "$WL/exact23"
	done
	refused_in_one_line "-o ''" "^-o '': " 129 -o '' "$WL/exact23"
	refused "an unknown event" "no-such-event" any -e no-such-event "$WL/exact23"
	refused "an unknown event modifier" "cycles:z" any -e cycles:z "$WL/exact23"
	refused "an unknown user" "no-such-user" any -u no-such-user "$WL/exact23"
	refused "a CPU that is not there" "4095" any -C 4095 -- sleep 0.1
	refused "-p with nonsense" "12x" any -p 12x
}

test_targets()
{
	local pid thread

	pid=$(($(cat /proc/sys/kernel/pid_max) - 1))
	while [ -e "/proc/$pid" ]; do
		pid=$((pid - 1))
	done
	refused_in_one_line "no such process" "$pid.*([Nn]o such process|not running|does not exist)" any -p "$pid"

	spawn "$WL/loop" -s 60 -t 2 >/dev/null
	pid=$spawned
	sleep 0.3
	thread=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 ! -name "$pid" -printf '%f\n' | head -n 1)
	refused_in_one_line "the id of a thread" "$thread.*thread.*$pid|$pid.*thread.*$thread" any -p "$thread"
	kill "$pid"
	reap "$pid"
	refused_in_one_line "a command that is not there" "no-such-command.*([Nn]ot found|No such file)" any no-such-command
	refused_in_one_line "a command that is to set the duration" "no-such-command.*([Nn]ot found|No such file)" any \
		-a -- no-such-command
	printf '#!/no/such/interpreter\n' >"$T/no-interpreter"
	printf '#!%s\n' "$T/no-interpreter" >"$T/no-interpreter2"
	sed 's|/lib64/ld-linux-x86-64.so.2|/lib64/ld-linux-x86-64.so.9|' "$WL/exact23" >"$T/no-loader"
	chmod +x "$T"/no-*
	refused_in_one_line "a script without its interpreter" "no-interpreter: its interpreter /no/such/interpreter: not found" 1 \
		"$T/no-interpreter"
	refused_in_one_line "a script that sets the duration, without its interpreter" \
		"no-interpreter: its interpreter /no/such/interpreter: not found" 1 -a -- "$T/no-interpreter"
	refused_in_one_line "a script of such a script" "no-interpreter2: its interpreter /no/such/interpreter: not found" 1 \
		"$T/no-interpreter2"
	refused_in_one_line "a program without its loader" "no-loader: the loader .* not there" 1 "$T/no-loader"
	refused "a program without an allocator" "no allocator" any -e cpu-clock "$WL/bump_static"
	refused "a program without an allocator, -D" "no allocator" any -e cpu-clock -D 5 "$WL/bump_static"
	record -o "$T/fresh" "$WL/bump_static"
	check "a failed start leaves no empty file behind" test ! -e "$T/fresh"
	touch "$T/plain"
	refused_in_one_line "a command that is no program" "plain.*[Pp]ermission denied" any "$T/plain"
}

# PIDs that end while the recorder attaches: a clear word or a file without samples, never a crash or a hang.
test_ending_target()
{
	local i delay status bad=0

	for i in 0 1 2 3 4 5 6 7; do
		delay=$(printf '0.%03d' $((i * 8)))
		spawn sleep "$delay"
		status=0
		record -o "$T/ending" -p "$spawned" -- sleep 0.3 || status=$?
		reap "$spawned"
		if [ $status -ge 124 ] || { [ $status -ne 0 ] && ! grep -Eiq 'no such process|ended|exited' "$T/err"; }; then
			bad=1
			diag "after $delay s: status $status"
			diag_file "$T/err"
		fi
	done
	is "a process that ends while the recorder attaches" 0 $bad
}

test_output_file()
{
	local status

	refused "an output in a missing folder" "no/such/folder.*No such file" any -o "$T/no/such/folder/data" \
		"$WL/exact23"
	check "an output in a missing folder: in one line" one_line "$T/err"
	refused "an output that is a folder" "$T.*(Is a directory|directory)" any -o "$T" "$WL/exact23"

	echo "first" >"$T/data"
	recorded "an existing file" -o "$T/data" "$WL/exact23" || return
	is "an existing file is kept as .old" first "$(cat "$T/data.old")"
	recorded "a second recording" -o "$T/data" "$WL/exact23"
	check "the .old of the second recording is the first" "$PERF" evlist -i "$T/data.old" >/dev/null

	(cd "$T" && timeout "$LIMIT_S" perf-churn record -q "$WL/exact23")
	check "without -o it writes perf.data" test -s "$T/perf.data"

	recorded "-q" -q -o "$T/data" "$WL/exact23"
	is "-q says nothing" "" "$(cat "$T/err")"
	recorded "the closing line" -o "$T/data" -c 1 "$WL/exact23"
	closing "the closing line reads like perf's"
	has "the closing line has the exact numbers" ' 23 churn:alloc, 23 churn:free samples; 23 allocations, 0 lost' "$T/err"
	is "the closing line is the last one" "$(grep Captured "$T/err")" "$(tail -n 1 "$T/err")"
	recorded "one process that is late" -c 1 --method uprobe-session -o "$T/data" sh -c '"$0"; true' "$WL/exact23"
	has "one process is a process, not 1 processes" '^1 process ran for [0-9.]+ ms before its probes' "$T/err"
	recorded "-c 1" -c 1 -o "$T/data" "$WL/exact23"
	status=$(wc -l <"$T/err")
	recorded "-v" -v -o "$T/data" -c 1 "$WL/exact23"
	check "-v says more" test "$(wc -l <"$T/err")" -gt "$status"
}

test_exit_status()
{
	local status n

	for n in 0 1 7 200; do
		status=0
		record -o "$T/data" "$WL/status" exit $n || status=$?
		is "the command's exit status $n is returned" $n $status
	done
	status=0
	record -o "$T/data" "$WL/status" signal 11 || status=$?
	check "a command that a signal killed: not 0 (got $status)" test $status -ne 0
	complete "a command that a signal killed: the file is complete"
	record -o "$T/data" /bin/sh -c 'echo to-stdout; echo to-stderr >&2; cat' <<<"from-stdin"
	is "the command keeps stdin and stdout" "to-stdout from-stdin" "$(paste -sd' ' "$T/out")"
	has "the command keeps stderr" '^to-stderr$' "$T/err"
	env -i PATH="$PATH" HOME=/ "$(command -v perf-churn)" record -q --method=uprobe -o "$T/data" -- env | sort >"$T/env"
	is "the command keeps the environment, and gets no more" "HOME=/ PATH=$PATH" "$(paste -sd' ' "$T/env")"
	env -i PATH="$PATH" HOME=/ "$(command -v perf-churn)" record -q -o "$T/data" -- env | sort >"$T/env"
	is "by preload it gets what the library needs" "HOME LD_PRELOAD PATH PERF_CHURN_SESSION" \
		"$(sed 's/=.*//' "$T/env" | paste -sd' ')"
	printf '#!/bin/sh\n"%s"\n"%s"\n' "$WL/exact23" "$WL/exact23" >"$T/script"
	chmod +x "$T/script"
	recorded "a script" -c 1 -o "$T/data" "$T/script"
	is "a script: both children that it runs are counted" "23 23" \
		"$("$PERF" script -i "$T/data" --comm exact23 -F pid,event 2>/dev/null | awk '/churn:alloc/ { n[$1]++ } END { for (p in n) print n[p] }' | paste -sd' ')"
	recorded "options of the command" -c 1 -o "$T/data" "$WL/loop" -n 50 -t 1
	has "options after the command belong to the command" '^loop: 50 pairs' "$T/out"
}

max_rate()
{
	cat /proc/sys/kernel/perf_event_max_sample_rate
}

# The kernel may lower the maximum at any time. Of page faults: as many timer interrupts would leave the
# program no time to run.
test_frequencies()
{
	recorded "-F beyond the maximum" -e page-faults -F 2000000 -o "$T/data" "$WL/exact23"
	has "-F beyond the maximum is throttled, with a warning" "2000000.*throttled to $(max_rate) Hz.*perf_event_max_sample_rate" "$T/err"
	evlist_has "-F beyond the maximum takes the maximum" "^page-faults.*sample_freq.*: $(max_rate)"
	recorded "-F max" -e page-faults -F max -o "$T/data" "$WL/exact23"
	evlist_has "-F max" "^page-faults.*sample_freq.*: $(max_rate)"
	refused_in_one_line "-F beyond the maximum, --strict-freq" "2000000.*perf_event_max_sample_rate" 129 \
		--strict-freq -F 2000000 "$WL/exact23"
	recorded "--strict-freq within the limits" --strict-freq -F 99 -o "$T/data" "$WL/exact23"
}

test_events()
{
	local cycles=cycles

	if ! "$PERF" stat -e cycles true 2>&1 | grep -q '[0-9] *cycles'; then
		cycles=cpu-clock
		recorded "the fallback" -o "$T/data" "$WL/exact23"
		has "cycles falls back to cpu-clock with a notice" 'cycles.*cpu-clock|cpu-clock.*cycles' "$T/err"
		is "the notice is one line" 1 "$(grep -c cpu-clock <(grep -v Captured "$T/err"))"
	fi
	recorded "the default event" -o "$T/data" "$WL/exact23"
	evlist_has "the default event is $cycles" "^$cycles"
	recorded "-e task-clock" -e task-clock -F 199 -o "$T/data" "$WL/exact23"
	evlist_has "-e task-clock -F 199" '^task-clock.*sample_freq.*: 199'
	test_frequencies
	recorded "-e cpu-clock:u" -e cpu-clock:u -o "$T/data" "$WL/exact23"
	evlist_has "-e cpu-clock:u excludes the kernel" '^cpu-clock:u.*exclude_kernel: 1'
	recorded "-e cpu-clock:k" -e cpu-clock:k -o "$T/data" "$WL/exact23"
	evlist_has "-e cpu-clock:k excludes user space" '^cpu-clock:k.*exclude_user: 1'
	recorded "--all-user" --all-user -e cpu-clock,task-clock:k -o "$T/data" "$WL/exact23"
	evlist_has "--all-user excludes the kernel" '^cpu-clock:u.*exclude_kernel: 1'
	evlist_has "--all-user goes before modifiers" '^task-clock:u.*exclude_kernel: 1'
	recorded "--all-kernel" --all-kernel -c 1 -e cpu-clock -o "$T/data" "$WL/exact23"
	evlist_has "--all-kernel excludes user space" '^cpu-clock:k.*exclude_user: 1'
	has "--all-kernel leaves churn events alone" ' 23 churn:alloc, 23 churn:free' "$T/err"
	refused_in_one_line "--all-user with --all-kernel" "exclude each other" 129 --all-user --all-kernel "$WL/exact23"
	recorded "-e page-faults" -e page-faults -o "$T/data" "$WL/exact23"
	evlist_has "-e page-faults" '^page-faults'

	recorded "two events" -e cpu-clock,page-faults -o "$T/data" "$WL/loop" -n 20000
	"$PERF" script -i "$T/data" -F event 2>/dev/null | sed 's/[: ]*$//' | sort | uniq -c >"$T/events"
	is "two events: the closing line names each, with its number" \
		"$(awk '$2 == "cpu-clock" { c = $1 } $2 == "page-faults" { p = $1 } END { print c " cpu-clock, " p " page-faults" }' "$T/events")" \
		"$(sed -n 's/.*(\(.*page-faults\), .*/\1/p' "$T/err")"

	recorded "-g" -g -c 1 -o "$T/data" "$WL/exact23"
	is "-g: every churn:alloc sample has its callers" 23 \
		"$("$PERF" script -i "$T/data" -F event,ip,sym 2>/dev/null | awk '/churn:|cpu-clock|cycles/ { on = /churn:alloc/ } on && / mid/' | wc -l)"
	recorded "--call-graph dwarf" --call-graph dwarf,4096 -c 1 -o "$T/data" "$WL/exact23"
	evlist_has "--call-graph dwarf,4096" 'sample_stack_user: 4096'
	recorded "--call-graph fp" --call-graph fp -c 1 -o "$T/data" "$WL/exact23"
	evlist_has "--call-graph fp" 'CALLCHAIN'
}

test_methods()
{
	local method

	for method in auto uprobe uprobe-session uprobe-multi uprobe-event; do
		recorded "--method $method" --method $method -c 1 -o "$T/data" "$WL/exact23" &&
			is "--method $method counts 23" "23 23 4416" \
				"$(tally "$T/data" total.allocs total.frees total.bytes | paste -sd' ')"
	done
}

test_times_and_filters()
{
	local pid uid

	recorded "-D" -D 3000 -c 1 -o "$T/data" "$WL/exact23"
	has "-D 3000: nothing of a command that ends before" ' 0 churn:alloc, 0 churn:free samples; 0 allocations' "$T/err"
	recorded "-D 600" -D 600 -c 1000 -o "$T/data" "$WL/loop" -s 3
	check "-D 600 leaves the first part out" python3 - "$T/out" "$T/err" <<-'END'
	import re, sys
	pairs = int(re.search(r"loop: (\d+)", open(sys.argv[1]).read()).group(1))
	allocs = int(re.search(r"; (\d+) allocations", open(sys.argv[2]).read()).group(1))
	print(f"# {allocs} of {pairs} recorded")
	assert 0 < allocs < pairs * 0.9
	END
	recorded "-m in pages" -m 64 -c 1 -o "$T/data" "$WL/exact23"
	has "-m 64: all there" ' 23 churn:alloc' "$T/err"
	recorded "-m in bytes" -m 1M -c 1 -o "$T/data" "$WL/exact23"
	has "-m 1M: all there" ' 23 churn:alloc' "$T/err"

	recorded "-C" -C 0 -c 100 -o "$T/data" -- taskset -c 0 "$WL/loop" -n 20000
	is "-C 0: samples of CPU 0 only" 0 "$(python3 tests/perfdata.py cpus "$T/data")"

	# A user of our own, for nobody may have other processes.
	uid=$((70000 + $$))
	spawn setpriv --reuid=$uid --clear-groups "$WL/loop" -s 30 >/dev/null
	pid=$spawned
	sleep 0.3
	recorded "-u" -u $uid --budget none -c 1000 -o "$T/data" -- sleep 0.5 &&
		is "-u USER: churn of that user's process, and of no other" "$pid" \
			"$("$PERF" script -i "$T/data" -F pid,event 2>/dev/null | awk '/churn:(alloc|free)/ { print $1 }' | sort -u | paste -sd' ')"
	kill "$pid"
	reap "$pid"
}

test_threads()
{
	local pid threads tid

	spawn "$WL/loop" -s 60 -t 3 >/dev/null
	pid=$spawned
	sleep 0.3
	mapfile -t threads < <(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 ! -name "$pid" -printf '%f\n' | sort -n)
	tid=${threads[1]}
	recorded "-t" -t "$tid" --budget none -e cpu-clock -c 100 -o "$T/data" -- sleep 1 &&
		is "-t: CPU samples, allocations and frees of that thread alone" \
			"$tid churn:alloc $tid churn:free $tid cpu-clock" \
			"$("$PERF" script -i "$T/data" -F tid,event 2>/dev/null | sed -n 's/:* *$//; s/^ *//; /churn:[af]\|cpu-cl/p' |
				awk '{ print $1, $2 }' | sort -u | paste -sd' ')"
	check "-t: about a third of what -p has" python3 - "$(json "$T/data" totals.allocs)" \
		"$(record --budget none -p "$pid" -e cpu-clock -c 100 -o "$T/data" -- sleep 1; json "$T/data" totals.allocs)" <<-'END'
	import sys
	one, all = float(sys.argv[1]), float(sys.argv[2])
	print(f"# {one} of {all}")
	assert 0.1 * all < one < 0.6 * all
	END
	kill "$pid"
	reap "$pid"
	refused_in_one_line "-t of a thread that has ended" "$tid.*no such thread" 1 -t "$tid"
	refused_in_one_line "-t with nonsense" "12x" 129 -t 12x
	refused_in_one_line "-t with -p" "exclude each other" 129 -t 1 -p 1

	recorded "-i" -i -e cpu-clock -c 1 -o "$T/data" "$WL/forkers"
	is "-i: the parent alone, not its children" 1 \
		"$("$PERF" script -i "$T/data" -F pid,event 2>/dev/null | awk '/churn:|cpu-clock/ { print $1 }' | sort -u | wc -l)"
	has "-i: with all that it allocates" ' 500 allocations, 0 lost' "$T/err"
	lacks "-i: children are not missed" 'ran for' "$T/err"
	recorded "-i, threads" -i -e cpu-clock -c 1 -o "$T/data" "$WL/threads4"
	is "-i: no thread that is started later" 1 \
		"$("$PERF" script -i "$T/data" -F tid,event 2>/dev/null | awk '/churn:[af]|cpu-clock/ { print $1 }' | sort -u | wc -l)"
}

as_nobody()
{
	setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all "$@"
}

test_permissions()
{
	local status=0 pid

	mkdir "$T/nobody"
	chown nobody "$T/nobody"
	# The build may be where nobody cannot read it.
	cp "$OUTPUT/perf-churn" "$WL/exact23" "$T/nobody/"
	as_nobody timeout "$LIMIT_S" "$T/nobody/perf-churn" record -o "$T/nobody/data" "$T/nobody/exact23" \
		>"$T/out" 2>"$T/err" || status=$?
	check "without privilege: fails (status $status)" test $status -ne 0 -a $status -lt 124
	has "without privilege: says which capability or sysctl" 'CAP_[A-Z_]+|perf_event_paranoid|unprivileged_bpf' "$T/err"
	check "without privilege: in one line" one_line "$T/err"
	check "without privilege: no empty file is left behind" test ! -e "$T/nobody/data"
	spawn sleep 30
	pid=$spawned
	status=0
	as_nobody timeout "$LIMIT_S" "$T/nobody/perf-churn" record -p "$pid" -o "$T/nobody/data" \
		>"$T/out" 2>"$T/err" -- sleep 0.2 || status=$?
	check "somebody else's process: fails (status $status)" test $status -ne 0 -a $status -lt 124
	has "somebody else's process: says why" 'CAP_[A-Z_]+|perf_event_paranoid|ermission|unprivileged_bpf' "$T/err"
	kill "$pid"
	reap "$pid"
}

test_open_files()
{
	local limit status out

	out=$(ulimit -Sn 300; perf-churn record -q -e cpu-clock -o "$T/data" sh -c 'ulimit -Sn')
	is "the command keeps its limit of open files" 300 "$out"
	out=$(ulimit -Sn 25; timeout "$LIMIT_S" perf-churn record -c 1 -e cpu-clock -o "$T/data" "$WL/exact23" 2>&1)
	check "a soft limit of 25 open files is no obstacle" grep -q ' 23 churn:alloc' <<<"$out" || diag "$out"
	for limit in 16 30 60 64 68 72 80 90 100; do
		status=0
		(ulimit -n $limit; record -c 1 -e cpu-clock -o "$T/data" "$WL/exact23") || status=$?
		if [ $status != 0 ]; then
			is "a hard limit of $limit open files: one line says what to do" \
				"Out of open files ($limit): raise the hard limit (ulimit -Hn), or record fewer processes or CPUs." \
				"$(grep -v 'addresses are hidden' "$T/err")"
		fi
	done
}

# without_tracefs COMMAND ARGS - where tracefs is there, but nothing can be written to it
without_tracefs()
{
	unshare -m sh -c 'mount -o remount,bind,ro "$0" && exec "$@"' "$tracefs" "$@"
}

test_read_only_tracefs()
{
	local status=0 tracefs=/sys/kernel/tracing

	mountpoint -q $tracefs || tracefs=/sys/kernel/debug/tracing
	if ! without_tracefs true 2>/dev/null; then
		skip "a read-only tracefs" "cannot mount it read-only here"
		return
	fi
	without_tracefs timeout "$LIMIT_S" perf-churn record -e cpu-clock -c 1 -o "$T/data" "$WL/exact23" \
		>"$T/out" 2>"$T/err" || status=$?
	is "a read-only tracefs: -c 1 records all the same" "0 23" "$status $(tally "$T/data" total.allocs)"
	has "a read-only tracefs: with a notice" 'No writable tracefs.*uprobe (session|_multi)' "$T/err"
	is "a read-only tracefs: of one line" 2 "$(wc -l <"$T/err")"
	without_tracefs timeout "$LIMIT_S" perf-churn record -e cpu-clock -c 1 --method uprobe-event -o "$T/data" \
		"$WL/exact23" >"$T/out" 2>"$T/err"
	is "a read-only tracefs, --method uprobe-event: fails" 1 $?
	has "a read-only tracefs, --method uprobe-event: names it" 'tracefs.*Read-only file system' "$T/err"
	check "a read-only tracefs, --method uprobe-event: in one line" one_line "$T/err"
}

# cut_short NAME FILE - a recording that was not finished: nobody takes it for a whole one
cut_short()
{
	local status=0

	check "$1: what fitted can be read" "$PERF" report -i "$2" --stdio >"$T/out" 2>"$T/err"
	has "$1: with its samples" "of event 'churn:alloc'" "$T/out"
	lacks "$1: stock perf warns of nothing" '[Ww]arning|WARNING|corrupt|truncated|[Ee]rror' "$T/err"
	check "$1: the report is printed" report -i "$2"
	has "$1: the report says that it was cut short" '^# warning  : the recording was cut short' "$T/out"
	lacks "$1: and not that nothing was lost" '^# lost     : nothing' "$T/out"
	is "$1: so does the JSON" True "$(json "$2" recording.truncated)"
	report --strict -i "$2" || status=$?
	is "$1: --strict fails" 1 $status
	has "$1: --strict says why" '^--strict: the recording was cut short' "$T/err"
}

# no_room NAME FILE REASON COMMAND... - record to it; the command ends by itself
no_room()
{
	local name=$1 file=$2 status=0

	timeout -k 5 "$LIMIT_S" "${@:4}" >"$T/out" 2>"$T/err" || status=$?
	is "$name: fails" 1 $status
	has "$name: says so" "$(basename "$file"): cannot write: $3" "$T/err"
	is "$name: says so once" 1 "$(grep -c "$3" "$T/err")"
	has "$name: the command runs to its end" '^loop: [0-9]+ pairs' "$T/out"
	is "$name: says how much there is" "Cut short, $(stat -c %s "$file" | awk '{ printf "%.3f", $1 / 1048576 }') MB" \
		"$(grep -o 'Cut short, .* MB' "$T/err")"
	cut_short "$name" "$file"
}

test_no_room()
{
	local kb

	no_room "a limit of the file's size" "$T/limited" 'File too large' bash -c "ulimit -f 64; exec \"\$@\"" - \
		perf-churn record -c 1 -o "$T/limited" "$WL/loop" -n 50000
	for kb in 64 2048; do
		mkdir "$T/small$kb"
		if ! mount -t tmpfs -o size=${kb}k perf-churn-test "$T/small$kb" 2>/dev/null; then
			skip "a full disk" "cannot mount a tmpfs here"
			return
		fi
		mounts+=("$T/small$kb")
		no_room "a full disk of $kb KB" "$T/small$kb/data" 'No space left on device' \
			perf-churn record -c 1 -o "$T/small$kb/data" "$WL/loop" -n 50000
	done
}

# signalled SIGNAL - of the recorder, for a launched command and for an attached one
signalled()
{
	local recorder target

	rm -f "$T/data"
	spawn perf-churn record -c 10 -o "$T/data" -- "$WL/loop" -s 50 >/dev/null 2>"$T/err"
	recorder=$spawned
	check "SIG$1: the command runs" wait_for 20 pgrep -P "$recorder" -x loop
	sleep 1
	target=$(pgrep -P "$recorder" -x loop)
	kill -"$1" "$recorder"
	check "SIG$1 ends a recording soon" wait_for 10 ended "$recorder"
	reap "$recorder"
	closing "SIG$1: the closing line is there"
	complete "SIG$1: the file is complete"
	check "SIG$1: with its samples" test "$(tally "$T/data" total.allocs)" -gt 0
	check "SIG$1: the command is ended, too" wait_for 5 test ! -d "/proc/$target"

	rm -f "$T/data"
	spawn "$WL/loop" -s 50 >/dev/null
	target=$spawned
	spawn perf-churn record --budget none -c 10 -o "$T/data" -p "$target" >/dev/null 2>"$T/err"
	recorder=$spawned
	sleep 1.5
	kill -"$1" "$recorder"
	check "SIG$1 ends an attached recording soon" wait_for 10 ended "$recorder"
	reap "$recorder"
	closing "SIG$1, attached: the closing line is there"
	complete "SIG$1, attached: the file is complete"
	check "SIG$1, attached: the target lives, without a breakpoint" wait_for 5 text_is "$target" same
	kill "$target"
	reap "$target"
}

ended()
{
	is_zombie "$1" || [ ! -d "/proc/$1" ]
}

test_dispatch()
{
	local status=0

	timeout "$LIMIT_S" "$PERF" churn record -c 1 -o "$T/data" "$WL/status" exit 5 >"$T/out" 2>"$T/err" || status=$?
	is "perf churn record: runs through stock perf, with the status" 5 $status
	closing "perf churn record: the closing line"
	"$PERF" evlist -v -i "$T/data" >"$T/out" 2>&1
	for event in churn:alloc churn:free churn:window; do
		has "the file names $event" "^$event" "$T/out"
	done
}

need_tracing
test_usage
test_targets
test_ending_target
test_output_file
test_exit_status
test_events
test_methods
test_times_and_filters
test_threads
test_permissions
test_open_files
test_read_only_tracefs
test_no_room
signalled INT
signalled TERM
test_dispatch
finish
