# SPDX-License-Identifier: GPL-2.0-only
"""Run a command under a tool, bounded, and leave nothing behind."""
import ctypes
import os
import shutil
import signal
import subprocess
import time

OUTPUT = os.path.realpath(os.environ.get("OUTPUT", "build"))
TIMED = f"{OUTPUT}/bench/timed"
GATE = f"{OUTPUT}/bench/gate.so"
COUNTER = f"{OUTPUT}/tests/counter.so"
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None)


class Failed(Exception):
    """A run that cannot be used; says why in a few words."""


def wait_until(test, deadline, what):
    while not test():
        if time.monotonic() > deadline:
            raise Failed(f"timed out: {what}")
        time.sleep(0.01)


def die_with_us():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Processes:
    """What was started for one run, each in a process group of its own."""

    def __init__(self, deadline):
        self.deadline, self.started = deadline, []

    def start(self, argv, out, env=None, log=None):
        """Standard output goes to @out, errors to @log."""
        with open(out, "wb") as stdout, open(log or f"{out}.err", "wb") as stderr:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                     env=dict(os.environ, **(env or {})), start_new_session=True,
                                     preexec_fn=die_with_us)
        self.started.append(child)
        return child

    def wait(self, child, what):
        try:
            return child.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failed(f"timed out: {what}") from None

    @staticmethod
    def signal_group(child, number):
        """True: somebody is left in the group."""
        try:
            os.killpg(child.pid, number)
            return True
        except ProcessLookupError:
            return False

    def end(self):
        """A tool may need a while to clean up after itself: ask, then insist."""
        for number, patience in ((0, 1), (signal.SIGINT, 5), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            for child in self.started:
                self.signal_group(child, number)
            until = time.monotonic() + patience
            while time.monotonic() < until:
                for child in self.started:
                    child.poll()
                if not any(self.signal_group(child, 0) for child in self.started):
                    return
                time.sleep(0.02)


class Run:
    """One run of a workload under a tool.

    What stays None was not measured: cpu_s, wall_s: the target's own, from its start (or release) to its
    end. ops: what it did, for workloads that count that themselves. hits: of probes. totals: what the
    tool says about allocations, by the counter's names; is_lower_bound: at least. bytes: what it wrote. target_s: how long it lived.
    """

    def __init__(self, work, size, tool, folder, limit_s):
        self.work, self.size, self.tool, self.dir = work, size, tool, folder
        self.deadline = time.monotonic() + limit_s
        self.processes = Processes(self.deadline)
        self.cpu_s = self.wall_s = self.target_s = self.ops = None
        self.bytes = self.samples = self.lost = self.hits = None
        self.totals, self.is_lower_bound = {}, False

    def path(self, name):
        return f"{self.dir}/{name}"

    def timed(self, *options):
        """The target's command line, with its clock."""
        return [TIMED, *options, self.path("timed"), *self.tool.inner(self), *self.work.command(self.size)]

    def text(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def target_pid(self):
        wait_until(lambda: "\n" in self.text("timed"), self.deadline, "the start of the target")
        return int(self.text("timed").split()[0])

    def start_target(self):
        """Under the tool; for one that only attaches, stopped before its work."""
        env = dict(self.work.environ, **self.tool.environ(self))
        if not self.tool.attaches:
            preloads = [x for name in self.tool.preloads(self) for x in ("-l", name)]
            argv = self.tool.prefix(self) + self.timed(*preloads)
            return self.processes.start(argv, self.path("out"), env)
        child = self.processes.start(self.timed("-l", GATE, *self.tool.options(self)), self.path("out"), env)
        pid = self.target_pid()
        wait_until(lambda: is_stopped(pid), self.deadline, "the target's start")
        self.tool.attach(self, pid)
        return child

    def clock(self):
        words = self.text("timed").split()
        if len(words) != 4:
            raise Failed("the target did not end")
        cpu_ns, wall_ns, status = (int(x) for x in words[1:])
        if status:
            raise Failed(f"the target ended with status {status}")
        self.cpu_s, self.wall_s = cpu_ns / 1e9, wall_ns / 1e9
        self.target_s = self.wall_s
        self.work.meter(self)

    def measure(self):
        """All of it; Failed says why not."""
        os.makedirs(self.dir)
        try:
            self.tool.setup(self)
            child = self.start_target()
            self.work.drive(self)
            self.processes.wait(child, "the target")
            self.tool.stop(self)
            self.clock()
            self.tool.read(self)
        finally:
            self.processes.end()
            self.tool.teardown(self)
            shutil.rmtree(self.dir, ignore_errors=True)
        return self


def is_stopped(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:
        raise Failed("the target is gone") from None
