#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh - record a small program that churns the heap, and show the report.
#
# Where recording is not possible: say why, and report on a bundled recording.
set -euo pipefail
cd "$(dirname "$0")/.."

OUTPUT=${OUTPUT:-build}
workload=$OUTPUT/tests/workloads/demo
PATH=$(realpath -m "$OUTPUT"):$PATH

run() {
	printf '$ %s\n' "$*" >&2
	"$@"
}

if [ -n "${SUDO_UID:-}" ]; then
	trap 'chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$OUTPUT"' EXIT
fi

if why=$(scripts/can-record.sh); then
	dir=$(mktemp -d "${TMPDIR:-/tmp}/perf-churn-demo.XXXXXX")
	# Same way as a user: perf finds perf-churn on PATH. Without perf, perf-churn itself does.
	churn=(perf churn)
	command -v perf >/dev/null || churn=(perf-churn)
	run "${churn[@]}" record -c 10 -g -o "$dir/perf.data" -- "$workload" 300
	run "${churn[@]}" report -i "$dir/perf.data" | cat
	echo "The recording is $dir/perf.data; any perf reads it: perf report -i $dir/perf.data"
else
	echo "$why"
	echo "Showing the report of a bundled recording instead."
	# Its symbols are in a build-id cache beside it; perf looks for one in the home folder.
	export HOME=$PWD/tests/data/demo.home
	run perf-churn report -i tests/data/demo.perf.data | cat
fi
