#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# timeout: 600
#
# Each tests/fuzz/NAME_fuzz.c runs for a while under libFuzzer, ASan and UBSan, on the seeds in
# tests/fuzz/corpus/NAME, and finds nothing. Lines of its own in the file may say
#
#   // sources: PATTERNS     what to compile along, from the root
#   // libs: -lNAME ...      what to link
#
# FUZZ_S=SECONDS for each (default 10); FUZZ_CORPUS=DIR keeps what was discovered, in DIR/NAME.
# An input that was too much is left in $OUTPUT/tests/fuzz.

. tests/lib.sh

FUZZ_S=${FUZZ_S:-10}
out=$OUTPUT/tests/fuzz
includes=(-Iplugin -I. "-I$OUTPUT/bpf" -isystem "${DEPS:-build/deps}/include")

# said FILE KEY - what a line "// KEY: value" says
said()
{
	sed -n "s|^// $2: *||p" "$1" | head -n 1
}

# build_fuzzer FILE PROGRAM
build_fuzzer()
{
	# Patterns and several words are wanted.
	# shellcheck disable=SC2046
	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -fno-omit-frame-pointer \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all "${includes[@]}" \
		-o "$2" "$1" $(said "$1" sources) $(said "$1" libs) >"$T/build.log" 2>&1
}

# run_fuzzer NAME PROGRAM - new inputs go to the first of the two folders
run_fuzzer()
{
	local folders=("${FUZZ_CORPUS:-$T/found}/$1")

	mkdir -p "${folders[0]}"
	[ ! -d "tests/fuzz/corpus/$1" ] || folders+=("tests/fuzz/corpus/$1")
	timeout -k 10 $((FUZZ_S + 60)) nice "$2" -max_total_time="$FUZZ_S" -rss_limit_mb=512 \
		-timeout=10 -artifact_prefix="$out/$1-" "${folders[@]}" >"$T/fuzz.log" 2>&1
}

need_tool clang "fuzzing" || finish
mkdir -p "$out"
for file in tests/fuzz/*_fuzz.c; do
	name=$(basename "$file" _fuzz.c)
	if ! check "$name: builds" build_fuzzer "$file" "$out/${name}_fuzz"; then
		diag_file "$T/build.log" 40
		continue
	fi
	check "$name: nothing found in $FUZZ_S s" run_fuzzer "$name" "$out/${name}_fuzz" ||
		diag "$(tail -n 60 "$T/fuzz.log")"
	diag "$(grep -a 'DONE\|BINGO' "$T/fuzz.log" | tail -n 1)"
done
finish
