#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Read a perf.data file from scratch, for tests: no code shared with perf or with perf churn.

    perfdata.py samples FILE     one line per sample: event time pid tid cpumode ip period callchain...
    perfdata.py bounds FILE      file offsets of all record boundaries of the data section
    perfdata.py cpus FILE        CPUs that samples were taken on
    perfdata.py rounds FILE      are all samples as young as FINISHED_ROUND promises?
    perfdata.py check FILE       sizes, ids, times and cpumodes of all churn samples; says what is wrong
"""
import struct
import sys

IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD = (
    1 << 16, 1, 2, 4, 8, 64, 512, 128, 256)
READ, CALLCHAIN, RAW = 16, 32, 1024
RECORD_MMAP, RECORD_COMM, RECORD_EXIT, RECORD_FORK, RECORD_SAMPLE, RECORD_MMAP2 = 1, 3, 4, 7, 9, 10
FINISHED_ROUND = 68
CPUMODE_USER = 2
EVENT_DESC = 12


class Event:
    def __init__(self, attr):
        self.type, self.attr_size, self.config = struct.unpack_from("<IIQ", attr, 0)
        self.sample_type = struct.unpack_from("<Q", attr, 24)[0]
        self.name = f"event-{self.type}-{self.config}"


class Sample:
    """event, misc, ip, pid, tid, time, cpu, period, ips, raw"""


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.buf = file.read()
        (magic, self.header_size, self.attr_size, attrs_off, attrs_size, self.data_off,
         self.data_size) = struct.unpack_from("<8sQQQQQQ", self.buf, 0)
        assert magic == b"PERFILE2", "no perf.data file"
        features = struct.unpack_from("<4Q", self.buf, 72)
        self.features = [i for i in range(256) if features[i // 64] >> (i % 64) & 1]
        self.events, self.by_id = [], {}
        for off in range(attrs_off, attrs_off + attrs_size, self.attr_size):
            event = Event(self.buf[off:off + self.attr_size])
            ids_off, ids_size = struct.unpack_from("<QQ", self.buf, off + self.attr_size - 16)
            for i in range(0, ids_size, 8):
                self.by_id[struct.unpack_from("<Q", self.buf, ids_off + i)[0]] = event
            self.events.append(event)
        self.name_events()

    def feature(self, bit):
        at = self.data_off + self.data_size + 16 * self.features.index(bit)
        off, size = struct.unpack_from("<QQ", self.buf, at)
        return self.buf[off:off + size]

    def name_events(self):
        desc = self.feature(EVENT_DESC)
        nr, attr_size = struct.unpack_from("<II", desc, 0)
        at = 8
        for i in range(nr):
            at += attr_size
            nr_ids, name_size = struct.unpack_from("<II", desc, at)
            self.events[i].name = desc[at + 8:at + 8 + name_size].split(b"\0")[0].decode()
            at += 8 + name_size + 8 * nr_ids

    def records(self):
        at, end = self.data_off, self.data_off + self.data_size
        while at < end:
            kind, misc, size = struct.unpack_from("<IHH", self.buf, at)
            assert size >= 8 and size % 8 == 0 and at + size <= end, f"bad record size {size} at {at}"
            yield at, kind, misc, self.buf[at + 8:at + size]
            at += size

    def sample(self, misc, body):
        s = Sample()
        s.misc, s.ips, s.raw, s.ip, s.period, s.cpu = misc, (), b"", 0, 0, -1
        s.event = self.by_id[struct.unpack_from("<Q", body, 0)[0]]
        st, at = s.event.sample_type, 8
        for bit, fmt, names in ((IP, "<Q", ("ip",)), (TID, "<II", ("pid", "tid")), (TIME, "<Q", ("time",)),
                                (ADDR, "<Q", ("addr",)), (ID, "<Q", ("id",)),
                                (STREAM_ID, "<Q", ("stream",)), (CPU, "<II", ("cpu", "res")),
                                (PERIOD, "<Q", ("period",))):
            if st & bit:
                for name, value in zip(names, struct.unpack_from(fmt, body, at)):
                    setattr(s, name, value)
                at += 8
        assert st & IDENTIFIER and not st & READ, "unexpected sample_type"
        if st & CALLCHAIN:
            nr = struct.unpack_from("<Q", body, at)[0]
            s.ips = struct.unpack_from(f"<{nr}Q", body, at + 8)
            at += 8 + 8 * nr
        if st & RAW:
            size = struct.unpack_from("<I", body, at)[0]
            s.raw = body[at + 4:at + 4 + size]
            assert len(s.raw) == size and (size + 4) % 8 == 0, f"bad raw size {size}"
        return s

    def samples(self):
        for _, kind, misc, body in self.records():
            if kind == RECORD_SAMPLE:
                yield self.sample(misc, body)


def print_samples(file):
    for s in file.samples():
        print(s.event.name, s.time, s.pid, s.tid, s.misc & 7, hex(s.ip), s.period,
              " ".join(hex(ip) for ip in s.ips if ip < 1 << 63))


def user_maps(file):
    maps = {}
    for _, kind, _, body in file.records():
        if kind == RECORD_MMAP2:
            pid, _, start, size = struct.unpack_from("<IIQQ", body, 0)
            name = body[64:].split(b"\0")[0].decode(errors="replace")
            maps.setdefault(pid, []).append((start, start + size, name))
    return maps


def check_sample(s, maps, seen):
    """What is wrong with one churn sample."""
    if s.event.name in ("churn:alloc", "churn:free"):
        if s.misc & 7 != CPUMODE_USER:
            yield f"cpumode {s.misc & 7}, not user"
        if not any(a <= s.ip < b for a, b, _ in maps.get(s.pid, [])):
            yield f"ip {s.ip:#x} is in no mapping of process {s.pid}"
        if s.event.sample_type & CALLCHAIN:
            user = [ip for ip in s.ips if ip < 1 << 63]
            if not user:
                yield "empty callchain"
            elif user[0] not in (s.ip, s.ip + 1):
                yield f"callchain begins at {user[0]:#x}, ip is {s.ip:#x}"
        if s.period == 0:
            yield "period 0"
    if not s.pid or not s.tid or s.pid >= 1 << 31:
        yield f"pid {s.pid} tid {s.tid}"
    # The recorder's own words may come after all others.
    last = seen["last"] if s.event.name in ("churn:alloc", "churn:free") else 1 << 62
    if not seen["first"] <= s.time <= last:
        yield f"time {s.time} outside [{seen['first']}, {seen['last']}] of the CPU samples and exits"
    common_type, _, _, common_pid = struct.unpack_from("<HBBi", s.raw, 0)
    if common_type != s.event.config:
        yield f"common_type {common_type}, event id {s.event.config}"
    if common_pid != s.tid and s.event.name in ("churn:alloc", "churn:free"):
        yield f"common_pid {common_pid}, tid {s.tid}"


def times_of_others(file):
    """Trailer times of side-band records and times of samples that are not ours."""
    times = [s.time for s in file.samples() if not s.event.name.startswith("churn:")]
    for _, kind, _, body in file.records():
        if kind in (RECORD_FORK, RECORD_EXIT):
            times.append(struct.unpack_from("<Q", body, 16)[0])
    return [t for t in times if t]


def round_order(file):
    """FINISHED_ROUND's promise: nothing after round n + 1 is older than the end of round n."""
    limit = ended = newest = 0
    for at, kind, misc, body in file.records():
        if kind == FINISHED_ROUND:
            limit, ended = ended, newest
            continue
        if kind == RECORD_SAMPLE:
            time = file.sample(misc, body).time
            newest = max(newest, time)
            yield time >= limit, at


