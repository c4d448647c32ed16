#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# perf churn list: the probes it names are where it says, they cost something, and the target has none of
# them afterwards.

. tests/lib.sh

# list ARGS - its stdout and stderr in $T/out and $T/err
list()
{
	timeout -k 5 "$LIMIT_S" perf-churn list "$@" >"$T/out" 2>"$T/err"
}

as_nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@" >"$T/out" 2>"$T/err"
}

# of EXPRESSION - about d, the JSON in $T/out
of()
{
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
probes = [p for o in d["objects"] for p in o["probes"]]
print(eval(sys.argv[2]))' "$T/out" "$1"
}

# fails NAME STATUS REGEX ARGS
fails()
{
	local status=0

	list "${@:4}" || status=$?
	is "$1: status" "$2" $status
	has "$1: says why" "$3" "$T/err"
	check "$1: in one line" one_line "$T/err"
	check "$1: prints nothing" test ! -s "$T/out"
}

test_bad_input()
{
	local pid thread

	fails "no target" 129 '^Nothing to list: give a command or -p <pid>$'
	fails "two targets" 129 '^-p, a command and --env exclude each other$' -p 1 cat
	fails "--env and a target" 129 '^-p, a command and --env exclude each other$' --env cat
	fails "--env as JSON" 129 '^--env is for shells' --env --json
	fails "-p with nonsense" 129 '^-p 12x: not a list of process ids$' -p 12x
	fails "no such command" 1 '^no-such-command: command not found$' no-such-command
	fails "a program without an allocator" 1 '^No allocator that is known' "$WL/bump_static"
	pid=$(($(cat /proc/sys/kernel/pid_max) - 1))
	while [ -e "/proc/$pid" ]; do
		pid=$((pid - 1))
	done
	fails "no such process" 1 "^Process $pid: no such process$" -p "$pid"

	spawn "$WL/loop" -s 60 -t 2 >/dev/null
	pid=$spawned
	wait_for 10 test "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1
	sleep 0.2
	thread=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 ! -name "$pid" -printf '%f\n' | head -n 1)
	fails "the id of a thread" 1 "^$thread is a thread of process $pid: use -p $pid$" -p "$thread"
	fails "one of two is missing" 1 "no such process$" -p "$pid,$((pid + 4000000))"
	kill "$pid"
	reap "$pid"
}

# What objdump shows at the places that $T/out names in an object must be what is listed there.
compare_with_objdump()
{
	python3 - "$T/out" "$1" <<'EOF'
import json, re, subprocess, sys

doc = json.load(open(sys.argv[1]))
object = next(o for o in doc["objects"] if o["path"] == sys.argv[2])
jumps = {"jz": "je", "jnz": "jne"}
bad = 0
for p in object["probes"]:
    entry, address = p["address"] - p["delta"], p["address"]
    text = subprocess.run(["objdump", "-d", "-w", "--no-show-raw-insn",
                           f"--start-address={entry}", f"--stop-address={address + 16}", sys.argv[2]],
                          capture_output=True, text=True).stdout
    lines = dict((int(a, 16), i.split("#")[0].split("<")[0].split()) for a, i in
                 re.findall(r"^ *([0-9a-f]+):\t(.*)$", text, re.M))
    names = subprocess.run(["nm", "-D", "--defined-only", sys.argv[2]], capture_output=True, text=True).stdout
    names += subprocess.run(["nm", "--defined-only", sys.argv[2]], capture_output=True, text=True).stdout
    listed = p["instruction"].split()
    listed[0] = jumps.get(listed[0], listed[0])
    found = lines.get(address, ["nothing"])
    operands = lambda words: re.sub(r"0x0*|[ ,]", "", "".join(words[1:]))
    if found[0].rstrip("qlwb") != listed[0].rstrip("qlwb") or operands(found) != operands(listed):
        print(f"{p['symbol']}+{p['delta']}: listed {listed}, objdump has {found}")
        bad = 1
    if not re.search(rf"^0*{entry:x} \w {p['symbol']}(@|$)", names, re.M):
        print(f"{p['symbol']}: not at {entry:#x}")
        bad = 1
    emulated = found[0] in ("push", "nop", "jmp", "call") or found[0][0] == "j"
    if emulated != (p["class"] == "emulated"):
        print(f"{p['symbol']}: class {p['class']} of {found}")
        bad = 1
    # Linked at its file offset, or listed wrongly: the segments tell.
    segments = subprocess.run(["readelf", "-lW", sys.argv[2]], capture_output=True, text=True).stdout
    offsets = [address - int(v, 16) + int(o, 16) for o, v, size in
               re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) \S+ 0x([0-9a-f]+)", segments)
               if int(v, 16) <= address < int(v, 16) + int(size, 16)]
    if offsets != [p["offset"]]:
        print(f"{p['symbol']}: offset {p['offset']}, want {offsets}")
        bad = 1
