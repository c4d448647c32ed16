#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-perf612.sh - build perf from the 6.12 source and run the stock perf tests with it.
#
# Takes minutes the first time; run by hand with "make check-perf612". The result stays in
# $OUTPUT/perf612, which "make clean" keeps.
set -eu
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
source=${LINUX_SOURCE:-/usr/src/linux-source-6.12.tar.xz}
mkdir -p "$OUTPUT/perf612"
dir=$(cd "$OUTPUT/perf612" && pwd)

build_perf() {
	scripts/setup.sh flex bison python3-dev
	rm -rf "$dir"
	mkdir -p "$dir/src" "$dir/obj"
	echo "unpacking and building perf 6.12 (log: $dir/log)"
	# What tools/perf/MANIFEST lists.
	tar xJf "$source" -C "$dir/src" --strip-components=1 --wildcards \
		'*/tools/perf/*' '*/tools/arch/*' '*/tools/scripts/*' '*/tools/build/*' \
		'*/tools/include/*' '*/tools/lib/*' '*/tools/bpf/bpftool/*' '*/scripts/bpf_doc.py' \
		'*/kernel/bpf/disasm.*' '*/arch/*/include/uapi/asm/bpf_perf_event.h' \
		'*/arch/arm64/tools/*'
	# Else it asks the kernel's own Makefile, which is not here.
	echo '#define PERF_VERSION "6.12"' >"$dir/src/PERF-VERSION-FILE"
	env -u MAKEFLAGS -u MAKELEVEL -u MAKEOVERRIDES -u OUTPUT -u CFLAGS -u LDFLAGS -u V \
		make -C "$dir/src/tools/perf" -j"$(nproc)" O="$dir/obj" WERROR=0 NO_LIBPERL=1 \
		NO_JVMTI=1 NO_SLANG=1 NO_GTK2=1 NO_LIBUNWIND=1 NO_LIBLLVM=1 BUILD_BPF_SKEL=0 \
		PYTHON=python3 "$dir/obj/perf" >"$dir/log" 2>&1 || {
		tail -n 30 "$dir/log"
		echo "perf 6.12 does not build, see $dir/log"
		return 1
	}
	cp -r "$dir/src/tools/perf/scripts" "$dir/scripts"
	cp "$dir/obj/perf" "$dir/perf"
	rm -rf "$dir/obj" "$dir/src"
}

[ -x "$dir/perf" ] && [ -d "$dir/scripts" ] || build_perf
"$dir/perf" --version
export PERF=$dir/perf PERF_EXEC_PATH=$dir
TEST=stock_perf exec scripts/run-tests.sh
