# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# lib.sh - what the integration tests share. Sourced by tests/NAME.sh:
#
#	. tests/lib.sh
#	need_tracing
#	check "name of the claim" command args
#	finish
#
# Prints TAP lines; the exit status is 1 if one is "not ok". Every test gets an empty scratch folder $T,
# which is removed at the end, together with the processes started by spawn.
#
# From the environment: OUTPUT (build folder), PERF (stock perf), KEEP=1 (keep $T), SAN=1 (times may be
# long).

set -u
export LC_ALL=C
unset DEBUGINFOD_URLS

NAME=$(basename "$0" .sh)
OUTPUT=$(realpath -m "${OUTPUT:-build}")
WL=$OUTPUT/tests/workloads
PERF=${PERF:-perf}
# Debian's own python3 first: a version manager's stand-in for it costs half a second a call.
PATH=$OUTPUT:/usr/bin:$PATH
export PATH OUTPUT
# Results go here, even from a test whose own output is redirected.
exec 3>&1
T=$(mktemp -d "/tmp/perf-churn-$NAME.XXXXXX") || exit 1
# Some tests run parts of themselves as nobody.
chmod 755 "$T"
LIMIT_S=${LIMIT_S:-60}
[ "${SAN:-0}" = 1 ] && LIMIT_S=$((LIMIT_S * 5))

tap_nr=0
tap_failed=0
pids=()
mounts=()

# --- cleaning up -------------------------------------------------------------------------------

