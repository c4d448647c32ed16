#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# Stacks from programs that come and go: whatever a process does with its mappings, each stack reaches
# the thread's start, and no sample is lost.

. tests/lib.sh

src=tests/workloads/walker

build_programs()
{
	local flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fomit-frame-pointer -fno-builtin"

	# shellcheck disable=SC2086
	gcc $flags -pthread -o "$T/busy" $src/busy.c &&
		gcc $flags -shared -fPIC -o "$T/library.so" $src/library.c &&
		gcc $flags -shared -fPIC -DFRAME=600 -o "$T/other.so" $src/library.c
}

# whole NAME - all stacks in $T/data are, and there is a sample for each allocation
whole()
{
	local allocs lost

	"$PERF" script -i "$T/data" --no-inline --max-stack 1024 -F comm,tid,time,event,ip,sym 2>"$T/script.err" |
		python3 tests/roots.py >"$T/roots"
	allocs=$(sed -n 's/.*; \([0-9]*\) allocations\?, .*/\1/p' "$T/err")
	lost=$(sed -n 's/.* allocations\?, \([0-9]*\) lost.*/\1/p' "$T/err")
	is "$1: nothing is lost" 0 "$lost" || diag_file "$T/err"
	is "$1: whole stacks, one for each allocation" "churn:alloc $allocs 0" "$(head -n 1 "$T/roots")" ||
		grep '^#' "$T/roots" | cut -c1-400 >&3
	has "$1: and for frees" '^churn:free [1-9][0-9]* 0$' "$T/roots"
	lacks "$1: stock perf warns of nothing" 'out of order|lost|corrupt' "$T/script.err"
}

# run NAME COMMAND - launch it
run()
{
	local name=$1

	shift
	recorded "$name" -c 1 -m 64M -o "$T/data" -- "$@" && whole "$name"
}

# attached NAME WAIT_FILE PID - record what runs already, and let it go on
attached()
{
	spawn perf-churn record -c 1 -p "$3" -o "$T/data" >"$T/out" 2>"$T/err"
	wait_for 30 text_is "$3" patched || fail "$1: the recorder attaches"
	sleep 0.3
	touch "$2"
	reap "$spawned"
	is "$1: status" 0 $?
	whole "$1"
	rm -f "$2"
}

# Programs that have ended, or made way for the next, before their mappings were read.
test_execs()
{
	run "programs in turn" sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do env env env env ls / >/dev/null; done'
	mkdir "$T/bin"
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		cp /bin/ls "$T/bin/ls$i"
	done
	# shellcheck disable=SC2016
	run "programs never seen before" sh -c 'for i in "$0"/*; do $i / >/dev/null; done' "$T/bin"
}

test_forks()
{
	run "children of children" python3 -c '
import os
for i in range(100):
    p = os.fork()
    if p == 0:
        if os.fork() == 0:
            x = [bytes(5000 + i) for i in range(20)]
        os._exit(0)
    os.waitpid(p, 0)'
}

test_threads()
{
	local target

	run "a process without its leader" "$T/busy" -l -t 1 -n 200 -o "$T/library.so"
	spawn "$T/busy" -t 40 -n 300 -w "$T/go"
	target=$spawned
	attached "40 threads, attached" "$T/go" "$target"
	reap "$target"
}

test_libraries()
{
	local target

	spawn "$T/busy" -n 400 -w "$T/go" -o "$T/library.so"
	target=$spawned
	attached "a library loaded after attaching" "$T/go" "$target"
	reap "$target"

	cp "$T/library.so" "$T/gone.so"
	cp "$T/busy" "$T/busy_gone"
	spawn "$T/busy_gone" -n 400 -w "$T/go" -o "$T/other.so"
	target=$spawned
	sleep 0.3
	rm "$T/busy_gone"
	attached "a program whose file is deleted" "$T/go" "$target"
	reap "$target"
}

