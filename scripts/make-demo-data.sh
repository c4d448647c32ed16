#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make-demo-data.sh - record tests/data/demo.perf.data again, which "make demo" shows where the
# kernel forbids recording. Run it when the file format changes.
#
# It must read the same anywhere, so: a static program, user space only, and its symbols in a
# build-id cache of perf's layout beside the file, tests/data/demo.home/.debug.
set -euo pipefail
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
PATH=$(realpath -m "$OUTPUT"):$PATH
scripts/can-record.sh || exit 1

data=$PWD/tests/data
dir=$(mktemp -d "${TMPDIR:-/tmp}/perf-churn-demo.XXXXXX")
trap 'rm -rf "$dir"' EXIT

gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-builtin \
	-fcf-protection=none -ffile-prefix-map="$PWD"=. -pthread -static -Wl,--build-id \
	-o "$dir/demo" tests/workloads/demo.c
(cd "$dir" && perf-churn record -g -F 4999 -e cpu-clock:u -c 1 -o demo.perf.data -- ./demo 4)
install -m 644 "$dir/demo.perf.data" "$data/demo.perf.data"

id=$(readelf -n "$dir/demo" | sed -n 's/.*Build ID: //p')
rm -rf "$data/demo.home"
mkdir -p "$data/demo.home/.debug/.build-id/${id:0:2}/${id:2}"
objcopy --only-keep-debug "$dir/demo" "$data/demo.home/.debug/.build-id/${id:0:2}/${id:2}/elf"
chmod 644 "$data/demo.home/.debug/.build-id/${id:0:2}/${id:2}/elf"
