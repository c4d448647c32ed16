#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# --slow-path: every call that the allocator's caches cannot serve, and no other. How many these are in
# workloads/refills.c is known; what the kernel counts on the same instruction says the same.

. tests/lib.sh

LIBC=/lib/x86_64-linux-gnu/libc.so.6
LIBS=/usr/lib/x86_64-linux-gnu
WANT="aligned 13 big 3 first 2 large 29 resized 15 reused 1 small 23 zeroed 17"

# without_debug COMMAND ARGS - as on a machine without debug symbols
without_debug()
{
	unshare --mount sh -c '[ ! -d /usr/lib/debug ] || mount -t tmpfs none /usr/lib/debug || exit 99
		exec "$@"' sh env HOME="$T" "$@"
}

# by_caller FILE - refills by the function of the program that they serve, as stock perf sees it
by_caller()
{
	"$PERF" script -i "$1" -F event,ip,sym 2>"$T/script.err" | awk '
		/churn:alloc:/ { in_stack = 1; next }
		in_stack && $2 ~ /^(first|small|large|zeroed|big|reused|resized|aligned)$/ { n[$2]++; in_stack = 0 }
		END { for (f in n) print f, n[f] }' | sort | paste -sd' '
}

# offset_of FUNCTION COMMAND ARGS - where list would probe
offset_of()
{
	local fn=$1

	shift
	perf-churn list --slow-path --json -- "$@" 2>"$T/list.err" |
		jq -r --arg fn "$fn" '.objects[].probes[] | select(.symbol == $fn) | .offset'
}

test_counts()
{
	local method

	for method in uprobe-session uprobe-multi uprobe-event; do
		record --slow-path --method "$method" -c 1 -o "$T/data" -- "$WL/refills" ||
			{ skip "$method" "$(tail -n 1 "$T/err")"; continue; }
		is "$method: each refill, with its stack" "$WANT" "$(by_caller "$T/data")"
		is "$method: and they are all" 103 "$(json "$T/data" totals.allocs)"
	done
	is "those that went to the system are marked" "3" \
		"$("$PERF" script -i "$T/data" -F event,trace 2>/dev/null | grep -c 'size=1048576 .* flags=OS$')"
	is "no free is told of" 0 "$("$PERF" script -i "$T/data" -F event 2>/dev/null | grep -c churn:free)"
	recorded "-c 10" --slow-path -c 10 -o "$T/data" -- "$WL/refills" &&
		is "-c 10: all are counted" 103 "$(json "$T/data" totals.allocs)"
	# There the thread cache is made before main.
	recorded "a static program" --slow-path -c 1 -o "$T/data" -- "$WL/refills_static" &&
		is "a static program: each refill" "${WANT/first 2/first 1}" "$(by_caller "$T/data")"
	recorded "--call-graph dwarf" --slow-path --call-graph dwarf,4096 -c 1 -o "$T/data" -- "$WL/refills" &&
		is "--call-graph dwarf: each refill, by perf's unwinder" "$WANT" "$(by_caller "$T/data")"
}

# The kernel's own count of hits on that instruction.
test_independent()
{
	local events=/sys/kernel/tracing/uprobe_events group=slow_path_test_$$ offset

	[ -w $events ] || { skip "the kernel counts as many" "no writable tracefs"; return; }
	offset=$(offset_of _int_malloc "$WL/refills")
	printf 'p:%s/refill %s:%#x\n' "$group" "$(realpath $LIBC)" "$offset" >>$events
	"$PERF" stat -x, -o "$T/stat" -e "$group:refill" -- "$WL/refills"
	"$PERF" stat -x, -o "$T/stat.loop" -e "$group:refill" -- "$WL/loop" -n 2000 -b 3000 >"$T/out"
	printf -- '-:%s/refill\n' "$group" >>$events
	is "the kernel counts as many" 103 "$(grep ":refill" "$T/stat" | cut -d, -f1)"
	recorded "a loop" --slow-path -c 1 -o "$T/data" -- "$WL/loop" -n 2000 -b 3000 &&
		is "the kernel counts as many in a loop" "$(grep ":refill" "$T/stat.loop" | cut -d, -f1)" \
			"$(json "$T/data" totals.allocs)"
}

# A cached size: what --slow-path is for.
test_attached()
{
	local target

	spawn "$WL/loop" -s 30 -b 48 >/dev/null
	target=$spawned
	sleep 0.2
	recorded "-p" --slow-path -p "$target" -o "$T/data" -- sleep 0.5 &&
		is "-p: a loop that the cache serves has no refill" "0" "$(json "$T/data" totals.allocs)"
	report -i "$T/data"
	has "and the report says what that means" 'its caches served everything' "$T/out"
	lacks "it is not called idle" '^No ' "$T/out"
	check "-p: nothing is left" wait_for 5 text_is "$target" same
	kill "$target"
	reap "$target"
}

