#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare two callchains of the same samples, frame by frame.

    compare_stacks.py [options] A B
    compare_stacks.py [options] --events A B FILE       both are in FILE, told by their events

A and B: what stock perf prints with

    perf script --ns --no-inline --max-stack 1024 -F tid,time,event,ip,sym[,dso]

A has the chains to be judged (recorded ones), B those that perf unwound itself from copies of the stack.
Samples belong together when their tid and time are equal; several of a time are taken in order.

Compared are the user's frames, from the leaf on. Addresses are equal when they are the same or, but for the
leaf, when B's is one less: perf prints the addresses it unwound that way. B's leaf may be one more: between
a breakpoint and its handler the registers are those behind it. Where dso is printed, it must be equal, too.
From a return probe's trampoline on, or an address in no object, B says nothing. The copy behind B may be too short: a chain of B that does not reach the thread's start counts
as cut, and only what it has is compared. Of a chain that does, A must have every frame and no other.

A thread's start is: _start, _dl_start_user, clone, clone3, __start_context; the caller of
__libc_start_main; and what --start matches. Programs and libraries without symbols have no such names:
there it is the address at which most chains of A's thread end, if no chain of A or B of that process has
it anywhere else. (Threads are told from processes by nothing here: this is per tid.)

Options:
    --event REGEX     events compared, default: all
    --start REGEX     names of further functions that threads start with
    --show N          print the first N differences, default 5
    --min-equal P     status 1 below this share of equal addresses, in percent
    --min-start P     status 1 below this share of A's chains that reach the start, in percent
"""
import argparse
import collections
import re
import sys

import script_stream

START = r"^(_start|_dl_start_user|(__)?clone3?|__start_context)(@.*)?$"
TRAMPOLINE = 0x7fffffffe000     # the last page of a process
# Who calls __do_global_dtors_aux, of the compiler's start files.
DESTRUCTORS = re.compile(r"_dl_call_fini\b|_dl_fini\b|call_fini\b|__cxa_finalize\b")
BEFORE_START = re.compile(r"^__libc_start_main")


def load(path, event):
    """{(tid, time): [frames, ...]}"""
    out = collections.defaultdict(list)
    with open(path, encoding="utf-8", errors="replace") as file:
        for sample in script_stream.samples(file):
            if re.search(event, sample.event):
                out[sample.tid, sample.time].append(sample.frames)
    return out


class Starts:
    """Which frames are a thread's start."""

    def __init__(self, a, b, names):
        self.names = re.compile(f"{START}|{names}" if names else START)
        self.by_tid = {}
        self.find_unnamed(a, b)

    def find_unnamed(self, a, b):
        inner, outer = set(), collections.defaultdict(collections.Counter)
        for stream in (a, b):
            for chains in stream.values():
                for frames in chains:
                    inner.update(self.key(f) for f in frames[:-1])
        for (tid, _), chains in a.items():
            for frames in chains:
                if frames:
                    outer[tid][self.key(frames[-1])] += 1
        for tid, ends in outer.items():
            key, count = ends.most_common(1)[0]
            # One address of B is one less.
            is_inner = any((key[0] + off, key[1]) in inner for off in (-1, 0))
            if 2 * count > sum(ends.values()) and count > 1 and not is_inner:
                self.by_tid[tid] = key

    @staticmethod
    def key(frame):
        return frame.ip, frame.dso

    def reached(self, tid, frames):
        if not frames:
            return False
        last = frames[-1]
        if self.names.match(last.sym):
            return True
        if len(frames) > 1 and BEFORE_START.match(frames[-2].sym):
            return True
        start = self.by_tid.get(tid)
        return start is not None and start[1] == last.dso and start[0] - last.ip in (0, 1)


def is_same(depth, a, b):
    if a.dso and b.dso and a.dso != b.dso:
        return False
    if depth == 0:
        return b.ip - a.ip in (0, 1)
    return a.ip - b.ip in (0, 1)


def cut_where_wrong(frames):
    """Nothing is true from a return probe's trampoline on, which stands in place of the caller's address,
    or from what is no code: there perf has lost its way."""
    for depth, frame in enumerate(frames):
        if frame.dso == "[uprobes]" or TRAMPOLINE - 16 <= frame.ip < TRAMPOLINE + 4096 or \
                frame.dso == "[unknown]":
            return frames[:depth]
    return frames


def name(frame):
    return f"{frame.ip:x} {frame.sym}"


