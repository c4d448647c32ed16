#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make demo: where recording works, the report names the three sites that churn; where it does not,
# one line says why and the bundled recording's report names the same ones.

. tests/lib.sh

# names_sites NAME FILE
names_sites()
{
	local site

	for site in parse_line build_index render_response; do
		has "$1 names $site with its line" "^ +[0-9].* $site \(demo\.c:[0-9]+\)" "$2"
	done
}

# demo VARIABLE=VALUE - its stdout and stderr in $T/out and $T/err
demo()
{
	env "$1" scripts/demo.sh </dev/null >"$T/out" 2>"$T/err"
}

# As on a machine where the kernel says no.
mkdir -p "$T/build/tests"
ln -s "$OUTPUT/perf-churn" "$T/build/perf-churn"
printf '#!/bin/sh\necho "cannot record here: no rights"\nexit 1\n' >"$T/build/can-record"
chmod +x "$T/build/can-record"
check "without rights the demo succeeds" demo OUTPUT="$T/build" || diag_file "$T/err"
is "without rights the demo says so in its first line" "cannot record here: no rights" \
	"$(head -n 1 "$T/out")"
names_sites "the bundled report" "$T/out"

if why=$(scripts/can-record.sh); then
	build_workloads
	check "the demo records" demo TMPDIR="$T" || diag_file "$T/err"
	names_sites "the demo's report" "$T/out"
	has "the demo's recording lost nothing" ' 0 lost' "$T/err"
else
	skip "the demo records" "$why"
fi
finish
