#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
# timeout: 900
#
# Programs behave the same with libperf-churn.so as without, idle and listened to, in every corner
# where a library that interposes malloc can break one.

. tests/lib.sh

C=$OUTPUT/tests/preload
LIMIT_S=100

# bare COMMAND ARGS - without the library
bare()
{
	timeout -k 5 "$LIMIT_S" "$@" >"$T/want" 2>&1
	echo "status $?" >>"$T/want"
}

# idle COMMAND ARGS - with it, nobody listens
idle()
{
	timeout -k 5 "$LIMIT_S" env LD_PRELOAD="$L" "$@" >"$T/got" 2>&1
	echo "status $?" >>"$T/got"
}

# heard COMMAND ARGS - with a listener, whose sums are not the program's output
heard()
{
	timeout -k 5 "$LIMIT_S" "$OUTPUT/tests/preload_listener" "$L" env LD_PRELOAD="$L" "$@" >"$T/all" 2>&1
	echo "status $?" >>"$T/all"
	grep -v '^{"pid"' "$T/all" >"$T/got"
}

same()
{
	cmp -s "$T/want" "$T/got" || {
		diff "$T/want" "$T/got" | head -n 10 | cut -c1-200 | sed 's/^/# /' >&3
		return 1
	}
}

# corner NAME COMMAND ARGS - the same output and status, in all modes
corner()
{
	local name=$1

	shift
	bare "$@"
	idle "$@"
	check "$name: idle" same
	PERF_CHURN_COUNT=1 heard "$@"
	check "$name: each call is a sample" same
	PERF_CHURN_COUNT=13 heard "$@"
	check "$name: one in 13" same
	PERF_CHURN_BYTES=5000 heard "$@"
	check "$name: one byte in 5000" same
	heard "$@"
	check "$name: adaptive" same
}

need_tracing
L=$T/libperf-churn.so
cp "$OUTPUT/libperf-churn.so" "$L"
export CORNERS_LIBRARY=$L CORNERS_TLS=$C/corners_tls.so CORNERS_CXX=$C/corners_cxx.so

corner "plain" "$C/corners" plain
corner "resolvers, constructors, destructors, atexit" "$C/corners" early
corner "dlsym in vain" "$C/corners" dlsym
corner "destructors of thread-specific data" "$C/corners" keys
corner "no key left" "$C/corners" nokeys
corner "fork among threads" "$C/corners" fork
corner "fork without libc" "$C/corners" rawfork
corner "vfork and posix_spawn" "$C/corners" vfork
corner "exec" "$C/corners" exec 3
corner "a storm of forks" "$C/corners" storm 3
corner "200 threads at once" "$C/corners" threads 200
corner "threads that wait at the end" "$C/corners" waiting 8
corner "main ends first" "$C/corners" mainexit
corner "errno" "$C/corners" errno
corner "limited address space" prlimit --as=67108864 "$C/corners" limit 48
corner "no environment" "$C/corners" noenv
corner "loaded and unloaded as a plugin" "$C/corners" dlclose
corner "late static TLS" "$C/corners" tls
corner "a C++ library loaded by C" "$C/corners" cxx
corner "C++" "$C/corners_cxx" 100
corner "a malloc of one's own" "$C/own_malloc"
corner "a signal's handler allocates" env LD_PRELOAD="$L $C/bump.so" "$C/corners" signals
corner "a signal's handler jumps away" env LD_PRELOAD="$L $C/bump.so" "$C/corners" signals 1
finish