class Comparison:
    def __init__(self, starts):
        self.starts = starts
        self.counts = collections.Counter()
        self.kinds = collections.Counter()
        self.shown = []

    def add(self, tid, a, b):
        whole, b = b, cut_where_wrong(b)
        self.counts["trampolines"] += len(b) < len(whole)
        self.counts["samples"] += 1
        a_done, b_done = self.starts.reached(tid, a), self.starts.reached(tid, b)
        self.counts["a_start"] += a_done
        self.counts["b_start"] += b_done
        self.counts["a_deeper"] += len(a) > len(b)
        kind = self.first_difference(a, b, b_done and len(b) == len(whole))
        if kind is None:
            self.counts["equal_samples"] += 1
        else:
            self.kinds[kind[0]] += 1
            self.shown.append((tid, kind[1], a, b))

    def first_difference(self, a, b, b_done):
        """None, or (kind, depth). All addresses are counted, those behind a difference, too."""
        first = None
        length = max(len(a), len(b)) if b_done else len(b)
        if a and len(a) < len(b) and DESTRUCTORS.match(b[len(a)].sym):
            self.counts["destructors"] += 1
            length = len(a)
        for depth in range(length):
            self.counts["ips"] += 1
            kind = self.difference_at(depth, a, b)
            if kind is None:
                self.counts["equal_ips"] += 1
            elif first is None:
                first = kind, depth
        return first

    @staticmethod
    def difference_at(depth, a, b):
        if depth >= len(a):
            return "A ends early"
        if depth >= len(b):
            return "A goes on behind the thread's start"
        if is_same(depth, a[depth], b[depth]):
            return None
        if depth == 0:
            return "the leaf differs"
        if depth + 1 < len(b) and is_same(depth, a[depth], b[depth + 1]):
            return f"A lacks a frame, callee {a[depth - 1].sym}"
        if depth + 1 < len(a) and is_same(depth, a[depth + 1], b[depth]):
            return f"A has a frame too many, callee {a[depth - 1].sym}"
        return f"another caller of {a[depth - 1].sym}"


def share(part, whole):
    return 100.0 * part / whole if whole else 0.0


def print_counts(c, only_a, only_b):
    n = c["samples"]
    print(f"samples: {n} compared, {c['equal_samples']} equal ({share(c['equal_samples'], n):.3f} %), "
          f"{only_a} only in A, {only_b} only in B")
    print(f"ips: {c['ips']} compared, {c['equal_ips']} equal ({share(c['equal_ips'], c['ips']):.3f} %)")
    print(f"thread's start reached: A {c['a_start']} ({share(c['a_start'], n):.2f} %), "
          f"B {c['b_start']} ({share(c['b_start'], n):.2f} %); A is deeper in {c['a_deeper']}")
    if c["destructors"]:
        print(f"A ends in a library's destructors, which have no call frame information: {c['destructors']}")
    print(f"B is cut where it is wrong (return probe, no code): {c['trampolines']}")


def print_differences(comparison, nr):
    for kind, count in comparison.kinds.most_common():
        print(f"difference: {count} times {kind}")
    for tid, depth, a, b in comparison.shown[:nr]:
        print(f"tid {tid}, from frame {max(depth - 1, 0)} on:")
        for at in range(max(depth - 1, 0), min(depth + 3, max(len(a), len(b)))):
            left, right = (name(s[at]) if at < len(s) else "-" for s in (a, b))
            print(f"  {at:3} {left:50} {right}")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--event", default="")
    parser.add_argument("--start", default="")
    parser.add_argument("--show", type=int, default=5)
    parser.add_argument("--min-equal", type=float, default=0)
    parser.add_argument("--min-start", type=float, default=0)
    parser.add_argument("--events", nargs=2, metavar=("A", "B"))
    parser.add_argument("files", nargs="+")
    return parser.parse_args()


def main():
    args = parse_args()
    if args.events:
        a, b = (load(args.files[0], event) for event in args.events)
    else:
        a, b = (load(file, args.event) for file in args.files)
    comparison = Comparison(Starts(a, b, args.start))
    only_a = only_b = 0
    for key in sorted(a.keys() | b.keys()):
        left, right = a.get(key, []), b.get(key, [])
        for pair in zip(left, right):
            comparison.add(key[0], *pair)
        only_a += max(0, len(left) - len(right))
        only_b += max(0, len(right) - len(left))
    counts = comparison.counts
    print_counts(counts, only_a, only_b)
    print_differences(comparison, args.show)
    good = counts["samples"] and \
        share(counts["equal_ips"], counts["ips"]) >= args.min_equal and \
        share(counts["a_start"], counts["samples"]) >= args.min_start
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
