#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# Where the report's names come from: inlined functions, stripped programs, debuginfod servers, maps of
# generated code, the kernel.

. tests/lib.sh

# line_of MARK - of a comment in inlines.c
line_of()
{
	grep -n "line: $1" tests/workloads/inlines.c | cut -d: -f1
}

# site OPTIONS - the first site as "function inlined srcline allocs"
site()
{
	perf-churn report --json "$@" 2>"$T/err" | python3 -c '
import json, sys
s = json.load(sys.stdin)["sites"][0]
print(s["function"], s["inlined"], s["srcline"], round(s["allocs"]))'
}

# unnamed OPTIONS - frames without a symbol
unnamed()
{
	perf-churn report --json "$@" 2>"$T/err" | python3 -c '
import json, sys
print(json.load(sys.stdin)["self_check"]["frames_unnamed"])'
}

record_inlines()
{
	recorded "$1 is recorded" -c 1 -g -o "$T/$2" "$T/inlines"
}

# --- inlined functions -------------------------------------------------------------------------

test_inlined()
{
	local node build alone

	node=$(line_of node) build=$(line_of build) alone=$(line_of alone)
	is "an inlined function is the site, its inlined wrapper is not" \
		"make_node True inlines.c:$node 23" "$(site -i "$T/full")"
	is "--no-inline: the real function is the site" "build False" \
		"$(site --no-inline -i "$T/full" | cut -d' ' -f1-2)"
	is "an outer function's line is where it calls the inlined one" \
		"build False inlines.c:$build 23" "$(site --wrapper make_node -i "$T/full")"
	is "without a wrapper the innermost is the site" "make_alone True inlines.c:$alone 7" \
		"$(site -S make_alone -i "$T/full")"
	report -i "$T/full"
	has "text: the site is marked" "make_node \(inlined\) \(inlines.c:$node\)" "$T/out"
	has "text: its caller is not" '[-|] *build$' "$T/out"
	report -i "$T/full" --folded
	has "--folded: every frame in its place" \
		'^inlines;.*main;go \(inlined\);build;make_node \(inlined\);xmalloc \(inlined\);malloc 23$' "$T/out"
	report -i "$T/full" --folded --no-inline
	has "--folded --no-inline" ';main;build;malloc 23$' "$T/out"
	report -i "$T/full" --json --wrapper 'nothing'
	has "--json: frames of the stack are marked" '"make_node \(inlined\)"' "$T/out"
}

# stack_by_perf FILE - the functions of the first stack, as stock perf expands it
stack_by_perf()
{
	"$PERF" script --inline -i "$1" -F event,ip,sym 2>/dev/null |
		awk '/churn:alloc/ { on = 1; next } on && NF { $1 = ""; print substr($0, 2) } on && !NF { exit }' |
		grep -E '^(xmalloc|make_node|build|go|main)\>'
}

test_against_perf()
{
	# It expands inlined functions only in stacks that it unwinds itself, through addr2line; and it
	# takes any object below /tmp/perf-*, as $T is, for a map of generated code.
	need_tool addr2line "inlined frames as in stock perf" || return
	recorded "a dwarf stack is recorded" -c 1 --call-graph dwarf -o "$T/dwarf" "$WL/inlines" || return
	is "inlined frames in stock perf" \
		"xmalloc (inlined),make_node (inlined),build,go (inlined),main," \
		"$(stack_by_perf "$T/dwarf" | tr '\n' ',')"
	report --folded -i "$T/dwarf"
	has "inlined frames as in stock perf" \
		';main;go \(inlined\);build;make_node \(inlined\);xmalloc \(inlined\);malloc 23$' "$T/out"
}

# --- stripped programs -------------------------------------------------------------------------

test_stripped()
{
	local want

	want=$(site -i "$T/full")
	objcopy --only-keep-debug "$T/inlines" "$T/inlines.debug"
	strip "$T/inlines"
	record_inlines "a stripped program" stripped || return
	is "stripped: no name" "False None 23" "$(site -i "$T/stripped" | cut -d' ' -f2-)"
	check "stripped: frames without a symbol are counted" test "$(unnamed -i "$T/stripped")" -gt 0
	report -i "$T/stripped"
	has "stripped: which the self-check says" \
		'^#   names    : [1-9][0-9]* of [0-9]+ frames without a symbol, [0-9]+ of them in no object$' \
		"$T/out"
	mkdir "$T/.debug"
	cp "$T/inlines.debug" "$T/.debug/"
	(cd "$T/.debug" && objcopy --add-gnu-debuglink=inlines.debug "$T/inlines")
	is "a debug file: inlined functions and lines" "$want" "$(site -i "$T/stripped")"
	# Of the allocations: a CPU sample may lie in the loader, which has no debug file here.
	report --folded -i "$T/stripped"
	lacks "a debug file: every frame has a symbol" '0x[0-9a-f]+@' "$T/out"
	rm -r "$T/.debug"
	objcopy --remove-section .gnu_debuglink "$T/inlines"
	is "without it again: no name" "False None 23" "$(site -i "$T/stripped" | cut -d' ' -f2-)"
}

