#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The build itself: setup is quick when nothing is missing, a missing tool is named, BPF programs
# are built again when a header changes, and a kernel without BTF is no obstacle.

. tests/lib.sh

# inner GOAL VARIABLE=VALUE... - the inner make, in a folder of its own
inner()
{
	env -u MAKEFLAGS -u CFLAGS -u CC make LOCKED=1 OUTPUT="$T/out" "$@" >"$T/log" 2>&1
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

start=$(now_ms)
check "setup has nothing to do" scripts/setup.sh
took=$(($(now_ms) - start))
check "and takes less than a second for it ($took ms)" [ $took -lt 1000 ]

for tool in CC CLANG BPFTOOL; do
	inner "$T/out/perf-churn" $tool=/nonexistent/$tool
	has "a missing $tool is named" "missing tool: /nonexistent/$tool" "$T/log"
done
inner "$T/out/perf-churn" DEPS="$T/nodeps"
has "missing libraries are named, with what to do" "missing: the libraries in .*make deps" "$T/log"

if [ -r /sys/kernel/btf/vmlinux ]; then
	check "BPF programs build" inner "$T/out/bpf/churn.skel.h"
	touch -d '2000-01-01' "$T/out/bpf/churn.bpf.o"
	inner -q "$T/out/bpf/churn.bpf.o"
	is "a BPF object older than its source is stale" 1 $?
	inner "$T/out/bpf/churn.skel.h"
	inner -W bpf/churn.h -q "$T/out/bpf/churn.bpf.o"
	is "so is one older than a header" 1 $?
	inner "$T/out/bpf/churn.skel.h"
	is "and nothing is built when nothing changed" "" "$(grep -vi "nothing\|up to date" "$T/log")"
fi
rm -rf "$T/out"
check "BPF programs build where the kernel has no BTF" \
	inner "$T/out/bpf/churn.skel.h" VMLINUX_BTF=/nonexistent || diag_file "$T/log" 30
has "which is said in one line" '^note: this kernel has no BTF' "$T/log"
finish
