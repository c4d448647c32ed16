#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The truth must be true: counter.so against programs whose numbers follow from their source. Needs no
# privilege and nothing of perf churn.

. tests/lib.sh

# counted COMMAND ARGS - run with the counter; its lines in $T/lines
counted()
{
	rm -f "$T"/count.*
	"$OUTPUT/tests/with_counter" "$OUTPUT/tests/counter.so" "$T/count" "$@" >"$T/out" 2>"$T/err"
	status=$?
	"$OUTPUT/tests/counter_dump" "$T"/count.* >"$T/lines"
}

# sums KEYS - over all processes
sums()
{
	python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
print(*(sum(line[key] for line in lines) for key in sys.argv[2:]))' "$T/lines" "$@"
}

per_thread()
{
	python3 -c '
import json, sys
line = json.loads(open(sys.argv[1]).readline())
print(*sorted(t["allocs"] for t in line["threads"]))' "$T/lines"
}

build_workloads

counted "$WL/exact23"
is "exact23" "23 4416 23 0" "$(sums allocs bytes frees failed)"
counted "$WL/shares" 100
is "shares" "400 62400 400" "$(sums allocs bytes frees)"
counted "$WL/threads4" 100
is "threads4: each thread apart (and 4 callocs of pthread_create)" "4 100 200 300 400" "$(per_thread)"
counted "$WL/forkers"
# 500, then children and grandchildren: 2 * 6 * 1000 + (0 + ... + 5) * 2 + 6 * 100
is "forkers: each process apart" "13" "$(wc -l <"$T/lines")"
is "forkers: sums, and 100 inherited blocks freed by each child" "13130 14330" "$(sums allocs frees)"
counted "$WL/forkers" exec
is "forkers exec: an image after exec goes on in its process" "4006 4006" "$(sums allocs frees)"
counted "$WL/execer"
is "execer: 5 images in one process" "505 250 5" "$(sums allocs frees images)"
counted "$WL/realloc_heavy" 100
# Per round 1+9+9 (grow), 3, 1, 1, 1 allocations; one mapped: 3. Reallocs: 9 + 2 per round, and 2.
is "realloc_heavy" "2503 2503 100 1102" "$(sums allocs frees failed reallocs)"
counted "$WL/realloc_heavy" 100 2
is "realloc_heavy, two threads (and 1 calloc)" "5007 5006 200 2204" "$(sums allocs frees failed reallocs)"
counted "$WL/family" 10
is "family" "110 24370 110 50 30 10" "$(sums allocs bytes frees failed free_null reallocs)"
counted "$WL/failing"
is "failing" "100 0" "$(sums failed reallocs)"
counted "$WL/failing" threads
is "failing, two threads" "100 0" "$(sums failed reallocs)"
counted "$WL/crossfree" 500
is "crossfree: freed by the other thread" "501 500" "$(sums allocs frees)"
counted "$WL/lifetimes"
is "lifetimes: 17 blocks are never freed" "617 600" "$(sums allocs frees)"
counted "$WL/wrappers" 10
is "wrappers" "100 4040 100" "$(sums allocs bytes frees)"
counted "$WL/cxx_new" 10
is "cxx_new (and libstdc++'s own pool)" "211 210" "$(sums allocs frees)"
counted "$WL/noalloc" 10
is "noalloc" "0 0" "$(sums allocs frees)"
counted "$WL/deep" 20 30
is "deep" "30 2160 30" "$(sums allocs bytes frees)"
counted "$WL/status" signal 9
is "a process killed by SIGKILL has its numbers" "1 11" "$(sums allocs bytes)"
counted "$WL/status" exit 3
is "the exit status passes through" 3 "$status"
counted /bin/sh -c 'ls /usr/lib | sort | wc -l'
check "a shell's children are counted, each apart" test "$(wc -l <"$T/lines")" -ge 3
is "the loader needed nothing from the counter's own buffer" "0" \
	"$(python3 -c 'import json, sys; print(sum(json.loads(line)["own"]["allocs"] for line in open(sys.argv[1])))' "$T/lines")"
finish