def check(file):
    others = times_of_others(file)
    slack = 50_000_000
    seen = {"first": min(others) - slack, "last": max(others) + slack} if others else {
        "first": 1, "last": 1 << 62}
    maps, wrong, nr = user_maps(file), {}, 0
    for s in file.samples():
        if s.event.name.startswith("churn:"):
            nr += 1
            for what in check_sample(s, maps, seen):
                wrong.setdefault(f"{s.event.name}: {what}", 0)
                wrong[f"{s.event.name}: {what}"] += 1
    for what, times in list(wrong.items())[:10]:
        print(f"{what} ({times} times)")
    print(f"{nr} churn samples, {len(wrong)} kinds of faults")
    return 1 if wrong or not nr else 0


def main():
    what, file = sys.argv[1], File(sys.argv[2])
    if what == "samples":
        print_samples(file)
    elif what == "bounds":
        for at, _, _, _ in file.records():
            print(at)
        print(file.data_off + file.data_size)
    elif what == "cpus":
        print(*sorted({s.cpu for s in file.samples() if s.event.name != "churn:window"}))
    elif what == "check":
        return check(file)
    elif what == "rounds":
        bad = [at for good, at in round_order(file) if not good]
        print(f"{len(bad)} samples older than their round allows", bad[:5])
        return 1 if bad else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
