#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 900
#
# perf churn report on what is no recording, or a broken one: one clear line, a status that is not 0, and
# never a crash. The good file comes from a recording; where that is not possible from tests/data.

. tests/lib.sh

crashes=0

# bad NAME FILE REGEX
bad()
{
	local status=0

	report --stdio -i "$2" || status=$?
	check "$1: fails, without a crash (status $status)" test $status -ne 0 -a $status -lt 124
	has "$1: says what is wrong" "$3" "$T/err"
	has "$1: names the file" "$(basename "$2")" "$T/err"
	check "$1: in one line" one_line "$T/err"
	[ "${partial:-0}" = 1 ] || is "$1: and prints no report" "" "$(cat "$T/out")"
}

# patch FILE OFFSET HEX - a copy in $T/patched
patch()
{
	cp "$1" "$T/patched"
	python3 - "$T/patched" "$2" "$3" <<-'END'
	import sys
	with open(sys.argv[1], "r+b") as f:
	    f.seek(int(sys.argv[2], 0))
	    f.write(bytes.fromhex(sys.argv[3]))
	END
}

# try_file WHAT FILE - no crash, no hang; sets $status
try_file()
{
	status=0
	timeout -k 5 "$LIMIT_S" perf-churn report --stdio --limit 5 -i "$2" >"$T/out" 2>"$T/err" || status=$?
	if [ $status -ge 124 ] || grep -Eq 'AddressSanitizer|runtime error|LeakSanitizer' "$T/err"; then
		crashes=$((crashes + 1))
		[ $crashes -gt 5 ] || { diag "$1: status $status"; diag_file "$T/err"; }
		[ -z "${SAVE:-}" ] || cp "$2" "$SAVE/$(tr -c 'a-z0-9\n' _ <<<"$1")"
	fi
}

test_no_recording()
{
	bad "a file that is not there" "$T/not-there" 'No such file'
	: >"$T/empty"
	bad "an empty file" "$T/empty" 'empty|too (short|small)|[Nn]o.*perf.data|not a perf'
	printf 'P' >"$T/one-byte"
	bad "a file of one byte" "$T/one-byte" 'too (short|small)|[Nn]o.*perf.data|not a perf'
	head -c 5000 /bin/ls >"$T/elf"
	bad "a program" "$T/elf" '[Nn]o.*perf.data|not a perf'
	yes text | head -n 500 >"$T/text"
	bad "a text" "$T/text" '[Nn]o.*perf.data|not a perf'
	head -c 8192 /dev/zero >"$T/zeros"
	bad "zeros" "$T/zeros" '[Nn]o.*perf.data|not a perf'
	bad "a folder" "$T" 'directory|folder|not a (regular|perf)'
	bad "a device" /dev/null 'null'
	if [ "$(id -u)" != 0 ]; then	# root reads everything
		touch "$T/unreadable"
		chmod 0 "$T/unreadable"
		bad "an unreadable file" "$T/unreadable" 'ermission denied'
	fi
}

test_header()
{
	patch "$GOOD" 0 32454c4946524550	# PERFILE2 as a big-endian machine writes it
	bad "the other byte order" "$T/patched" 'endian|byte order'
	patch "$GOOD" 0 50455246464c3345	# some later magic
	bad "another magic" "$T/patched" '[Nn]o.*perf.data|not a perf'
	patch "$GOOD" 8 0010000000000000	# header size 4096
	bad "a future header" "$T/patched" 'version|newer|header'
	patch "$GOOD" 16 0000010000000000	# attr entry size 65536
	bad "a future attr" "$T/patched" 'version|newer|attr|header'
	patch "$GOOD" 24 f0ffffffffffff7f
	bad "attrs beyond the file" "$T/patched" 'truncated|beyond|damaged|corrupt|bad|short'
	patch "$GOOD" 40 f0ffffffffffff7f
	# What is whole of the data is reported all the same.
	partial=1 bad "data beyond the file" "$T/patched" 'truncated|beyond|damaged|corrupt|bad|short'
	printf 'PERFILE2\020\0\0\0\0\0\0\0' >"$T/pipe"
	head -c 4096 /dev/zero >>"$T/pipe"
	bad "a pipe-mode file" "$T/pipe" 'pipe'
}

