# SPDX-License-Identifier: GPL-2.0-only
"""Read what `perf script -F [comm,]tid,[time,]event,[trace,]ip,sym[,dso]` prints, sample by sample.

perf prints user addresses as offsets in their file, callchains that it unwound itself one byte lower than
recorded ones (it looks up return addresses minus one), and inlined functions as frames of their own
(use --no-inline; they are left out here).
"""
import collections
import re

Frame = collections.namedtuple("Frame", "ip sym dso")
Sample = collections.namedtuple("Sample", "comm tid time event trace frames")

HEADER = re.compile(r"^(?:(?P<comm>\S.*?)\s+|\s*)(?P<tid>-?\d+)\s+(?:(?P<time>\d+\.\d+):\s+)?"
                    r"(?:\d+\s+)?(?P<event>\S+):(?:\s+(?P<trace>.*?))?\s*$")
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+)(?: (?P<sym>.*?))?(?: \((?P<dso>[^()]*(?:\(deleted\))?)\))?\s*$")
KERNEL = 1 << 63
ALLOCATOR = re.compile(r"^(__libc_)?(malloc|c?free|calloc|realloc)(@.*)?$"
                       r"|^(_int_\w+|malloc_consolidate|unlink_chunk.*|sysmalloc|systrim.*|tcache_\w+"
                       r"|sys(malloc|trim)\w*|arena_get2.*|__malloc.*|__free.*)$")


def parse_frame(line):
    match = FRAME.match(line)
    if not match or line.rstrip().endswith("(inlined)"):
        return None
    return Frame(int(match["ip"], 16), match["sym"] or "[unknown]", match["dso"] or "")


def is_kernel(frame):
    return frame.ip >= KERNEL or frame.dso == "[kernel.kallsyms]"


def samples(lines):
    """Yield Samples; frames are those of the user's stack, leaf first."""
    head, frames = None, []
    for line in lines:
        if line[:1] == "\t":
            frame = parse_frame(line)
            if frame and not is_kernel(frame):
                frames.append(frame)
            continue
        match = HEADER.match(line)
        if not match:
            continue
        if head:
            yield Sample(*head, frames)
        head = (match["comm"] or "", int(match["tid"]), match["time"] or "", match["event"],
                match["trace"] or "")
        frames = []
    if head:
        yield Sample(*head, frames)


def is_in_allocator(frames):
    """Where libc has no debug symbols, the allocator's inner functions have no name."""
    return any(ALLOCATOR.match(f.sym) for f in frames) or \
        frames[0].sym == "[unknown]" and frames[0].dso.rsplit("/", 1)[-1].startswith("libc.so")
