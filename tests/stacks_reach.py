#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How many stacks of a recording end at their thread's start, of programs whose stacks nobody knows.

    stacks_reach.py STREAM

STREAM: a file with perf script --no-inline --max-stack 1024 -F comm,tid,event,ip,sym,dso. Prints one line
"CLASS SAMPLES AT-START" for each of: churn (churn:alloc and churn:free), allocator (CPU samples in the
allocator), other (other CPU samples with a user stack); behind it the most common last frames of the
stacks that do not, as lines "  detail". What a start is: compare_stacks.py.
"""
import collections
import sys

import compare_stacks
import script_stream


def class_of(sample):
    if sample.event in ("churn:alloc", "churn:free"):
        return "churn"
    if sample.event.startswith("churn:") or sample.event == "stack-copy" or not sample.frames:
        return None
    return "allocator" if script_stream.is_in_allocator(sample.frames) else "other"


def load(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [s for s in script_stream.samples(file) if class_of(s)]


def main():
    samples = load(sys.argv[1])
    stream = collections.defaultdict(list)
    for s in samples:
        stream[s.tid, s.time].append(s.frames)
    starts = compare_stacks.Starts(stream, {}, "")
    counts = {name: [0, 0, collections.Counter()] for name in ("churn", "allocator", "other")}
    for s in samples:
        count = counts[class_of(s)]
        count[0] += 1
        if starts.reached(s.tid, s.frames):
            count[1] += 1
        else:
            last = s.frames[-1] if s.frames else script_stream.Frame(0, "[no frame]", "")
            count[2][f"{s.comm}: {last.ip:x} {last.sym} ({last.dso}), {len(s.frames)} frames"] += 1
    for name, (nr, nr_start, ends) in counts.items():
        print(name, nr, nr_start)
        for end, times in ends.most_common(3):
            print(f"  {times} times {end}")


main()