sys.exit(bad)
EOF
}

test_libc()
{
	local libc

	check "a command" list --json -- cat
	libc=$(of 'd["objects"][0]["path"]')
	is "its allocator is libc's" "1 glibc libc.so.6" \
		"$(of 'len(d["objects"]), d["objects"][0]["family"]' | tr -d "(),'") $(basename "$libc")"
	is "all functions are there" \
		"aligned_alloc? calloc free malloc memalign posix_memalign pvalloc realloc valloc" \
		"aligned_alloc? $(of '" ".join(sorted(set(p["function"] for p in probes) - {"aligned_alloc"}))')"
	need_tool objdump "probes are where objdump has such instructions" &&
		check "probes are where objdump has such instructions" compare_with_objdump "$libc"
	is "costs are measured" True "$(of 'd["measured"] and all(p["ns"] > 10 and p["ns_mad"] >= 0 for p in probes)')"
	is "realloc pays for its return, free does not" "entry, return|entry" \
		"$(of '"|".join(p["pays_for"] for f in ("realloc", "free") for p in probes if p["function"] == f)')"
	cp "$T/out" "$T/json"
	list -- cat
	is "the table has the same rows" \
		"$(python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["objects"][0]["probes"]:
    print(p["function"], p["symbol"] + "+" + str(p["delta"]), p["instruction"], p["class"], p["pays_for"])' "$T/json")" \
		"$(sed -n '/^ /s/^ *//p' "$T/out" | sed -E 's/ +[0-9,]+ +[0-9,]+$//; s/  +/ /g')"
	has "and the method" '^# uprobe   : uprobe' "$T/out"
}

test_process()
{
	local pid

	spawn "$WL/loop" -s 60 >/dev/null
	pid=$spawned
	wait_for 10 grep -q libc.so "/proc/$pid/maps"
	check "a process" list --json -p "$pid"
	is "has the probes that a command has" \
		"$(python3 -c 'import json, sys; print([(p["symbol"], p["offset"]) for p in json.load(open(sys.argv[1]))["objects"][0]["probes"]])' "$T/json")" \
		"$(of '[(p["symbol"], p["offset"]) for p in probes]')"
	check "and none is planted" text_is "$pid" same
	spawn "$WL/loop" -s 60 >/dev/null
	wait_for 10 grep -q libc.so "/proc/$spawned/maps"
	list --json -p "$pid,$spawned"
	is "two processes: their libc is listed once" 1 "$(of 'len(d["objects"])')"
	kill "$pid" "$spawned"
	reap "$pid"
	reap "$spawned"
}

