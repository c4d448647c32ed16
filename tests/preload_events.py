#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
#
# preload_events.py WHAT FILES - judge what preload_listener has written; prints a word, or what is
# wrong.

import collections
import json
import math
import sys

ALLOC, FREE = 1, 2
COUNTS = "allocs bytes frees failed free_null reallocs".split()
# Of a mean whose error is estimated: one in 16000 tests fails by chance.
MAX_Z = 4
MIN_SAMPLES = 20


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def truth(sums, counter):
    """Sums of each process against the independent counter's."""
    ours = {line["pid"]: line for line in lines(sums) if line["pid"]}
    theirs = {line["pid"]: line for line in lines(counter)}
    wrong = []
    for pid in sorted(set(ours) | set(theirs)):
        for key in COUNTS:
            got, want = (d.get(pid, {}).get(key, 0) for d in (ours, theirs))
            if got != want:
                wrong.append(f"{pid}: {key} {got}, not {want}")
    return ", ".join(wrong[:5]) or ("equal" if theirs else "nothing counted")


def blocks(events):
    """Each free is that of one allocation, and says the same of it."""
    live, seqs, wrong, frees = {}, set(), [], 0
    for e in sorted(lines(events), key=lambda e: e["time"]):
        if e["kind"] == ALLOC:
            if e["seq"] in seqs:
                wrong.append(f"seq {e['seq']} twice")
            seqs.add(e["seq"])
            live[e["seq"]] = e
        elif e["kind"] == FREE:
            frees += 1
            a = live.pop(e["seq"], None)
            if not a:
                wrong.append(f"free of unknown seq {e['seq']}")
            elif any(a[k] != e[k] for k in ("ptr", "size", "weight", "pid")):
                wrong.append(f"free says {e}, allocation said {a}")
            elif (a["tid"] != e["tid"]) != bool(e["flags"] & 4) or a["tid"] != e["alloc_tid"]:
                wrong.append(f"threads of {e}")
            elif not e["alloc_ns"] <= a["time"] <= e["time"]:
                wrong.append(f"times of {e}, {a}")
    return "; ".join(wrong[:3]) or ("fine" if frees else "no frees")


def frames(events):
    """The caller is right behind one or two frames of the library."""
    wrong = [e for e in lines(events)
             if e["kind"] in (ALLOC, FREE) and e["caller"] not in e["ips"][2:4]]
    return f"{len(wrong)} wrong, such as {wrong[0]}" if wrong else "fine"


def variance(weights):
    """Of the estimate of one call: N - 1, as the samples themselves estimate it."""
    return sum(w * (w - 1) for w in weights) / sum(weights)


def unbiased(events, nr_runs):
    """The mean of many runs' estimates is the truth, for each size."""
    calls = {s: 1000 for s in range(1, 25)} | {3000: 24, 100000: 8, 100000000: 2}
    runs = collections.defaultdict(lambda: collections.Counter())
    weights = collections.defaultdict(list)
    for e in lines(events):
        if e["kind"] == ALLOC:
            runs[e["pid"]][e["size"]] += e["weight"]
            weights[e["size"]].append(e["weight"])
    anywhere = variance([w for size in weights for w in weights[size]])
    groups = {"small": range(1, 25), "1": [1], "24": [24], "3000": [3000], "100000": [100000],
              "100000000": [100000000]}
    wrong = []
    for name, sizes in groups.items():
        want = sum(calls[s] for s in sizes)
        # A run without any sample at all has no events.
        got = [sum(run[s] for s in sizes) for run in runs.values()] + [0] * (nr_runs - len(runs))
        mean = sum(got) / nr_runs
        error = math.sqrt(sum((n - mean) ** 2 for n in got) / (nr_runs - 1) / nr_runs)
        # A handful of samples does not tell its own error.
        mine = [w for s in sizes for w in weights[s]]
        one_call = variance(mine) if len(mine) >= MIN_SAMPLES else anywhere
        error = max(error, math.sqrt(want * one_call / nr_runs))
        if abs(mean - want) > MAX_Z * error + 1e-9:
            wrong.append(f"size {name}: {mean:.1f} +- {error:.1f}, not {want}")
    return "; ".join(wrong) or "unbiased"


def rates(events, phases):
    """About 1000 samples a second of CPU time in each phase (of half a second) of rates.c."""
    samples = [e for e in lines(events) if e["kind"] == ALLOC]
    wrong = []
    for line in open(phases):
        name, start, end, allocs = line.split()
        mine = [e for e in samples if int(start) <= e["time"] < int(end)]
        weight = sum(e["weight"] for e in mine)
        if not 250 <= len(mine) <= 1000:
            wrong.append(f"{name}: {len(mine)} samples")
        if abs(weight / int(allocs) - 1) > 5 / math.sqrt(len(mine) or 1):
            wrong.append(f"{name}: {weight} of {allocs}")
    return "; ".join(wrong) or "adapted"


what = sys.argv[1]
if what == "unbiased":
    print(unbiased(sys.argv[2], int(sys.argv[3])))
else:
    print({"truth": truth, "blocks": blocks, "frames": frames, "rates": rates}[what](*sys.argv[2:]))
