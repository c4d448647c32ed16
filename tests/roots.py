#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Do stacks reach the thread's start? From perf script -F comm,tid,time,event,ip,sym on stdin.

Prints "EVENT WHOLE CUT" for each churn event, then at most five of the cut stacks as comments.
"""
import collections
import re
import sys

ROOTS = {"_start", "clone3", "__clone3", "clone", "__clone", "_dl_start_user"}
HEAD = re.compile(r"\s*(.*\S)\s+\d+\s+[\d.]+:\s+(churn:(?:alloc|free)):")


def is_whole(frames):
    """The frame above __libc_start_main() is _start, in a stripped program without a name."""
    names = [frame.split(None, 1)[1].split("+")[0].split("@")[0].strip() for frame in frames]
    return bool(names) and (names[-1] in ROOTS or
                            len(names) > 1 and names[-2].startswith("__libc_start_main"))


def samples(lines):
    """Heads with their frames; some samples have none, and no empty line behind them."""
    head, frames = None, []
    for line in lines:
        if line[0] in "\t\n":
            frames += [line.strip()] if line.strip() else []
            continue
        if head:
            yield head, frames
        head, frames = line, []
    if head:
        yield head, frames


def main():
    whole, cut, examples = collections.Counter(), collections.Counter(), []
    for line, frames in samples(sys.stdin):
        head = HEAD.match(line)
        if not head:
            continue
        if is_whole(frames):
            whole[head[2]] += 1
        else:
            cut[head[2]] += 1
            examples.append(" < ".join([line.strip()] + frames))
    for event in ("churn:alloc", "churn:free"):
        print(event, whole[event], cut[event])
    for example in examples[:5]:
        print("#", example)


main()