test_said()
{
	recorded "what is said" --slow-path -c 1 -o "$T/data" -- "$WL/refills" || return
	has "record says what it has seen" '^Slow path only: ' "$T/err"
	has "record counts refills" 'churn:free samples; 103 refills, 0 lost' "$T/err"
	report -i "$T/data"
	has "the report says it on top" '^# slow path: only 103 refills; calls served from .* caches are not seen' "$T/out"
	has "totals are of refills" '^  Refills +103 ' "$T/out"
	lacks "nothing is said of frees and lives" '^  (Frees|Live)|Life up to|Med life' "$T/out"
	lacks "nothing claims to be all allocations" '[0-9] allocations|Allocations' "$T/out"
	is "JSON has it" "True" "$(json "$T/data" recording.slow_path)"
	check "JSON counts the calls for memory" test "$(json "$T/data" totals.os_allocs)" -ge 4
	is "JSON knows no frees" "None" "$(json "$T/data" totals.frees)"
	recorded "without --slow-path" --method uprobe -c 1 -o "$T/data" -- "$WL/exact23" &&
		is "JSON says so without, too" "False" "$(json "$T/data" recording.slow_path)"
}

test_stripped()
{
	local by_calls fn

	mkdir "$T/lib"
	# Nothing leads to a debug file from here.
	objcopy --remove-section .gnu_debuglink --remove-section .note.gnu.build-id \
		--remove-section .gnu_debugdata --strip-all "$LIBC" "$T/lib/libc.so.6"
	for fn in _int_malloc sysmalloc systrim; do
		by_calls=$(LD_LIBRARY_PATH=$T/lib offset_of "$fn" "$WL/refills")
		check "a stripped libc's $fn is found" test -n "$by_calls"
		[ "$fn" = _int_malloc ] && LD_LIBRARY_PATH=$T/lib record --slow-path -c 1 -o "$T/data" -- "$WL/refills" &&
			is "and has the same refills" "$WANT" "$(by_caller "$T/data")"
		[ -e "/usr/lib/debug/.build-id" ] || { skip "$fn, as by symbols" "no debug symbols"; continue; }
		is "$fn: where symbols say" "$(offset_of "$fn" "$WL/refills")" "$by_calls"
	done
	without_debug true 2>"$T/err" || { skip "without debug symbols" "no mount namespace"; return; }
	without_debug perf-churn record --slow-path -c 1 -o "$T/data" -- "$WL/refills" 2>"$T/err"
	is "without debug symbols" "$WANT" "$(by_caller "$T/data")"
}

test_list()
{
	perf-churn list --slow-path -- "$WL/refills" >"$T/out" 2>"$T/err"
	has "list shows the refill" '^  refill +_int_malloc\+[0-9]+ ' "$T/out"
	has "list shows the call for memory" '^  os_alloc +sysmalloc\+[0-9]+ ' "$T/out"
	lacks "list shows no entry point" '^  (malloc|free) ' "$T/out"
	has "list says why not by preload" '^# preload  : no: --slow-path is for uprobes' "$T/out"
}

# Of two allocators that are mapped the one is known and the other not.
test_others()
{
	if [ -e $LIBS/libtcmalloc_minimal.so.4 ]; then
		LD_PRELOAD=$LIBS/libtcmalloc_minimal.so.4 record --slow-path -c 1 -o "$T/data" -- "$WL/loop" -n 5000 -b 2000
		has "tcmalloc: its refills have the size of their class" 'fn=refill .* size=2048 ' \
			<("$PERF" script -i "$T/data" -F event,trace 2>/dev/null)
		check "tcmalloc: they are few" test "$(json "$T/data" totals.allocs | cut -d. -f1)" -lt 1000
	else
		skip "tcmalloc" "not installed"
	fi
	if [ -e $LIBS/libjemalloc.so.2 ]; then
		LD_PRELOAD=$LIBS/libjemalloc.so.2 record --slow-path -o "$T/data" -- "$WL/refills"
		has "a stripped jemalloc is refused" \
			'libjemalloc.so.2: --slow-path: which functions refill its caches is not known' "$T/err"
	else
		skip "jemalloc" "not installed"
	fi
}

# refused NAME STATUS REGEX ARGS - one line, no file
refused()
{
	local name=$1 status=$2 text=$3

	shift 3
	rm -f "$T/none"
	record --slow-path -o "$T/none" "$@"
	is "$name: status" "$status" $?
	check "$name: one line" one_line "$T/err"
	has "$name: it says why" "$text" "$T/err"
	check "$name: no file" test ! -e "$T/none"
}

test_bad_input()
{
	refused "--method=preload" 129 'excludes --method=preload' --method=preload -- true
	refused "--bytes" 129 'excludes --method=preload and --bytes' --bytes 512K -- true
	refused "--call-graph fp" 129 'excludes --call-graph fp' --call-graph fp -- true
	if command -v musl-gcc >/dev/null; then
		echo 'int main(void) { return 0; }' >"$T/m.c"
		musl-gcc -o "$T/musl" "$T/m.c"
		refused "musl" 1 'which functions refill its caches is not known' -- "$T/musl"
	else
		skip "musl" "no musl-gcc"
	fi
	refused "a stripped static program" 1 'no allocator that is known' -- "$WL/loop_stripped" -n 1
	perf-churn list --slow-path --env >"$T/out" 2>"$T/err"
	is "list --slow-path --env" 129 $?
}

need_tracing
test_counts
test_independent
test_attached
test_said
test_stripped
test_list
test_others
test_bad_input
finish