# Only children of ours that were not waited for, so no number can have been given to another process.
cleanup()
{
	local p

	trap - EXIT
	for p in ${pids[@]+"${pids[@]}"}; do
		kill -9 "$p" 2>/dev/null && wait "$p" 2>/dev/null
	done
	for p in ${mounts[@]+"${mounts[@]}"}; do
		umount "$p"
	done
	if [ "${KEEP:-0}" = 1 ]; then
		echo "# kept $T"
	else
		rm -rf "$T"
	fi
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# spawn COMMAND ARGS - run in the background; its pid in $spawned. Default signals, unlike plain "&",
# which makes a child of a script ignore SIGINT.
spawn()
{
	# Without a redirection of its own a background command reads from /dev/null.
	env --default-signal=INT,QUIT "$@" <&0 &
	spawned=$!
	pids+=("$spawned")
}

# reap PID - wait for a spawned process; its status. Kills it after $LIMIT_S.
reap()
{
	local pid=$1 kept=() p left=$((LIMIT_S * 20)) status

	while kill -0 "$pid" 2>/dev/null && [ $((left--)) -gt 0 ] && ! is_zombie "$pid"; do
		sleep 0.05
	done
	[ $left -gt 0 ] || { diag "process $pid did not end within $LIMIT_S s"; kill -9 "$pid"; }
	wait "$pid" 2>/dev/null
	status=$?
	for p in "${pids[@]}"; do
		[ "$p" = "$pid" ] || kept+=("$p")
	done
	pids=(${kept[@]+"${kept[@]}"})
	return $status
}

is_zombie()
{
	grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# --- TAP ---------------------------------------------------------------------------------------

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /' >&3
}

diag_file()
{
	[ -s "$1" ] && head -n "${2:-15}" "$1" | cut -c1-300 | sed "s|^|#   $(basename "$1"): |" >&3
}

pass()
{
	echo "ok $((++tap_nr)) - $NAME: $1" >&3
}

fail()
{
	echo "not ok $((++tap_nr)) - $NAME: $1" >&3
	tap_failed=1
}

skip()
{
	echo "ok $((++tap_nr)) - $NAME: $1 # SKIP $2" >&3
}

skip_all()
{
	skip "all" "$1"
	finish
}

# check NAME COMMAND ARGS - the command succeeds
check()
{
	local name=$1

	shift
	if "$@"; then
		pass "$name"
	else
		fail "$name"
		diag "failed: $*" | cut -c1-300
		return 1
	fi
}

# is NAME WANT GOT
is()
{
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1"
		diag "want: $2"
		diag "got:  $3"
		return 1
	fi
}

# has NAME REGEX FILE - a line of the file matches (ERE)
has()
{
	if grep -Eq -- "$2" "$3"; then
		pass "$1"
	else
		fail "$1"
		diag "no line matches: $2"
		diag_file "$3"
		return 1
	fi
}

# lacks NAME REGEX FILE - no line of the file does
lacks()
{
	if [ -e "$3" ] && ! grep -Eq -- "$2" "$3"; then
		pass "$1"
	else
		fail "$1"
		diag "must not match: $2"
		grep -E -m 5 -- "$2" "$3" | sed 's/^/#   /' >&3
		return 1
	fi
}

one_line()
{
	[ "$(wc -l <"$1")" = 1 ] || { diag_file "$1"; return 1; }
}

finish()
{
	echo "1..$tap_nr" >&3
	exit $tap_failed
}

# --- what is needed ----------------------------------------------------------------------------

build_workloads()
{
	mkdir -p "$OUTPUT/tests" &&
	(
		flock 9
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CFLAGS \
			make -s -f tests/workloads.mk OUTPUT="$OUTPUT" >"$T/make.log" 2>&1
	) 9>"$OUTPUT/tests/.lock" && return
	fail "the workloads build"
	diag_file "$T/make.log" 30
	finish
}

# The scripts that call it also say "needs: record" on top, so that run-tests.sh skips them as a whole.
need_tracing()
{
	local why

	command -v perf-churn >/dev/null || { fail "perf-churn is built"; finish; }
	why=$(scripts/can-record.sh 2>&1) || skip_all "$why"
	build_workloads
}

# need_tool TOOL NAME - or skip the test NAME
need_tool()
{
	command -v "$1" >/dev/null && return
	skip "$2" "$1 is not installed"
	return 1
}

# --- the program under test --------------------------------------------------------------------

# record OPTIONS - its stdout and stderr in $T/out and $T/err
record()
{
	timeout -k 5 "$LIMIT_S" perf-churn record "$@" >"$T/out" 2>"$T/err"
}

# report OPTIONS - likewise in $T/out and $T/err
report()
{
	timeout -k 5 "$LIMIT_S" perf-churn report "$@" >"$T/out" 2>"$T/err"
}

# recorded NAME OPTIONS - record, which must succeed
recorded()
{
	local name=$1

	shift
	record "$@" && return
	fail "$name"
	diag "status $? of: perf-churn record $*"
	diag_file "$T/err"
	return 1
}

# json FILE FILTER - a value of perf churn report --json
json()
{
	perf-churn report --json -i "$1" 2>"$T/json.err" | python3 -c '
import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    d = d[int(key)] if isinstance(d, list) else d[key]
print(d)' "$2" || diag_file "$T/json.err"
}

# tally FILE [ARGS] - counts from the samples, by stock perf and tests/tally.py
tally()
{
	local file=$1

	shift
	"$PERF" script -i "$file" -F pid,tid,time,period,event,trace 2>"$T/script.err" |
		python3 tests/tally.py "$@"
}

# closing NAME - $T/err ends in perf's kind of closing line
closing()
{
	has "$1" '^\[ perf churn record: Captured and wrote [0-9.]+ MB .* \(([0-9]+ [a-z-]+[:a-zA-Z]*, )+[0-9]+ churn:alloc, [0-9]+ churn:free samples; [0-9]+ allocations?, [0-9]+ lost.*\) \]$' "$T/err"
}

# wait_for SECONDS COMMAND ARGS - until it succeeds
wait_for()
{
	local left=$(($1 * 20))

	shift
	until "$@" 2>/dev/null; do
		[ $((left--)) -gt 0 ] || return 1
		sleep 0.05
	done
}

# text_is PID same|patched - does the target's libc text equal its file? A breakpoint is how one sees
# from outside that a recorder is attached, or that it left something behind.
text_is()
{
	local status=0

	python3 tests/libc_text.py "$1" >"$T/text" || status=$?
	[ $status = "$([ "$2" = same ] && echo 0 || echo 1)" ]
}
