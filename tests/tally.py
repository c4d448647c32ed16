#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Add up the churn events that `perf script -F pid,tid,time,period,event,trace` prints.

With no argument: one JSON object. With a dotted path: that value alone, 0 where there is none, such as
total.allocs, total.alloc_weight, windows.total.nr_allocs, pids.1234.frees.
"""
import collections
import json
import re
import sys

LINE = re.compile(r"^\s*(-?\d+)/(-?\d+)\s+(\d+\.\d+):\s+(\d+)\s+(\S+):\s+(.*)$")
FLAGS = re.compile(r"flags=([A-Z_|]+)")
FIELD = re.compile(r"(\w+)=(0x[0-9a-fA-F]+|-?\d+)(?= |$)")


def new_counts():
    return collections.Counter()


def add_alloc(counts, fields, period):
    counts["allocs"] += 1
    counts["bytes"] += fields["size"]
    counts["alloc_weight"] += period
    counts["alloc_weight_bytes"] += period * fields["size"]
    for name in fields["flags"]:
        counts["alloc_" + name.lower()] += 1


def add_free(counts, fields, period):
    flags = fields["flags"]
    counts["frees"] += 1
    counts["free_weight"] += period
    for name in flags:
        counts["free_" + name.lower()] += 1


def add_window(counts, fields):
    for key, value in fields.items():
        if key.startswith("nr_") or key in ("alloc_bytes", "gap_ns"):
            counts[key] += value


def tally(lines):
    out = {
        "events": new_counts(),
        "total": new_counts(),
        "pids": collections.defaultdict(new_counts),
        "tids": collections.defaultdict(new_counts),
        "windows": collections.defaultdict(new_counts),
        "unparsed": 0,
        "weight_differs": 0,
        "out_of_order": 0,
        "unparsed_line": "",
    }
    last = 0.0
    for line in lines:
        match = LINE.match(line)
        if not match:
            if line.strip() and ": " in line and "churn:" in line:
                out["unparsed"] += 1
                out["unparsed_line"] = line.strip()[:200]
            continue
        pid, tid, time, period, event, trace = match.groups()
        out["events"][event] += 1
        out["out_of_order"] += float(time) < last
        last = float(time)
        if not event.startswith("churn:"):
            continue
        fields = {k: int(v, 0) for k, v in FIELD.findall(trace)}
        flags = FLAGS.search(trace)
        fields["flags"] = flags.group(1).split("|") if flags else []
        period = int(period)
        if event == "churn:window":
            add_window(out["windows"]["total"], fields)
            add_window(out["windows"][pid], fields)
        elif event in ("churn:alloc", "churn:free"):
            add = add_alloc if event == "churn:alloc" else add_free
            for counts in (out["total"], out["pids"][pid], out["tids"][tid]):
                add(counts, fields, period)
            out["weight_differs"] += period != fields["weight"]
    return out


def main():
    out = tally(sys.stdin)
    if len(sys.argv) < 2:
        print(json.dumps(out))
        return
    for path in sys.argv[1:]:
        value = out
        for key in path.split("."):
            value = value.get(key, 0) if isinstance(value, dict) else 0
        print(value)


main()
