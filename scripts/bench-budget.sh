#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench-budget.sh - are recordings under the default budget right? RUNS recordings each of a program that
# allocates at several rates: how often the printed interval covers the truth, how wide it is, how often the
# shares of its ten sites are within their error, what the probes cost by their own account, and CPU time against
# that of the run alone just before (medians: where the host takes its time from us, single runs differ twofold).
#
#   RUNS      recordings of each (default: 20)
#   CPU_S     CPU time of the program in each, about, in seconds (default: 5)
cd "$(dirname "$0")/.." || exit 1

OUTPUT=${OUTPUT:-build}
PATH=$(realpath -m "$OUTPUT"):$PATH
scripts/can-record.sh || exit 1
T=$(mktemp -d /tmp/perf-churn-bench.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT

export OUTPUT T RUNS="${RUNS:-20}" CPU_S="${CPU_S:-5}"
exec python3 - <<'END'
import json, os, signal, statistics, subprocess, time

env = os.environ
PROGRAM = env["OUTPUT"] + "/tests/workloads/ten_sites"
DATA = env["T"] + "/data"
BLOCKS = 55

def start(rounds, work):
    p = subprocess.Popen([PROGRAM, str(rounds), str(work)], stdout=subprocess.PIPE)
    p.stdout.readline()
    return p

def end(p):
    _, _, usage = os.wait4(p.pid, 0)
    p.stdout.close()
    p.returncode = 0
    return usage.ru_utime + usage.ru_stime

def bare_s(rounds, work):
    p = start(rounds, work)
    p.send_signal(signal.SIGUSR1)
    return end(p)

def record(rounds, work):
    p = start(rounds, work)
    if os.path.exists(DATA):
        os.unlink(DATA)
    recorder = subprocess.Popen(["perf-churn", "record", "-q", "-p", str(p.pid), "-o", DATA])
    # The file is there once nothing can fail to start any more.
    while not os.path.exists(DATA) and recorder.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    p.send_signal(signal.SIGUSR1)
    cpu_s = end(p)
    if recorder.wait():
        raise SystemExit("perf churn record failed")
    out = subprocess.run(["perf-churn", "report", "--json", "-i", DATA], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out), cpu_s

def shares_hold(report):
    sites = {s["function"]: s for s in report["sites"]}
    total = sum(s["allocs"] for s in sites.values())
    good = 0
    for n in range(1, 11):
        s = sites.get("site_%d" % n, {"allocs": 0, "allocs_error": 0})
        error = max(1.96 * s["allocs_error"], 1) / total
        good += abs(s["allocs"] / total - n / BLOCKS) <= error
    return good

def row(per_ms):
    work = int(1000000 / per_ms / 1.0)
    once = bare_s(200, work)
    rounds = max(int(200 * float(env["CPU_S"]) / once), 10)
    truth = rounds * BLOCKS
    rate = truth / (once * rounds / 200) / 1000
    covered = bounds = shares = 0
    widths, offs, costs, ratios = [], [], [], []
    for _ in range(int(env["RUNS"])):
        alone_s = bare_s(rounds, work)
        report, cpu_s = record(rounds, work)
        ratios.append(cpu_s / alone_s)
        w = report["windows"]
        low, high = w["allocs_95"]["low"], w["allocs_95"]["high"]
        shares += shares_hold(report)
        costs.append(100 * w["cost_s"] / w["cpu_s"])
        if w["at_least"]:
            bounds += 1
            covered += low <= truth
            continue
        covered += low <= truth <= high
        widths.append(100 * (high - low) / 2 / truth)
        offs.append(100 * ((high + low) / 2 / truth - 1))
    runs = int(env["RUNS"])
    median = lambda v: "%.1f" % statistics.median(v) if v else "-"
    print("%10.1f %6d/%-3d %8d %9s %9s %8d/%-4d %8s %8.2f %9.3f" % (
        rate, covered, runs, bounds, median(widths), median(offs), shares, 10 * runs,
        median(costs), max(costs), statistics.median(ratios)), flush=True)

print("%10s %10s %8s %9s %9s %13s %8s %8s %9s" % (
    "calls/ms", "covered", "at least", "+- %", "off by %", "shares right", "cost %", "most %", "CPU time"))
for per_ms in (1, 5, 20, 100):
    row(per_ms)
END
