#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run-tests.sh - run all tests and count; the last line is "N passed, N failed, N skipped".
#
#   scripts/check-*.sh      one test each: passes when it exits 0
#   $OUTPUT/tests/*_test    unit tests, TAP by kselftest_harness.h
#   tests/*.sh              integration tests: executable, print TAP lines
#                           ok N - name / not ok N - name / ok N - name # SKIP why
#
# A test file may say in a comment line of its own
#   # timeout: SECONDS      instead of 120 (unit) or 300 (integration); five times as long with SAN=1
#   # needs: record         skipped where scripts/can-record.sh says why not
#
# TEST=NAME runs one of them: a name as printed, its last part, or a shell pattern.
# Exit status: 0 unless a test failed or, with CI=true, was skipped without being
# on the list below.
set -u
cd "$(dirname "$0")/.." || exit 1

OUTPUT=${OUTPUT:-build}
TEST=${TEST:-}
logs=$OUTPUT/tests/logs
export OUTPUT
export LC_ALL=C.UTF-8 TZ=UTC
# ASan must not hide what a crash would tell, and leaks are failures.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
# Tests ask no server but their own.
unset DEBUGINFOD_URLS
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LOCKED

# Skips that CI accepts, as "file: name of the test", each with its reason in a comment.
allowed_skips=(
)

passed=0 failed=0 skipped=0 forbidden=0

is_allowed() {
	local skip

	for skip in ${allowed_skips[@]+"${allowed_skips[@]}"}; do
		[ "$skip" != "$1" ] || return 0
	done
	return 1
}

# count_skip FILE NAME WHY
count_skip() {
	skipped=$((skipped + 1))
	printf '  skip      %s: %s: %s\n' "$1" "$2" "$3"
	if [ "${CI:-}" = true ] && ! is_allowed "$1: $2"; then
		forbidden=$((forbidden + 1))
	fi
}

# count_failure FILE NAME
count_failure() {
	failed=$((failed + 1))
	printf '  FAILED    %s: %s\n' "$1" "$2"
}

wanted() {
	[ -z "$TEST" ] && return
	# shellcheck disable=SC2254
	case $1 in
	$TEST | */$TEST | */$TEST.sh | */${TEST%_test}_test) return 0 ;;
	esac
	return 1
}

# header_value FILE KEY - what a comment line "# KEY: value" (or " * KEY: value") says.
header_value() {
	sed -n "s/^\(#\| \*\|\/\/\) $2: *//p" "$1" | head -n 1
}

# read_tap FILE LOG - count the TAP lines of LOG.
read_tap() {
	local line name

	while IFS= read -r line; do
		name=$(sed -E 's/^(not )?ok *[0-9]* *(- )?//; s/ *# *(SKIP|XFAIL|TODO).*//' <<<"$line")
		case $line in
		*'# SKIP'*) count_skip "$1" "$name" "$(sed -E 's/.*# SKIP *//' <<<"$line")" ;;
		'not ok'*) count_failure "$1" "$name" ;;
		*) passed=$((passed + 1)) ;;
		esac
	done < <(grep -aE '^(not )?ok\b' "$2")
}

# judge_end FILE LOG STATUS FAILED-BEFORE - what the TAP lines alone do not tell.
judge_end() {
	local plan results

	plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$2" | head -n 1)
	results=$(grep -acE '^(not )?ok\b' "$2")
	if [ "$3" -eq 124 ] || [ "$3" -eq 137 ]; then
		count_failure "$1" "timed out after $limit s"
	elif [ "$results" -eq 0 ]; then
		count_failure "$1" "printed no result (exit status $3)"
	elif [ -n "$plan" ] && [ "$plan" -ne "$results" ]; then
		count_failure "$1" "$results results where $plan were announced (exit status $3)"
	elif [ "$3" -ne 0 ] && [ "$3" -ne 4 ] && [ "$failed" -eq "$4" ]; then
		count_failure "$1" "exit status $3"
	fi
}

# run_logged NAME LIMIT COMMAND... - sets $log; returns the command's exit status.
run_logged() {
	local name=$1 status

	limit=$2
	[ "${SAN:-0}" != 1 ] || limit=$((limit * 5))
	shift 2
	log=$logs/${name//\//_}.log
	timeout -k 10 "$limit" "$@" </dev/null >"$log" 2>&1
	status=$?
	return $status
}

# report FILE SECONDS PASSED-BEFORE FAILED-BEFORE LOG
report() {
	printf '  %-9s %s: %d passed (%d s)\n' "$([ "$failed" -eq "$4" ] && echo ok || echo failed)" \
		"$1" $((passed - $3)) "$2"
	[ "$failed" -eq "$4" ] || show_log "$5"
}

show_log() {
	echo "  ---- $1 (its last 60 lines without passed tests)"
	grep -avE '^ok |^# +(RUN|OK) ' "$1" | tail -n 60 | sed 's/^/  | /'
	echo "  ----"
}

# run_tap FILE SOURCE DEFAULT-LIMIT
run_tap() {
	local p=$passed f=$failed start=$SECONDS value status why

	value=$(header_value "$2" needs)
	if [ "$value" = record ] && ! why=$(scripts/can-record.sh 2>&1); then
		count_skip "$1" "all" "$why"
		return
	fi
	value=$(header_value "$2" timeout)
	run_logged "$1" "${value:-$3}" "$1"
	status=$?
	read_tap "$1" "$log"
	judge_end "$1" "$log" "$status" "$f"
	report "$1" $((SECONDS - start)) "$p" "$f" "$log"
}

run_check() {
	local p=$passed f=$failed start=$SECONDS

	if run_logged "$1" 120 "$1"; then
		passed=$((passed + 1))
	else
		count_failure "$1" "exit status $?"
	fi
	report "$1" $((SECONDS - start)) "$p" "$f" "$log"
}

rm -rf "$logs"
mkdir -p "$logs"
for path in scripts/check-layers.sh scripts/check-docs.sh; do
	wanted "$path" && run_check "$path"
done
for src in tests/*_test.c; do
	path=$OUTPUT/${src%.c}
	[ -f "$src" ] && wanted "$path" && run_tap "$path" "$src" 120
done
for path in tests/*.sh; do
	wanted "$path" || continue
	if [ -x "$path" ]; then
		run_tap "$path" "$path" 300
	elif [ "$(head -c 2 "$path")" = '#!' ]; then
		count_failure "$path" "is not executable, so it was not run"
	fi
done

if [ "$((passed + failed + skipped))" -eq 0 ]; then
	echo "no test is named '$TEST'" >&2
	exit 1
fi
[ "$forbidden" -eq 0 ] || echo "CI accepts no skips but those listed in $0: $forbidden too many"
if [ -n "${SUDO_UID:-}" ]; then
	chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$OUTPUT"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$forbidden" -eq 0 ]
