#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare recorded stacks of the programs of tests/workloads/stacks with tests/data/stacks.txt.

    stacks.py alloc|cpu PROGRAM TABLE <STREAM

STREAM: perf script --no-inline -F comm,tid,event,trace,ip,sym,dso. Prints "pass NAME" or "fail NAME" for
each claim, with lines "  detail" behind it; the status is 1 if one failed.

alloc   per case: the allocations of 7000 to 7999 bytes have exactly the expected stacks, each as often
        as expected; all churn events end at a thread's start.
cpu     per case: of the CPU samples in the allocator 97 % (of all cases together 99 %) end at a thread's
        start, and have an expected stack from the caller of the allocator on (or a complete one that lacks this caller: the
        libraries allocate, too).

A chain ends at a thread's start when its last frame is _start, or in the loader (what it does before main),
or when below the start routine (the last names of the table) are one or two frames of libc: start_thread
and clone3, or __start_context; or when it ends at the same address as such a chain. What is below main and
the start routines is not in the table. -static programs have libc's frames in their own file.
"""
import collections
import re
import sys

import script_stream

MIN_SAMPLES = 30
MIN_SHARE = 0.99
# A case has some 200 samples: one in a hundred may well be three.
MIN_CASE_SHARE = 0.97
SIZE = re.compile(r"\bsize=(\d+)\b")
OWN = ("stacks", "stacks_static", "stacks_rust", "stacks_plugin.so")
STD = re.compile(r"^<?(std|core|alloc)::|^__?rust|^_?<.* as (core|std|alloc)::")
# The compiler's start files have no call frame information: walks end there, as the man page's LIMITS say.
NO_CFI = ("__do_global_dtors_aux", "frame_dummy")
LOADER_STARTS = ("_start", "_dl_start_user", "[unknown]")
STATIC_LIBS = {"__cxa_allocate_exception": "[libstdc++]"}

failed = False


class Table:
    """The rows of one program."""

    def __init__(self, path, program, is_static):
        self.cases = collections.defaultdict(collections.Counter)
        self.roots = collections.defaultdict(lambda: {"main"})
        self.names = {"_start"}
        with open(path, encoding="utf-8") as file:
            rows = [line.split() for line in file if line.strip() and line[0] != "#"]
        for row_program, case, size, count, text in rows:
            if row_program == program and not (is_static and "plugin" in text):
                self.add(case, int(size), int(count), self.expand(text))

    @staticmethod
    def expand(text):
        frames = []
        for part in text.split(";"):
            name, _, times = part.partition("*")
            frames += [name] * int(times or 1)
        return tuple(frames)

    def add(self, case, size, count, frames):
        self.cases[case][size, frames] += count
        self.roots[case].add(frames[-1])
        self.names.update(frames)


def name_of_own(frame, names):
    sym = frame.sym.split("@")[0]
    if sym in names or sym == "[unknown]":
        return sym
    if STD.match(sym):
        return "[std]"
    if frame.dso.endswith("stacks_static"):
        return STATIC_LIBS.get(sym, "[libc]")
    return sym


def name_of(frame, names):
    base = frame.dso.rsplit("/", 1)[-1]
    if base in OWN:
        return name_of_own(frame, names)
    if base.startswith("ld-linux"):
        return "[ld.so]"
    return "[%s]" % (base.strip("[]").split(".so")[0] or "unknown")


def chain_of(frames, names):
    chain = []
    for frame in frames:
        name = name_of(frame, names)
        if name != "[std]" or chain[-1:] != ["[std]"]:
            chain.append(name)
    return tuple(chain)


def cut_below_root(chain, roots):
    """The chain to the outermost function in roots, and what is below it; None: it is not there."""
    for at in range(len(chain) - 1, -1, -1):
        if chain[at] in roots:
            return chain[:at + 1], chain[at + 1:]
    return None


def is_at_start(chain, roots, last):
    """last: the last Frame. The loader may be without symbols."""
    if last.sym in NO_CFI:
        return True
    if chain[-1] == "_start" or chain[-1] == "[ld.so]" and last.sym in LOADER_STARTS:
        return True
    cut = cut_below_root(chain, roots)
    return bool(cut) and cut[0][-1] != "main" and 1 <= len(cut[1]) <= 2 and set(cut[1]) == {"[libc]"}


class Starts:
    """Where threads start, learned from chains that have a start routine: libc also runs code of its own
    there, when a thread ends."""

    def __init__(self, samples, table):
        self.last = set()
        for s in samples:
            if s.frames and is_at_start(chain_of(s.frames, table.names), table.roots[s.comm], s.frames[-1]):
                self.last.add(s.frames[-1][::2])

    def reached(self, sample):
        return bool(sample.frames) and sample.frames[-1][::2] in self.last


def claim(good, name, details=()):
    global failed
    failed |= not good
    print("pass" if good else "fail", name)
    for line in details:
        print("  " + line)


def shorten(chain):
    """Repeated names as NAME*N."""
    out = []
    for name in chain:
        if out and out[-1][0] == name:
            out[-1][1] += 1
        else:
            out.append([name, 1])
    return ";".join(name if times == 1 else f"{name}*{times}" for name, times in out)


def differences(want, got, nr=6):
    for (size, chain), count in list(((want - got) + (got - want)).items())[:nr]:
        which = "missing" if (size, chain) in want and want[size, chain] > got[size, chain] else "too many"
        yield f"{which}: {count} of {size} bytes, {shorten(chain)}"


def most_common(chains, nr=4):
    return [f"{count} times {shorten(chain)}" for chain, count in chains.most_common(nr)]


class Allocs:
    """One case: stacks of the allocations of its own, and ends of all churn events."""

    def __init__(self):
        self.stacks = collections.Counter()
        self.open = collections.Counter()
        self.nr = 0

    def add(self, sample, chain, roots, is_open, _):
        size = SIZE.search(sample.trace)
        if sample.event == "churn:alloc" and size and 7000 <= int(size[1]) <= 7999:
            cut = cut_below_root(chain, roots)
            self.stacks[int(size[1]), cut[0] if cut else chain] += 1
        self.nr += 1
        self.open.update([chain] if is_open else [])

    def judge(self, case, want):
        if want:
            right = sum((self.stacks & want).values())
            claim(self.stacks == want, f"{case}: {right} of {sum(want.values())} allocations have the "
                  "expected stacks, none others", differences(want, self.stacks))
        nr_open = sum(self.open.values())
        claim(not nr_open and self.nr, f"{case}: {self.nr - nr_open} of {self.nr} churn events end at a "
              "thread's start", most_common(self.open))


class Cpu:
    """One case: CPU samples in the allocator."""

    def __init__(self):
        self.nr = self.nr_others = self.nr_others_open = 0
        self.open, self.others = collections.Counter(), collections.Counter()

    def add(self, sample, chain, roots, is_open, want):
        if not script_stream.is_in_allocator(sample.frames):
            self.nr_others += 1
            self.nr_others_open += is_open
            return
        self.nr += 1
        self.open.update([chain] if is_open else [])
        if (is_open or calls_allocator(chain, want)) and not is_expected(chain, roots, want):
            self.others[chain] += 1

    def judge(self, case, want):
        if not want:
            return
        for chains, what in ((self.open, "end at a thread's start"),
                             (self.others, "have an expected stack")):
            good = self.nr - sum(chains.values())
            claim(self.nr >= MIN_SAMPLES and good >= MIN_CASE_SHARE * self.nr,
                  f"{case}: {good} of {self.nr} CPU samples in the allocator {what}", most_common(chains))
        print(f"note {case}: {self.nr_others - self.nr_others_open} of {self.nr_others} other CPU samples "
              "end at a thread's start")


def judge_all(cases):
    nr = sum(c.nr for c in cases)
    bad = sum(sum(c.open.values()) + sum(c.others.values()) for c in cases)
    claim(nr - bad >= MIN_SHARE * nr, f"all cases: {nr - bad} of {nr} CPU samples in the allocator are as they should")


def is_expected(chain, roots, want):
    """From the caller of the allocator on, which is the last of the frames with its name."""
    cut = cut_below_root(chain, roots)
    return bool(cut) and any(cut[0][-len(frames):] == frames for _, frames in want)


def calls_allocator(chain, want):
    """Is one of the expected callers of the allocator in the chain?"""
    callers = {next(name for name in frames if name[0] != "[") for _, frames in want}
    return not callers.isdisjoint(chain)


def is_wanted(what, sample):
    if what == "alloc":
        return sample.event in ("churn:alloc", "churn:free")
    return not sample.event.startswith("churn:") and sample.frames


def main():
    what, program, table_path = sys.argv[1:4]
    is_static = program == "stacks_static"
    table = Table(table_path, program.removesuffix("_static"), is_static)
    cases = collections.defaultdict(Allocs if what == "alloc" else Cpu)
    samples = [s for s in script_stream.samples(sys.stdin) if is_wanted(what, s)]
    starts = Starts(samples, table)
    for s in samples:
        cases[s.comm].add(s, chain_of(s.frames, table.names), table.roots[s.comm],
                          not starts.reached(s), table.cases.get(s.comm, ()))
    for case in sorted(set(table.cases) | set(cases)):
        cases[case].judge(case, table.cases.get(case))
    if what == "cpu":
        judge_all([c for name, c in cases.items() if table.cases.get(name)])
    return 1 if failed else 0


sys.exit(main())
