#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the text of the libc that a process runs with the file it comes from.

    libc_text.py PID

Status 0: the same. Status 1: differs, with the offsets on stdout (a breakpoint is in place). Status 2:
cannot tell. Reads /proc/PID/mem, so nothing is stopped or changed.
"""
import re
import sys

MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r-x. ([0-9a-f]+) \S+ \d+\s+(/\S*libc[.-]\S*)$")


def text_map(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            match = MAP.match(line.rstrip())
            if match:
                start, end, offset = (int(x, 16) for x in match.groups()[:3])
                return start, end - start, offset, match.group(4)
    return None


def main():
    try:
        found = text_map(sys.argv[1])
        if not found:
            print("no libc mapped")
            return 2
        start, size, offset, path = found
        with open(f"/proc/{sys.argv[1]}/mem", "rb") as mem:
            mem.seek(start)
            got = mem.read(size)
        with open(path, "rb") as file:
            file.seek(offset)
            want = file.read(size)
    except OSError as err:
        print(err)
        return 2
    got = got[:len(want)]
    if got == want:
        return 0
    print(" ".join(hex(offset + i) for i in range(len(got)) if got[i] != want[i]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
