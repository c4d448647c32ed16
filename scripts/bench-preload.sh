#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench-preload.sh - what libperf-churn.so costs a loop of malloc/free pairs: ns a pair, of the
# process's user and system time. Bare, with nobody who listens, and listened to; in turns, RUNS
# times, and medians.
cd "$(dirname "$0")/.." || exit 1

OUTPUT=${OUTPUT:-build}
RUNS=${RUNS:-9}
PAIRS=${PAIRS:-20000000}
T=$(mktemp -d /tmp/perf-churn-bench.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
# A file of its own: its probe is in no process but ours.
cp "$OUTPUT/libperf-churn.so" "$T/" || exit 1

export OUTPUT RUNS PAIRS LIBRARY=$T/libperf-churn.so
exec python3 - <<'END'
import json, os, statistics, subprocess

env = os.environ
loop = [env["OUTPUT"] + "/tests/workloads/loop", "-n", env["PAIRS"]]
preload = ["env", "LD_PRELOAD=" + env["LIBRARY"]]
listener = [env["OUTPUT"] + "/tests/preload_listener", env["LIBRARY"]]
ways = [
    ("bare", ["env"] + loop),
    ("preloaded, nobody listens", preload + loop),
    ("listened to, adaptive", listener + preload + loop),
    ("listened to, -c 100", listener + preload + ["PERF_CHURN_COUNT=100"] + loop),
]

def run(command):
    before = os.times()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    after = os.times()
    took = after[2] + after[3] - before[2] - before[3]
    # Not the listener's own.
    if command[0] == listener[0]:
        took = json.loads(out[-1])["cpu_us"] / 1e6
    return took * 1e9 / int(env["PAIRS"])

took = {name: [] for name, _ in ways}
for _ in range(int(env["RUNS"])):
    for name, command in ways:
        took[name].append(run(command))
base = statistics.median(took["bare"])
print("%-28s %8s %8s %8s %8s" % ("ns a pair", "median", "more", "least", "most"))
for name, _ in ways:
    t = took[name]
    print("%-28s %8.1f %8.1f %8.1f %8.1f" %
          (name, statistics.median(t), statistics.median(t) - base, min(t), max(t)))
END
