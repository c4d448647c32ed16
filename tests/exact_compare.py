#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare three views of one recording with the independent counter; every difference is printed.

    exact_compare.py [--sums] COUNTER TALLY REPORT

COUNTER: lines of counter_dump, TALLY: output of tally.py (the samples and the window records, as stock
perf prints them), REPORT: perf churn report --json. Status 0 when all of them agree to the last call.

Where numbers can differ by their nature it is said here and nowhere else:
 - failures inside reallocarray's own overflow check happen before it calls anything; counter.so
   leaves them out of "failed".
"""
import json
import sys

SUMS = ("allocs", "bytes", "frees", "failed", "free_null", "reallocs")
WINDOW = {"allocs": "nr_allocs", "bytes": "alloc_bytes", "frees": "nr_frees", "failed": "nr_failed",
          "free_null": "nr_free_null", "reallocs": "nr_reallocs"}
LOST = ("nr_lost_output", "nr_lost_map", "nr_lost_inflight")

bad = 0


def compare(what, want, got):
    global bad
    if want != got:
        bad += 1
        print(f"{what}: counter {want}, got {got}, difference {got - want:+d}")


def compare_windows(procs, tally):
    windows = tally["windows"]
    for pid, proc in procs.items():
        window = windows.get(pid, {})
        for key in SUMS:
            compare(f"process {pid}, window.{WINDOW[key]}", proc[key], window.get(WINDOW[key], 0))
    for pid in windows:
        if pid != "total" and pid not in procs:
            compare(f"process {pid}, unknown to the counter, window.nr_allocs", 0,
                    windows[pid].get("nr_allocs", 0))


def compare_sums(procs, tally):
    """A run without the counter in it, as users have it: nothing may be missing for any reason."""
    total = tally["windows"].get("total", {})
    for key in SUMS:
        compare(f"sum of window.{WINDOW[key]}", sum(p[key] for p in procs.values()),
                total.get(WINDOW[key], 0))
    for key in ("allocs", "bytes", "frees"):
        compare(f"{key} by churn samples", sum(p[key] for p in procs.values()),
                tally["total"].get(key, 0))
    compare("window.gap_ns", 0, total.get("gap_ns", 0))


def compare_samples(procs, tally):
    for pid, proc in procs.items():
        counts = tally["pids"].get(pid, {})
        for key in ("allocs", "bytes", "frees"):
            compare(f"process {pid}, {key} by churn samples", proc[key], counts.get(key, 0))
        for thread in proc["threads"]:
            counts = tally["tids"].get(str(thread["tid"]), {})
            for key in ("allocs", "bytes", "frees"):
                compare(f"thread {thread['tid']}, {key} by churn samples", thread[key],
                        counts.get(key, 0))
    for pid in tally["pids"]:
        if pid not in procs:
            compare(f"process {pid}, unknown to the counter, allocs", 0,
                    tally["pids"][pid].get("allocs", 0))


def compare_weights(tally):
    total = tally["total"]
    compare("sum of periods of churn:alloc", total.get("allocs", 0), total.get("alloc_weight", 0))
    compare("samples whose period is not their weight", 0, tally["weight_differs"])
    compare("samples that stock perf prints otherwise than expected", 0, tally["unparsed"])
    for key in LOST:
        compare(f"window.{key}", 0, tally["windows"].get("total", {}).get(key, 0))
    if tally["unparsed"]:
        print(tally["unparsed_line"])


def compare_report(procs, report):
    totals = report["totals"]
    for key in ("allocs", "frees", "bytes", "failed"):
        compare(f"report, totals.{key}", sum(p[key] for p in procs.values()), totals[key])
    compare("report, sum of sites.allocs", totals["allocs"], sum(s["allocs"] for s in report["sites"]))
    compare("report, sum of sites.bytes", totals["bytes"], sum(s["bytes"] for s in report["sites"]))
    compare("report, sum of size_histogram", totals["allocs"],
            sum(b["allocs"] for b in report["size_histogram"]))
    compare("report, lost samples", 0, report["recording"]["lost"]["churn_events"])


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--sums"]
    with open(args[0], encoding="utf-8") as file:
        procs = {str(p["pid"]): p for p in map(json.loads, file)}
    if not procs:
        print("the counter saw no process")
        return 1
    tally = load(args[1])
    if "--sums" in sys.argv:
        compare_sums(procs, tally)
    else:
        compare_windows(procs, tally)
        compare_samples(procs, tally)
    compare_weights(tally)
    try:
        compare_report(procs, load(args[2]))
    except (ValueError, KeyError) as err:
        print(f"report --json: {type(err).__name__}: {err}")
        return 1
    total = {key: sum(p[key] for p in procs.values()) for key in SUMS}
    own = sum(p["own"]["allocs"] for p in procs.values())
    print(f"{len(procs)} processes, {total}, {own} calls of the loader served by the counter itself")
    return 1 if bad else 0


sys.exit(main())
