#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# Programs that give up system calls by seccomp are not killed for one of the library's, and are counted
# all the same; and programs of another libc than the library is made for.

. tests/lib.sh

C=$OUTPUT/tests/preload
LIB=$OUTPUT/libperf-churn.so
NR_BLOCKS=20000

# confined_same NAME NR-THREADS COMMAND - the same output and status, and all is counted
confined_same()
{
	local name=$1 nr=$((NR_BLOCKS * ($2 + 1))) status options

	shift 2
	want="$("$@"; echo "status $?")"
	is "$name: idle" "$want" "$(LD_PRELOAD=$LIB "$@"; echo "status $?")"
	for options in "-c 1" "-c 100" "--bytes 10K" ""; do
		# shellcheck disable=SC2086
		record --method preload $options -m 16M -o "$T/data" -- "$@"
		status=$?
		is "$name, recorded${options:+ with }$options" "$want" "$(cat "$T/out"; echo "status $status")"
		# What was counted since the last sample is lost to a bare exit.
		check "$name, recorded${options:+ with }$options: calls are counted" \
			test "$(tally "$T/data" windows.total.nr_allocs)" -ge $((nr / 2))
	done
	record --method preload -c 1 -m 16M -o "$T/data" -- "$@"
	check "$name: all of them, when each is a sample" test "$(tally "$T/data" total.allocs)" -ge "$nr"
	record --method uprobe -c 100 -o "$T/data" -- "$@"
	status=$?
	is "$name, recorded by uprobes" "$want" "$(cat "$T/out"; echo "status $status")"
}

# is_heard PID - does the kernel count a listener? It has written to the library's first variable then.
is_heard()
{
	python3 - "$1" "$LIB" "0x$(nm -D "$LIB" | awk '$3 == "perf_churn_listeners" { print $1 }')" <<'EOP'
import sys

pid, library, address = sys.argv[1], sys.argv[2], int(sys.argv[3], 16)
with open(f"/proc/{pid}/maps") as maps:
    base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(library))
with open(f"/proc/{pid}/mem", "rb") as mem:
    mem.seek(base + address)
    sys.exit(not int.from_bytes(mem.read(2), "little"))
EOP
}

# attached_confined HOW - the recorder comes when the program is confined already
attached_confined()
{
	local target recorder

	mkfifo "$T/in.$1"
	exec 5<>"$T/in.$1"
	LD_PRELOAD=$LIB spawn "$C/confined" "-$1" <&5 >"$T/target.out"
	target=$spawned
	echo >&5
	wait_for 10 grep -q '^sum 0$' "$T/target.out"
	spawn perf-churn record -p "$target" -o "$T/data" 2>"$T/err"
	recorder=$spawned
	wait_for 20 is_heard "$target" || { fail "$1: the recorder attaches"; diag_file "$T/err"; }
	echo >&5
	exec 5>&-
	reap "$target"
	is "$1, attached to: its status" 5 $?
	is "$1, attached to: its output" "sum 2538256" "$(tail -n 1 "$T/target.out")"
	reap "$recorder"
	is "$1, attached to: the recorder's status" 0 $?
	check "$1, attached to: calls are counted" test "$(tally "$T/data" windows.total.nr_allocs)" -ge 1000
}

test_musl()
{
	need_tool musl-gcc "musl" || return
	musl-gcc -O1 -g -fno-builtin -o "$T/musl" tests/workloads/exact23.c || { fail "a program for musl is built"; return; }
	recorded "musl" -c 10 -o "$T/data" -- "$T/musl" || return
	has "musl: why not by preload is said" "not loaded by glibc's dynamic loader" "$T/err"
	is "musl: by uprobes" uprobe "$(json "$T/data" recording.method)"
	is "musl: with --method=preload that is an error" 1 \
		"$(record --method=preload -o "$T/data" -- "$T/musl"; echo $?)"
	check "musl: of one line" one_line "$T/err"
	recorded "musl, -c 1" -c 1 -o "$T/data" -- "$T/musl" &&
		is "musl: each call is counted" "23 23" "$(tally "$T/data" total.allocs total.frees | paste -sd' ')"
	# A shell of glibc hands its environment on.
	recorded "musl behind a shell" --method preload -o "$T/data" -- /bin/sh -c "$T/musl; echo status \$?"
	is "musl behind a shell: it runs" "status 0" "$(cat "$T/out")"
	is "musl with the library: it runs" "status 0" "$(LD_PRELOAD=$LIB "$T/musl" 2>&1; echo "status $?")"
}

need_tracing
confined_same "strict" 0 "$C/confined" strict
confined_same "a filter by prctl()" 0 "$C/confined" filter
confined_same "a filter by syscall()" 0 "$C/confined" syscall
confined_same "threads" 4 "$C/confined" syscall 4
attached_confined strict
attached_confined filter
test_musl
finish
