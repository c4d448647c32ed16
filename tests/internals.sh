#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# A stripped C library's own functions, which have no name, are told to be the allocator's: by the
# recorder, so that it takes neither debug symbols nor the library to report it.

. tests/lib.sh

LIBC=/lib/x86_64-linux-gnu/libc.so.6

# without_debug COMMAND ARGS - as on a machine without debug symbols
without_debug()
{
	unshare --mount sh -c '[ ! -d /usr/lib/debug ] || mount -t tmpfs none /usr/lib/debug || exit 99
		exec "$@"' sh env HOME="$T" "$@"
}

# ranges_of FILE - churn:range as stock perf prints it: "PATH:0xSTART-0xEND offset=... how=..."
ranges_of()
{
	"$PERF" script -i "$1" -F event,trace 2>"$T/script.err" | sed -n 's/^ *churn:range: *//p'
}

# value FILE KEY - from JSON of a report without debug symbols
value()
{
	without_debug perf-churn report --json -i "$1" 2>"$T/json.err" | jq "$2"
}

# most_of NAME PART WHOLE - at least nine tenths, and enough of it
most_of()
{
	check "$1" test "$2" -ge 30 -a $(($2 * 10)) -ge $(($3 * 9)) ||
		diag "$2 of $3"
}

test_stripped()
{
	local n='.cpu.samples' a='.cpu.allocator_samples' u='.cpu.unnamed_allocator_samples'

	without_debug perf-churn record -q -g -F 499 -c 1 -o "$T/fp" -- "$WL/internals" 2>"$T/err" ||
		{ fail "record without debug symbols"; diag_file "$T/err"; return; }
	is "libc has one range, found by its calls" 1 \
		"$(ranges_of "$T/fp" | grep -c 'libc.so.6:0x[0-9a-f]*-0x[0-9a-f]* offset=0x[0-9a-f]* how=calls$')"
	most_of "-g: CPU samples in int_mallinfo are the allocator's" \
		"$(value "$T/fp" "$a")" "$(value "$T/fp" "$n")"
	most_of "-g: none of them is left nameless, but for other functions of libc" \
		"$(value "$T/fp" "$n - $u")" "$(value "$T/fp" "$n")"
}

# write_text allocates below __malloc_info, which is on the path. (In a copy of the stack it may be missing:
# vfprintf has 8 KB of buffer there for an unbuffered stream, and a copy ends at the first page of it that
# was never touched.)
test_shown()
{
	without_debug perf-churn record -q -c 1 -o "$T/walked" -- "$WL/internals" 10 2>"$T/err" ||
		{ fail "record walked stacks"; diag_file "$T/err"; return; }
	without_debug perf-churn report --folded -i "$T/walked" >"$T/folded" 2>"$T/err"
	has "--folded: shows [malloc internals] between caller and callee" \
		'^internals;.*;main;report_heap;\[malloc internals\];.*;write_text;malloc [0-9]+$' "$T/folded"
	without_debug perf-churn report --stdio -i "$T/walked" >"$T/out" 2>"$T/err"
	has "--stdio: call paths show it, too" '[ -]\[malloc internals\]$' "$T/out"
	check "--json: stacks show it, too" test "$(value "$T/walked" \
		'[.sites[].stack | select(index("[malloc internals]"))] | length')" -ge 1
}

# The library is gone when the report is made.
test_elsewhere()
{
	mkdir "$T/lib"
	cp "$LIBC" "$T/lib/"
	LD_LIBRARY_PATH=$T/lib without_debug perf-churn record -q -g -F 499 -c 1 -o "$T/copy" -- \
		"$WL/internals" 2>"$T/err" ||
		{ fail "record with a libc of its own"; diag_file "$T/err"; return; }
	has "its libc has a range" "lib/libc.so.6:0x" <(ranges_of "$T/copy")
	rm -r "$T/lib"
	most_of "without the library: the samples are the allocator's" \
		"$(value "$T/copy" .cpu.allocator_samples)" "$(value "$T/copy" .cpu.samples)"
}

test_debug_symbols()
{
	local id

	id=$(readelf -n "$LIBC" | sed -n 's/.*Build ID: //p')
	[ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] ||
		{ skip "debug symbols tell the same range" "no debug symbols of libc"; return; }
	recorded "with debug symbols" -q -c 1 -o "$T/debug" -- "$WL/internals" 10 || return
	has "debug symbols are used" 'how=debug$' <(ranges_of "$T/debug")
	is "debug symbols tell the same range" "$(ranges_of "$T/fp" | sed 's/how=.*//')" \
		"$(ranges_of "$T/debug" | sed 's/how=.*//')"
}

need_tracing
need_tool jq "ranges" || finish
without_debug true 2>"$T/err" || skip_all "cannot make a mount namespace: $(head -n 1 "$T/err")"
test_stripped
test_shown
test_elsewhere
test_debug_symbols
finish