test_mappings()
{
	run "3000 mappings of a file" "$T/busy" -m "$T/library.so"
	run "3000 pages of code made at run time" "$T/busy" -n 5000 -j
}

test_namespace()
{
	mkdir "$T/ns"
	unshare -m true 2>/dev/null || { skip "another mount namespace" "unshare -m does not work"; return; }
	# shellcheck disable=SC2016
	run "another mount namespace" unshare -m sh -c '
		mount -t tmpfs none "$0/ns" && cp "$0/busy" "$0/ns/inside" && cp "$0/other.so" "$0/ns" &&
		"$0/ns/inside" -n 200 -o "$0/ns/other.so"' "$T"
}

test_lost_stack()
{
	run "a thread without a stack" "$T/busy" -s
	is "a thread without a stack: the target is fine" fine "$(cat "$T/out")"
}

# The recorder, as root, reads what the target's author has written.
test_damaged()
{
	local seed

	for seed in 1 2 3 4 5 6; do
		python3 - "$T/busy" "$T/damaged" "$seed" <<-'END'
			import random, re, subprocess, sys
			old, new, seed = sys.argv[1:]
			random.seed(int(seed))
			data = bytearray(open(old, "rb").read())
			text = subprocess.run(["readelf", "-SW", old], capture_output=True, text=True).stdout
			for offset, size in re.findall(r"\.eh_frame(?:_hdr)?\s+\S+\s+\w+ (\w+) (\w+)", text):
			    for _ in range(1 + int(seed) * int(seed) * 4):
			        data[int(offset, 16) + random.randrange(int(size, 16))] = random.randrange(256)
			open(new, "wb").write(data)
		END
		chmod +x "$T/damaged"
		recorded "damaged CFI $seed" -c 1 -o "$T/data" -- "$T/damaged" -n 100 || continue
		is "damaged CFI $seed: the target is fine" fine "$(cat "$T/out")"
		check "damaged CFI $seed: the report reads the file" report -i "$T/data"
	done
}

# Its rings hold what comes meanwhile.
test_stopped()
{
	local target

	spawn "$T/busy" -n 4000 -w "$T/go"
	target=$spawned
	spawn perf-churn record -c 1 -m 64M -p "$target" -o "$T/data" >"$T/out" 2>"$T/err"
	wait_for 30 text_is "$target" patched || fail "a stopped recorder: attaches"
	touch "$T/go"
	sleep 0.2
	kill -STOP "$spawned"
	sleep 1
	kill -CONT "$spawned"
	reap "$spawned"
	is "a stopped recorder: status" 0 $?
	whole "a stopped recorder"
	reap "$target"
	rm -f "$T/go"
}

# objects_of PID - BPF objects that the process holds
no_objects_of()
{
	! bpftool link show 2>/dev/null | grep -q "($1)" && ! bpftool prog show 2>/dev/null | grep -q "($1)"
}

test_killed()
{
	local target recorder

	PATH=$PATH:/usr/sbin
	need_tool bpftool "a killed recorder leaves no BPF objects" || return
	spawn "$T/busy" -n 100000 -o "$T/library.so"
	target=$spawned
	spawn perf-churn record -c 1 -p "$target" -o "$T/data" 2>/dev/null
	recorder=$spawned
	wait_for 30 text_is "$target" patched || fail "a killed recorder: attaches"
	kill -9 "$recorder"
	reap "$recorder" 2>/dev/null
	check "a killed recorder leaves no BPF objects" wait_for 20 no_objects_of "$recorder"
	check "a killed recorder leaves no breakpoint" wait_for 20 text_is "$target" same
	check "the target of a killed recorder lives" kill -0 "$target"
	kill "$target"
	reap "$target"
}

need_tracing
build_programs || { fail "the programs build"; finish; }
test_execs
test_forks
test_threads
test_libraries
test_mappings
test_namespace
test_lost_stack
test_damaged
test_stopped
test_killed
finish