test_minidebuginfo()
{
	nm "$T/inlines.debug" | awk '$2 ~ /[Tt]/ { print $3 }' >"$T/keep"
	objcopy -S --remove-section .comment --keep-symbols="$T/keep" "$T/inlines.debug" "$T/mini"
	xz -f "$T/mini"
	objcopy --add-section .gnu_debugdata="$T/mini.xz" "$T/inlines" "$T/inlines.mini"
	mv "$T/inlines.mini" "$T/inlines"
	is ".gnu_debugdata: functions, no lines" "build False None 23" "$(site -i "$T/stripped")"
	objcopy --remove-section .gnu_debugdata "$T/inlines"
}

test_symfs()
{
	mkdir -p "$T/root$T"
	mv "$T/inlines" "$T/root$T/inlines"
	is "--symfs: before it, no name" "False None 23" "$(site -i "$T/full" | cut -d' ' -f2-)"
	cp "$T/inlines.whole" "$T/root$T/inlines"
	is "--symfs: the recorded path below it" "make_node True inlines.c:$(line_of node) 23" \
		"$(site --symfs "$T/root" -i "$T/full")"
	report --symfs "$T/no-such" -i "$T/full"
	has "--symfs: a folder that is not there" "^--symfs '.*': No such file" "$T/err"
	mv "$T/root$T/inlines" "$T/inlines"
	strip "$T/inlines"
}

# --- debuginfod --------------------------------------------------------------------------------

# serve - answer on a free port of the loopback device; its log is $T/served
serve()
{
	spawn python3 -u -c '
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()' "$T/www" >"$T/port" 2>"$T/served"
	wait_for 10 test -s "$T/port"
}

test_debuginfod()
{
	local id url want none="False None 23"

	ldconfig -p | grep -q 'libdebuginfod\.so\.1' || { skip "debuginfod" "no libdebuginfod"; return; }
	export DEBUGINFOD_CACHE_PATH=$T/cache
	want="make_node True inlines.c:$(line_of node) 23"
	id=$(readelf -n "$T/inlines" | sed -n 's/.*Build ID: //p')
	mkdir -p "$T/www/buildid/$id"
	cp "$T/inlines.debug" "$T/www/buildid/$id/debuginfo"
	serve || { fail "debuginfod: the test's server runs"; return; }
	url=http://127.0.0.1:$(cat "$T/port")

	is "debuginfod: nobody is asked without DEBUGINFOD_URLS" "$none" \
		"$(site -i "$T/stripped" | cut -d' ' -f2-)"
	check "debuginfod: nobody was" test ! -s "$T/served"
	export DEBUGINFOD_URLS=$url
	is "debuginfod: --no-debuginfod asks nobody" "$none" \
		"$(site --no-debuginfod -i "$T/stripped" | cut -d' ' -f2-)"
	check "debuginfod: nobody was, again" test ! -s "$T/served"
	is "debuginfod: the debug file" "$want" "$(site -i "$T/stripped")"
	has "debuginfod: says what it fetches" '^Fetching the debug information of .*/inlines with' "$T/err"
	has "debuginfod: asked by build-id" "GET /buildid/$id/debuginfo HTTP/1.1\" 200" "$T/served"
	unset DEBUGINFOD_URLS
	is "debuginfod: --debuginfod=URL, and the cache" "$want" \
		"$(site --debuginfod="$url" -i "$T/stripped")"
	lacks "debuginfod: what is in the cache is not fetched" 'Fetching.*/inlines' "$T/err"
	mv "$T/inlines" "$T/inlines.gone"
	rm -rf "$T/cache" "$T/www/buildid/$id/debuginfo"
	cp "$T/inlines.whole" "$T/www/buildid/$id/executable"
	is "debuginfod: a program that is gone" "$want" "$(site --debuginfod="$url" -i "$T/stripped")"
	has "debuginfod: says that, too" '^Fetching the program file of .*/inlines with' "$T/err"
	mv "$T/inlines.gone" "$T/inlines"
	kill "$spawned"
	reap "$spawned"
	test_silent_servers "$id"
	unset DEBUGINFOD_CACHE_PATH
}