# A file cut off has lost at least a part of its features, which follow the data.
test_truncated()
{
	local size file at nr=0 silent=0 zero=0 long=0

	size=$(stat -c %s "$GOOD")
	mkdir "$T/cuts"
	python3 - "$GOOD" "$T/cuts" "${FUZZ_ROUNDS:-40}" <<-'END'
	import random, subprocess, sys
	bounds = [int(x) for x in subprocess.check_output(
	    ["python3", "tests/perfdata.py", "bounds", sys.argv[1]]).split()]
	data, nr = open(sys.argv[1], "rb").read(), int(sys.argv[3])
	size = len(data)
	random.seed(2)
	picked = bounds if len(bounds) <= nr * 4 else bounds[:nr // 2] + random.sample(bounds[nr // 2:-nr // 2], nr) + bounds[-nr // 2:]
	picked += [8, 16, 72, 103, 104, 105, bounds[0] - 1, size - 1]
	picked += random.sample(range(1, bounds[0]), nr // 4) + random.sample(range(bounds[0], size), nr // 2)
	picked += random.sample(range(bounds[-1], size), nr // 4)
	for at in set(x for x in picked if x < size):
	    open(f"{sys.argv[2]}/{at}", "wb").write(data[:at])
	END
	for file in "$T"/cuts/*; do
		at=$(basename "$file")
		try_file "cut at $at of $size" "$file"
		nr=$((nr + 1))
		[ $status -ne 0 ] || { zero=$((zero + 1)); [ $zero -gt 3 ] || diag "status 0: cut at $at of $size"; }
		[ -s "$T/err" ] || { silent=$((silent + 1)); diag "silent: cut at $at of $size"; }
		[ "$(wc -l <"$T/err")" -le 1 ] || { long=$((long + 1)); [ $long -gt 3 ] || diag_file "$T/err"; }
	done
	check "truncated at $nr places, record boundaries and others: no crash" test $crashes = 0
	check "truncated: the status is never 0" test $zero = 0
	check "truncated: always says something" test $silent = 0
	check "truncated: in one line" test $long = 0
	crashes=0
}

test_damaged()
{
	local file nr=0 what long=0

	mkdir "$T/damaged"
	python3 - "$GOOD" "$T/damaged" "${FUZZ_ROUNDS:-80}" <<-'END'
	import random, sys
	good = open(sys.argv[1], "rb").read()
	for seed in range(int(sys.argv[3])):
	    data, rng = bytearray(good), random.Random(seed)
	    where = rng.choice((104, 4096, len(data)))
	    for _ in range(rng.choice((1, 3, 20))):
	        at = rng.randrange(8, min(where, len(data)) - 8)
	        junk = rng.choice((b"\xff" * 8, b"\0" * 8, bytes([rng.randrange(256)]), rng.randbytes(4)))
	        data[at:at + len(junk)] = junk
	    open(f"{sys.argv[2]}/{seed}", "wb").write(data)
	END
	for file in "$T"/damaged/*; do
		try_file "damaged, seed $(basename "$file")" "$file"
		nr=$((nr + 1))
		# A damaged build-id is one thing, a damaged record another.
		[ "$(grep -vc 'was replaced since it was recorded' "$T/err")" -le 1 ] || { long=$((long + 1)); [ $long -gt 3 ] || diag_file "$T/err"; }
		[ $((nr % 10)) = 0 ] || continue
		for what in --json --folded; do
			timeout -k 5 "$LIMIT_S" perf-churn report $what -i "$file" >/dev/null 2>&1
			[ $? -lt 124 ] || crashes=$((crashes + 1))
		done
	done
	check "$nr files with damaged bytes: no crash, no hang" test $crashes = 0
	check "$nr files with damaged bytes: at most one line about each" test $long = 0
	crashes=0
}

# perf's own recordings are good input, with less in them.
test_stock_recordings()
{
	local status=0

	if ! "$PERF" record -q -g -e cpu-clock -o "$T/stock" "$WL/shares" 1000 2>/dev/null; then
		skip "a recording of stock perf" "perf record does not work here"
		return
	fi
	report --stdio -i "$T/stock" || status=$?
	check "a recording of stock perf, without churn events: no crash (status $status)" test $status -lt 124
	cat "$T/out" "$T/err" >"$T/both"
	has "a recording of stock perf: says what is missing" 'churn' "$T/both"
}

make_good()
{
	if scripts/can-record.sh >/dev/null 2>&1; then
		record -g -c 1 -o "$T/good" "$WL/exact23" && GOOD=$T/good && return
		fail "a good recording"
		diag_file "$T/err"
	fi
	GOOD=$(find tests/data -name '*.data' -size -2000k 2>/dev/null | sort | head -n 1)
	[ -n "$GOOD" ] || skip_all "there is no recording to damage"
}

command -v perf-churn >/dev/null || { fail "perf-churn is built"; finish; }
build_workloads
test_no_recording
make_good
check "the good file is good" report --stdio -i "$GOOD" || diag_file "$T/err"
test_header
test_truncated
test_damaged
test_stock_recordings
finish
