#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# libperf-churn.so as a file: what it needs, what it defines, and what the kernel has to find in it. And
# where nobody has asked for anything, or for nonsense, it leaves programs alone.

. tests/lib.sh

L=$OUTPUT/libperf-churn.so

# first_bytes SYMBOL - of a function
first_bytes()
{
	objdump -d --disassemble="$1" "$L" | awk -v name="<$1>:" '$2 == name { getline; print }' |
		sed 's/^[^\t]*\t\([0-9a-f ]*[0-9a-f]\).*/\1/'
}

# address SYMBOL - as linked
address()
{
	readelf -W --dyn-syms "$L" | awk -v name="$1" '$8 == name { print "0x" $2 }'
}

# is_written_from_file ADDRESS - in a writable part that the file has, and that stays writable
is_written_from_file()
{
	local type address mem_bytes file_bytes flags found=1

	while read -r type _ address _ file_bytes mem_bytes flags; do
		(($1 >= address)) || continue
		case $type in
		LOAD) [[ $flags != *W* ]] || (($1 + 4 > address + file_bytes)) || found=0 ;;
		GNU_RELRO) (($1 >= address + mem_bytes)) || return 1 ;;
		esac
	done < <(readelf -lW "$L" | grep -E '^ +(LOAD|GNU_RELRO) ')
	return "$found"
}

readelf -dW "$L" >"$T/dynamic"
is "it needs libc only" "libc.so.6" "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$T/dynamic")"
has "nothing is bound late" 'NOW' "$T/dynamic"
has "it stays where it was loaded" 'NODELETE' "$T/dynamic"
has "its thread-local storage is static" 'STATIC_TLS' "$T/dynamic"

nm -D --defined-only "$L" | awk '{ print $3 }' | grep -v '^_Z' | sort | paste -sd' ' >"$T/names"
is "it defines the family, what ends or confines a process, and no more" "_Exit _exit aligned_alloc calloc cfree free free_aligned_sized \
free_sized malloc memalign perf_churn_hook perf_churn_hook_fast perf_churn_listeners posix_memalign \
prctl pvalloc realloc reallocarray syscall valloc" "$(cat "$T/names")"
is "and C++'s operators" "8 new, 12 delete" \
	"$(nm -D --defined-only "$L" | grep -c ' _Zn[wa]') new, $(nm -D --defined-only "$L" | grep -c ' _Zd[la]') delete"

if [ "$(uname -m)" = x86_64 ]; then
	is "the hook begins with a nop" "90" "$(first_bytes perf_churn_hook)"
	is "the fast hook begins with a nop of 5 bytes" "0f 1f 44 00 00" "$(first_bytes perf_churn_hook_fast)"
	is "within a page" 0 $(($(address perf_churn_hook_fast) % 64))
	objdump -d --disassemble=malloc --disassemble=free "$L" >"$T/code"
	lacks "the fast paths have no frame" 'push|sub .*,%rsp|call' "$T/code"
fi
check "the kernel can count listeners in the file's mapping" is_written_from_file \
	"$(address perf_churn_listeners)"

build_workloads
for value in "" 0 -1 1x 99999999999999999999999 1099511627777; do
	PERF_CHURN_COUNT=$value PERF_CHURN_BYTES=$value PERF_CHURN_RATE=$value PERF_CHURN_SESSION=$value \
		LD_PRELOAD=$L "$WL/exact23" >"$T/out" 2>&1
	is "environment of \"$value\": the program ends as ever" "0 0" "$? $(wc -c <"$T/out")"
done
finish