# $1: a build-id. One that refuses, and one that takes the connection and says nothing.
test_silent_servers()
{
	local start=$SECONDS

	rm -rf "$T/cache"
	is "debuginfod: a dead server leaves the report as it is" "False None 23" \
		"$(site --debuginfod=http://127.0.0.1:1 -i "$T/stripped" | cut -d' ' -f2-)"
	has "debuginfod: which is said once" '^debuginfod: .*: nothing more is fetched$' "$T/err"
	is "debuginfod: once" 1 "$(grep -c 'nothing more' "$T/err")"
	rm -rf "$T/cache" "$T/port"
	spawn python3 -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(60)' >"$T/port"
	wait_for 10 test -s "$T/port"
	start=$SECONDS
	is "debuginfod: a silent server does not hold the report up" "False None 23" \
		"$(site --debuginfod="http://127.0.0.1:$(cat "$T/port")" -i "$T/stripped" | cut -d' ' -f2-)"
	has "debuginfod: which is said, too" '^debuginfod: .* does not come in time' "$T/err"
	check "debuginfod: for longer than a few seconds ($((SECONDS - start)) s)" \
		test $((SECONDS - start)) -lt 30
}

# --- generated code ----------------------------------------------------------------------------

test_jit()
{
	local pid map

	recorded "generated code is recorded" -c 1 -g -o "$T/jit" "$WL/jit" || return
	pid=$(cat "$T/out") map=/tmp/perf-$pid.map
	is "generated code has its name" "hot_loop False None 23" "$(site -i "$T/jit")"
	report -i "$T/jit"
	has "generated code: the object is the map file" "hot_loop\+0xb \(perf-$pid.map\)" "$T/out"
	"$PERF" script -i "$T/jit" -F ip,sym,dso 2>/dev/null >"$T/script"
	has "generated code: as in stock perf" "hot_loop \($map\)" "$T/script"
	if chown nobody "$map"; then
		is "another user's map file is not used" "False None 23" \
			"$(site -i "$T/jit" | cut -d' ' -f2-)"
		has "another user's map file: says so" "^$map belongs to another user" "$T/err"
		is "another user's map file: one line" 1 "$(wc -l <"$T/err")"
		is "another user's map file: --force" "hot_loop False None 23" "$(site -f -i "$T/jit")"
	fi
	rm -f "$map"
	is "without a map file: an address in //anon" "False None 23 //anon" \
		"$(site -i "$T/jit" | cut -d' ' -f2-) $(json "$T/jit" sites.0.dso)"
}

test_hostile_jit()
{
	recorded "a hostile name is recorded" -c 1 -g -o "$T/evil" "$WL/jit" evil || return
	cp "$T/out" "$T/pid"
	report -i "$T/evil" --folded
	lacks "a hostile name: no escape reaches the terminal" $'\033' "$T/out"
	has "a hostile name: nor a separator" ';main;hot\?\[2J:loop;malloc 23$' "$T/out"
	rm -f "/tmp/perf-$(sed -n 1p "$T/pid").map"
}

# --- kernel ------------------------------------------------------------------------------------

as_nobody()
{
	HOME=/nonexistent setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all "$@"
}

test_kernel()
{
	local named

	recorded "kernel frames are recorded" -g -F 2000 -o "$T/kernel" "$WL/loop" -n 200000 || return
	named=$(unnamed -i "$T/kernel")
	sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$T/zeros"
	check "--kallsyms with zeros: kernel frames have no symbol" \
		test "$(unnamed --kallsyms "$T/zeros" -i "$T/kernel")" -gt "$named"
	has "--kallsyms with zeros: says so" '^--kallsyms .*/zeros: all addresses are zero' "$T/err"
	is "--kallsyms with zeros: in one line" 1 "$(wc -l <"$T/err")"
	cp /proc/kallsyms "$T/copy"
	is "--kallsyms with a copy: as many symbols as before" "$named" \
		"$(unnamed --kallsyms "$T/copy" -i "$T/kernel")"
	unnamed -k "$WL/loop" -i "$T/kernel" >/dev/null
	has "--vmlinux of another build" '^--vmlinux .*/loop: not the recorded kernel' "$T/err"
	as_nobody grep -qv '^0000000000000000' /proc/kallsyms && {
		skip "hidden kernel addresses" "everybody may see them here"
		return
	}
	cp "$OUTPUT/perf-churn" "$T/perf-churn"
	chmod 644 "$T/kernel"
	as_nobody "$T/perf-churn" report -i "$T/kernel" >"$T/out" 2>"$T/err"
	has "hidden kernel addresses: says why, and what to do" \
		'^kernel functions stay unnamed: /proc/kallsyms has addresses of zero: .*kptr_restrict' "$T/err"
	is "hidden kernel addresses: in one line" 1 "$(wc -l <"$T/err")"
}

need_tracing
cp "$WL/inlines" "$T/inlines"
cp "$WL/inlines" "$T/inlines.whole"
if record_inlines "a program with inlined functions" full; then
	test_inlined
	test_against_perf
	test_stripped
	test_minidebuginfo
	test_symfs
	test_debuginfod
fi
test_jit
test_hostile_jit
test_kernel
finish
