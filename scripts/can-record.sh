#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# can-record.sh - exit 0 where perf churn can record; else say in one line what is missing.
cd "$(dirname "$0")/.." || exit 1

probe=${OUTPUT:-build}/can-record
if [ ! -x "$probe" ]; then
	echo "$probe is not built (run make)"
	exit 1
fi
exec "$probe"
