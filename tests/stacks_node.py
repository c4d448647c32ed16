#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge CPU samples of tests/workloads/stacks/node.js.

    stacks_node.py <STREAM

STREAM: perf script --no-inline -F comm,tid,event,ip,sym,dso. A sample counts when its leaf is in compiled
JavaScript: a file perf-PID.map, or memory without a file. Prints: samples of that kind, those that go
through js_inner, js_middle and js_outer in this order, those that end at node's start: the caller of
__libc_start_main, and what kinds of last frames the others have.
"""
import collections
import sys

import script_stream


def is_jit(frame):
    base = frame.dso.rsplit("/", 1)[-1]
    return base.startswith("perf-") and base.endswith(".map") or base in ("anon", "[anon]", "[JIT]") or \
        frame.dso.startswith("[JIT]") or frame.dso == "//anon"


def has_chain(frames):
    """js_inner, perhaps inlined in js_middle, which perhaps is inlined in js_outer: the last one is there."""
    return any("js_outer" in frame.sym for frame in frames)


def is_at_start(frames):
    return len(frames) > 1 and frames[-2].sym.startswith("__libc_start_main")


def print_through(samples):
    through = [s.frames for s in samples if any(map(is_jit, s.frames))]
    print(f"{sum(map(is_at_start, through))} of {len(through)} samples with compiled code anywhere do")


def main():
    samples = [s for s in script_stream.samples(sys.stdin) if not s.event.startswith("churn:")]
    nr, named, started, ends = 0, 0, 0, collections.Counter()
    for sample in samples:
        if not sample.frames or not is_jit(sample.frames[0]):
            continue
        nr += 1
        named += has_chain(sample.frames)
        if is_at_start(sample.frames):
            started += 1
        else:
            last = sample.frames[-1]
            ends[f"{last.sym} ({last.dso.rsplit('/', 1)[-1]})"] += 1
    print(nr, named, started)
    print_through(samples)
    for end, count in ends.most_common(5):
        print(f"{count} times the last frame is {end}")


main()
