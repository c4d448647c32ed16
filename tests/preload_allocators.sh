#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 300
#
# Other allocators than libc's, preloaded or linked, before or behind our library: programs do what they
# do without us, and counts are true, by preload and by uprobes.

. tests/lib.sh

LIB=$OUTPUT/libperf-churn.so
SONAMES=(libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2)

# find_library SONAME - its path, as the loader has it
find_library()
{
	/sbin/ldconfig -p | awk -v name="$1" '$1 == name && /x86-64/ { print $NF; exit }'
}

link_programs()
{
	gcc -no-pie -pthread -o "$T/c_$1" "$T/c.o" -Wl,--no-as-needed "$2" &&
		g++ -no-pie -pthread -o "$T/cxx_$1" "$T/cxx.o" -Wl,--no-as-needed "$2"
}

# counted COMMAND ARGS - "ALLOCATIONS FREES LOST" of a recording of it
counted()
{
	recorded "recording $*" "${OPTIONS[@]}" -c 1 -m 8M -o "$T/data" -- "$@" || return
	tally "$T/data" windows.total.nr_allocs windows.total.nr_frees windows.total.nr_lost_output | paste -sd' '
}

# more NAME WANT ROUNDS COMMAND - what twice the rounds have more, whatever the libraries take for themselves
more()
{
	local name=$1 want=$2 rounds=$3 a b

	shift 3
	read -ra a <<<"$(counted "$1" "$rounds" "${@:2}")"
	read -ra b <<<"$(counted "$1" $((rounds * 2)) "${@:2}")"
	is "$name: counts" "$want $want 0" "$((b[0] - a[0])) $((b[1] - a[1])) $((b[2] + a[2]))"
}

# 10 blocks a round in C; 14 in C++, and 84 strings and a larger vector in 100 rounds more.
test_counts()
{
	local name=$1 c=$2 cxx=$3

	more "$name, C" 5000 500 "$c"
	more "$name, C++" 1485 100 "$cxx" mild
}

# both ORDER - two programs with these in LD_PRELOAD
both()
{
	/bin/sh -c "export LD_PRELOAD=$1
		$C/corners threads 50
		echo status \$?
		$T/arrays
		echo status \$?"
}

test_same()
{
	local name=$1 path=$2

	both "$path" >"$T/want" 2>&1
	both "$LIB:$path" >"$T/got" 2>&1
	check "$name behind us: programs do the same" cmp "$T/want" "$T/got"
	both "$path:$LIB" >"$T/got" 2>&1
	check "$name before us: programs do the same" cmp "$T/want" "$T/got"
	export -f both
	export C T
	record -c 1 -m 8M -o "$T/data" --method preload -- /bin/bash -c "both $LIB:$path; both $path:$LIB" 2>&1
	cat "$T/want" "$T/want" >"$T/want2"
	check "$name, recorded: programs do the same" cmp "$T/want2" "$T/out"
}

test_shadowed()
{
	local name=$1 preload=$2 target

	recorded "$name" --method preload -o "$T/data" -- env LD_PRELOAD="$preload:$LIB" "$WL/exact23" &&
		has "$name comes first: that is said" '^1 program ran without the preload library' "$T/err"
	LD_PRELOAD=$preload:$LIB spawn "$WL/loop" -s 600 -i 100 >"$T/loop.out"
	target=$spawned
	wait_for 10 test -s "$T/loop.out"
	recorded "$name, attached" -c 1000 -p "$target" -o "$T/data" -- sleep 0.3 &&
		is "$name comes first: attached to by uprobes" uprobe "$(json "$T/data" recording.method)"
	is "$name comes first: with --method=preload that is an error" 1 \
		"$(record --method=preload -p "$target" -o "$T/data" -- sleep 0.1; echo $?)"
	kill "$target"
	reap "$target"
}

test_allocator()
{
	local name=$1 path=$2

	link_programs "$name" "$path" || { fail "$name: programs are linked with it"; return; }
	OPTIONS=(--method preload)
	test_counts "$name linked, preload" "$T/c_$name" "$T/cxx_$name"
	OPTIONS=(--method uprobe-multi)
	test_counts "$name linked, uprobes" "$T/c_$name" "$T/cxx_$name"
	export LD_PRELOAD=$path
	OPTIONS=(--method preload)
	test_counts "$name in LD_PRELOAD, preload" "$T/c" "$T/cxx"
	unset LD_PRELOAD
	test_same "$name" "$path"
	test_shadowed "$name" "$path"
}

need_tracing
C=$OUTPUT/tests/preload
CFLAGS=(-D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -fno-builtin -pthread)
gcc "${CFLAGS[@]}" -c -o "$T/c.o" tests/workloads/threads4.c
g++ "${CFLAGS[@]}" -DMAIN -c -o "$T/cxx.o" tests/preload/corners_cxx.cpp
# No other allocator has reallocarray().
gcc "${CFLAGS[@]}" -o "$T/arrays" -x c - <<'EOC'
#include <stdlib.h>

int main(void)
{
	char *p = reallocarray(NULL, 10, 10);

	p[99] = 7;
	p = reallocarray(p, 1000, 100);
	free(malloc(10));
	p = realloc(p, 100);
	return p[99] + (free(p), 35);
}
EOC
gcc -no-pie -pthread -o "$T/c" "$T/c.o"
g++ -no-pie -pthread -o "$T/cxx" "$T/cxx.o"
for soname in "${SONAMES[@]}"; do
	path=$(find_library "$soname")
	name=${soname%%.*}
	if [ -n "$path" ]; then
		test_allocator "${name#lib}" "$path"
	else
		skip "${name#lib}" "it is not installed"
	fi
done
finish