test_other_objects()
{
	cat >"$T/wrapper.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *malloc(size_t size)
{
	return ((void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"))(size);
}

/* No instruction that the kernel emulates comes before the argument is gone. */
__asm__(".text\n.globl free\n.type free, @function\n"
	"free: test %rdi, %rdi\n mov %rsi, %rdi\n ret\n.size free, . - free");
EOF
	echo 'int main(void) { return 0; }' >"$T/main.c"
	gcc -fno-builtin -shared -fPIC -o "$T/libwrapper.so" "$T/wrapper.c"
	gcc -o "$T/wrapped" "$T/main.c" -Wl,--no-as-needed -L"$T" -lwrapper
	export LD_LIBRARY_PATH=$T
	check "a program with an interposer" list --json -- "$T/wrapped"
	is "both allocators are listed" "generic glibc" \
		"$(of '" ".join(sorted((o["family"] for o in d["objects"]), key=lambda f: f != "generic"))')"
	is "the interposer's calls pay for their returns" "2 {'entry, return'}" \
		"$(of 'str(len(d["objects"][0]["probes"])) + " " + str({p["pays_for"] for o in d["objects"] if o["family"] == "generic" for p in o["probes"]})')"
	is "what cannot be emulated is single-stepped, and costs more" "single-stepped True" \
		"$(of '" ".join(str(v) for p in probes if p["function"] == "free" and p["class"] != "emulated"
			for v in (p["class"], p["ns"] > min(q["ns"] for q in probes)))')"

	if gcc -static -o "$T/static" -x c - <<<'#include <stdlib.h>
int main(void) { free(malloc(1)); return 0; }'; then
		check "a static program" list --json -- "$T/static"
		is "has its own" "$T/static glibc" "$(of 'd["objects"][0]["path"] + " " + d["objects"][0]["family"]')"
		need_tool objdump "a static program's probes" &&
			check "a static program's probes are there" compare_with_objdump "$T/static"
	fi
	LD_LIBRARY_PATH=$T/$(printf 'odd\033[1mname')
	mkdir "$LD_LIBRARY_PATH"
	cp "$T/libwrapper.so" "$LD_LIBRARY_PATH"
	check "a path that could do things to a terminal" list -- "$T/wrapped"
	has "is shown without" 'odd\?\[1mname/libwrapper.so$' "$T/out"
	lacks "prints no control characters" "$(printf '\033')" "$T/out"
	unset LD_LIBRARY_PATH
}

test_permissions()
{
	local pid

	[ "$(id -u)" = 0 ] || return
	check "nobody: a command" as_nobody perf-churn list --json -- cat
	is "nobody: has no costs and no method" "False None None None" \
		"$(of '" ".join(str(v) for v in (d["measured"], d["method"], probes[0]["ns"], probes[0]["pays_for"]))')"
	has "nobody: says why" '^No permission to load BPF programs' "$T/err"
	check "nobody: in one line" one_line "$T/err"
	as_nobody perf-churn list -- cat
	has "nobody: the table has dashes" '^  malloc  .* -  .* -  +-$' "$T/out"
	spawn sleep 60
	pid=$spawned
	as_nobody perf-churn list -p "$pid"
	is "nobody: root's process: status" 1 $?
	has "nobody: root's process: says why" "^Cannot look into process $pid: Permission denied" "$T/err"
	check "nobody: root's process: in one line" one_line "$T/err"
	kill "$pid"
	reap "$pid"
}

# assigned ENVIRONMENT... - LD_PRELOAD of a program that was started with what --env prints
assigned()
{
	env "$@" PERF_CHURN_PRELOAD="$T/lib.so" bash -c '
		eval "export $(perf-churn list --env)" && exec printenv LD_PRELOAD'
}

test_env()
{
	fails "no library" 1 '^libperf-churn.so: not found|^/no/such/library: not found' --env
	gcc -shared -fPIC -o "$T/lib.so" -x c - <<<'int library;'
	gcc -shared -fPIC -o "$T/other.so" -x c - <<<'int other;'
	is "--env" "LD_PRELOAD=$T/lib.so" "$(PERF_CHURN_PRELOAD=$T/lib.so perf-churn list --env)"
	is "--env: taken by a shell" "$T/lib.so" "$(assigned -u LD_PRELOAD)"
	[ "${SAN:-0}" = 1 ] && return
	is "--env: before another library" "$T/lib.so:$T/other.so" "$(assigned "LD_PRELOAD=$T/other.so")"
	is "--env: once" "$T/lib.so" "$(assigned "LD_PRELOAD=$T/lib.so")"
	cp "$T/other.so" "$T/it's;\$(odd).so"
	is "--env: quoted" "$T/lib.so:$T/it's;\$(odd).so $T/other.so" \
		"$(assigned "LD_PRELOAD=$T/it's;\$(odd).so $T/other.so")"
}

need_tracing
unset LD_PRELOAD
export PERF_CHURN_PRELOAD=/no/such/library
test_bad_input
test_libc
test_process
test_other_objects
test_permissions
test_env
finish
