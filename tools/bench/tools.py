# SPDX-License-Identifier: GPL-2.0-only
"""The tools that are compared. A new one is a class, and a line in every_tool()."""
import functools
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import measure
from workloads import LARGE, SMALL

TRACEFS = next((x for x in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing") if os.path.exists(f"{x}/uprobe_events")),
               "/sys/kernel/tracing")
RECORD_LOST, RECORD_SAMPLE, RECORD_LOST_SAMPLES = 2, 9, 13


def works(*argv):
    """Does it end well?"""
    try:
        return not subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=30, check=False).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


def output_of(*argv, timeout=60):
    """Standard output; errors are in there."""
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=timeout, check=False).stdout


def library_of(program):
    """The first library in the order of look-ups that defines malloc."""
    for path in re.findall(r"=> (/\S+)", output_of("ldd", program)):
        if "malloc" in symbol_offsets(path):
            return os.path.realpath(path)
    raise measure.Failed(f"{program} has no library with malloc")


@functools.lru_cache(None)
def symbol_offsets(path):
    """File offsets of malloc and free in an object."""
    out = output_of("readelf", "-W", "-l", "--dyn-syms", path)
    loads = [tuple(int(x, 16) for x in m) for m in
             re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", out)]
    found = {}
    for value, name in re.findall(r": (\w+) +\d+ FUNC +(?:GLOBAL|WEAK) +\S+ +\d+ (malloc|free)\b", out):
        addr = int(value, 16)
        for offset, start, size in loads:
            if start <= addr < start + size:
                found[name] = addr - start + offset
    return found


def folder_bytes(run, *names):
    return sum(os.path.getsize(x) for name in names for x in glob.glob(run.path(name)))


def count_records(path):
    """Samples and lost samples of a perf.data file."""
    samples = lost = 0
    with open(path, "rb") as file:
        header = file.read(104)
        at, size = struct.unpack_from("<QQ", header, 40)
        file.seek(at)
        buf = memoryview(file.read(size))
    at = 0
    while at + 8 <= len(buf):
        kind, _, size = struct.unpack_from("<IHH", buf, at)
        if size < 8:
            break
        samples += kind == RECORD_SAMPLE
        if kind == RECORD_LOST:
            lost += struct.unpack_from("<Q", buf, at + 16)[0]
        elif kind == RECORD_LOST_SAMPLES:
            lost += struct.unpack_from("<Q", buf, at + 8)[0]
        at += size
    return samples, lost


class Bare:
    """Nothing; and what tools have in common.

    size: of the inputs. base: what the tool is compared with. attaches: it is given a running process. counts: it has totals.
    ns_per_call, slower, start_s: about what it costs, for the estimate of the time a comparison takes.
    """

    name, title = "bare", "no tool"
    size, base, attaches, counts = LARGE, "bare", False, False
    ns_per_call, slower, start_s = 0, 1, 0.1

    def missing(self):
        """Why it cannot be used, or None."""

    def prefix(self, run):
        """Command line in front of the target's clock."""
        return []

    def inner(self, run):
        """Command line between the clock and the target."""
        return []

    def environ(self, run):
        return {}

    def preloads(self, run):
        """Libraries for the target alone, one at most."""
        return []

    def options(self, run):
        """More of the clock's options."""
        return []

    def setup(self, run):
        pass

    def attach(self, run, pid):
        """Start the tool on the stopped target; let that run when all is in place."""

    def stop(self, run):
        """The target has ended."""

    def read(self, run):
        """Fill in what the tool has found."""

    def teardown(self, run):
        pass


class PerfRecord(Bare):
    name, title = "perf", "perf record -F 999 -g"

    def missing(self):
        return None if works("perf", "--version") else "perf is not installed"

    def prefix(self, run):
        return ["perf", "record", "-q", "-F", "999", "-g", "-o", run.path("perf.data"), "--"]

    def read(self, run):
        run.bytes = folder_bytes(run, "perf.data")
        run.samples, run.lost = count_records(run.path("perf.data"))


class Churn(Bare):
    """perf churn record in one of its ways."""

    record_options = ()
    counts, start_s = True, 1.5

    def record(self, run):
        return ["perf-churn", "record", "-o", run.path("perf.data"), *self.record_options]

    def prefix(self, run):
        return self.record(run) + ["--"]

    def missing(self):
        if not shutil.which("perf-churn"):
            return "perf-churn is not built"
        why = output_of("scripts/can-record.sh").strip()
        return why.splitlines()[-1] if why else None

    def read(self, run):
        out = subprocess.run(["perf-churn", "report", "--json", "--limit", "0", "-i", run.path("perf.data")],
                             capture_output=True, check=False, timeout=120).stdout
        if not out:
            raise measure.Failed("no report on the recording")
        report = json.loads(out)
        run.bytes = folder_bytes(run, "perf.data")
        run.samples = report["self_check"]["alloc_samples"] + report["self_check"]["free_samples"]
        run.lost = report["recording"]["lost"]["samples"] + report["recording"]["lost"]["churn_events"]
        run.hits = report["self_check"]["probe_hits"]
        run.totals = {key: report["totals"][key] for key in ("allocs", "frees", "bytes")}
        run.is_lower_bound = report["totals"]["allocs_bound"] == "lower"


class Preload(Churn):
    name, title = "preload", "perf churn record --method=preload"
    record_options = ("--method=preload",)

    def missing(self):
        why = super().missing()
        with tempfile.TemporaryDirectory(prefix="churnbench.") as folder:
            if not why and not works("perf-churn", "record", "--method=preload", "-o", f"{folder}/data", "--", "true"):
                why = "this perf churn has no working --method=preload"
        return why


class Attached(Churn):
    """The recorder's command lets the target run, and lasts until its end."""

    name, title = "attached", "perf churn record -p (default budget)"
    attaches = True

    def missing(self):
        why = super().missing()
        if not why and "--budget" not in output_of("perf-churn", "record", "-h"):
            why = "this perf churn has no --budget"
        return why

    def attach(self, run, pid):
        run.recorder = run.processes.start(self.record(run) + ["-p", str(pid), "--", measure.TIMED, "-r", str(pid)],
                                           run.path("record"))

    def stop(self, run):
        if run.processes.wait(run.recorder, "the recorder"):
            raise measure.Failed((run.text("record.err").strip().splitlines() or ["the recorder failed"])[-1])


class Exact(Churn):
    name, title = "exact", "perf churn record -c 1"
    record_options = ("-c", "1")
    size, ns_per_call = SMALL, 15000


class Uprobes(Bare):
    """Trace events of malloc and free, in a group that nobody else has. A guard takes them away, also when
    we are killed."""

    size, counts, ns_per_call = SMALL, True, 8000
    group = f"churnbench{os.getpid()}"

    def missing(self):
        if not os.access(f"{TRACEFS}/uprobe_events", os.W_OK):
            return "tracefs cannot be written to"
        return None if works("perf", "--version") else "perf is not installed"

    def sites(self, run):
        """(event, file, offset) each."""
        library = library_of(run.work.program())
        return [(name, library, offset) for name, offset in symbol_offsets(library).items()]

    def setup(self, run):
        names = []
        run.guard = subprocess.Popen(["sh", "-c", GUARD, "sh", TRACEFS, self.group], stdin=subprocess.PIPE,
                                     start_new_session=True)
        for name, path, offset in self.sites(run):
            # Python would seek to the end, which a file in tracefs does not have.
            events = os.open(f"{TRACEFS}/uprobe_events", os.O_WRONLY | os.O_APPEND)
            try:
                os.write(events, f"p:{self.group}/{name} {path}:{offset:#x}\n".encode())
            finally:
                os.close(events)
            names += ["-e", f"{self.group}:{name}"]
        run.event_options = names

    def teardown(self, run):
        run.guard.stdin.close()
        run.guard.wait()


GUARD = """trap '' INT TERM HUP
cat >/dev/null
for try in $(seq 100); do
	left=$(sed -n "s,^p:\\($2/[^ ]*\\) .*,\\1,p" "$1/uprobe_events")
	[ -n "$left" ] || exit 0
	for name in $left; do
		echo "-:$name" 2>/dev/null >>"$1/uprobe_events"
	done
	sleep 0.1
done"""


class PerfUprobes(Uprobes):
    """As one does by hand: at the functions' first instructions."""

    name, title = "perf-uprobes", "perf record -g -e uprobes of malloc and free"

    def prefix(self, run):
        return ["perf", "record", "-q", "-g", *run.event_options, "-o", run.path("perf.data"), "--"]

    def read(self, run):
        run.bytes = folder_bytes(run, "perf.data")
        run.samples, run.lost = count_records(run.path("perf.data"))
        counts = re.findall(rf"{self.group}:(\w+) stats:\s+SAMPLE events: +(\d+)",
                            output_of("perf", "report", "--stats", "-i", run.path("perf.data")))
        run.hits = run.samples + run.lost
        for name, nr in counts:
            if name == "malloc":
                run.totals["mallocs"] = int(nr)


class Counting(Uprobes):
    """The least that a trap can cost: the kernel counts, at the instructions that perf churn takes."""

    name, title = "counting", "perf stat -e uprobes of malloc and free, perf churn's sites"
    ns_per_call = 4000

    def missing(self):
        return super().missing() or Churn.missing(self)

    def sites(self, run):
        library = library_of(run.work.program())
        return [(probe["symbol"], library, probe["offset"]) for probe in churn_probes(library)
                if probe["symbol"] in ("malloc", "free")]

    def prefix(self, run):
        return ["perf", "stat", "-x,", "-o", run.path("stat"), *run.event_options, "--"]

    def read(self, run):
        counts = dict((name, int(nr)) for nr, name in
                      re.findall(rf"^(\d+),,{self.group}:(\w+)", run.text("stat"), re.M))
        run.bytes, run.lost = 0, 0
        run.hits = run.samples = sum(counts.values())
        run.totals["mallocs"] = counts.get("malloc", 0)


@functools.lru_cache(None)
def churn_probes(library):
    """Where perf churn probes a library: asked of a recording of a program that maps it."""
    path = f"{tempfile.gettempdir()}/churnbench{os.getpid()}.data"
    try:
        subprocess.run(["perf-churn", "record", "-q", "-c", "1", "-o", path, "--", measure.TIMED, "-l", library,
                        "/dev/null", "true"], check=True, capture_output=True, timeout=30)
        out = subprocess.run(["perf-churn", "report", "--json", "-i", path], check=True, capture_output=True,
                             timeout=30).stdout
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return [x for x in json.loads(out)["self_check"]["probes"] if os.path.realpath(x["object"]) == library]


class BpfTool(Bare):
    """Attaches by file and ignores whose process it is: the target has a copy of the library to itself,
    or everybody would pay."""

    size, attaches, start_s = SMALL, True, 4

    def options(self, run):
        source = library_of(run.work.program())
        soname = re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", source))[1]
        run.library = run.path(soname)
        shutil.copy(source, run.library)
        return ["-n", f"LD_LIBRARY_PATH={run.dir}"]

    def tool_command(self, run, pid):
        raise NotImplementedError

    def patched(self, run, pid):
        """Is a breakpoint in the target's copy of malloc?"""
        offset = symbol_offsets(run.library)["malloc"]
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                words = line.split()
                if len(words) > 5 and words[5] == run.library and "x" in words[1]:
                    start, end = (int(x, 16) for x in words[0].split("-"))
                    at = offset - int(words[2], 16)
                    if 0 <= at < end - start:
                        return read_bytes(f"/proc/{pid}/mem", start + at, 1) != \
                            read_bytes(run.library, offset, 1)
        raise measure.Failed("the target does not use its copy of the library")

    def attach(self, run, pid):
        run.recorder = run.processes.start(self.tool_command(run, pid), run.path("tool"))

        def ready():
            if run.recorder.poll() is not None:
                raise measure.Failed((run.text("tool.err").strip().splitlines() or ["it ended at once"])[-1])
            return self.patched(run, pid)

        measure.wait_until(ready, run.deadline, "the tool's probes")
        time.sleep(1)
        os.kill(pid, signal.SIGCONT)

    def stop(self, run):
        if run.recorder.poll() is None:
            os.kill(run.recorder.pid, signal.SIGINT)
        run.processes.wait(run.recorder, "the tool")
        run.bytes = folder_bytes(run, "tool")


def read_bytes(path, offset, nr):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(nr)


class Bpftrace(BpfTool):
    name, title = "bpftrace", "bpftrace: malloc { @[ustack] = count() }"
    counts, ns_per_call = True, 6000

    def missing(self):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def tool_command(self, run, pid):
        script = f"uprobe:{run.library}:malloc /pid == {pid}/ {{ @[ustack] = count(); }}"
        return ["bpftrace", "-p", str(pid), "-e", script]

    def read(self, run):
        counts = [int(x) for x in re.findall(r"\]: (\d+)$", run.text("tool"), re.M)]
        lost = re.findall(r"Lost (\d+) events", run.text("tool") + run.text("tool.err"))
        run.samples, run.lost = len(counts), sum(int(x) for x in lost)
        run.totals["mallocs"] = run.hits = sum(counts)


class Memleak(BpfTool):
    """Says what is left, not what was allocated."""

    name, title = "memleak", "libbpf-tools memleak"
    ns_per_call = 20000

    def missing(self):
        return None if shutil.which("memleak") else "memleak is not installed (libbpf-tools has it since 0.27)"

    def tool_command(self, run, pid):
        return ["memleak", "-p", str(pid), "-O", run.library, "5"]


class Heaptrack(Bare):
    """What the script of that name does; it would trace the clock in place of the target."""

    name, title = "heaptrack", "heaptrack"
    counts, ns_per_call, start_s = True, 500, 0.5

    @staticmethod
    def part(name):
        found = [x for at in ("heaptrack", "*/heaptrack") for sub in ("", "libexec/")
                 for x in glob.glob(f"/usr/lib/{at}/{sub}{name}")]
        return found[0] if found else None

    def missing(self):
        parts = [self.part("heaptrack_interpret"), self.part("libheaptrack_preload.so")]
        return None if all(parts) and shutil.which("zstd") else "heaptrack (or zstd) is not installed"

    def setup(self, run):
        os.mkfifo(run.path("pipe"))
        run.recorder = run.processes.start(
            ["sh", "-c", '"$1" <"$2" | zstd -q -c', "sh", self.part("heaptrack_interpret"), run.path("pipe")],
            run.path("heaptrack.zst"))

    def environ(self, run):
        return {"DUMP_HEAPTRACK_OUTPUT": run.path("pipe")}

    def preloads(self, run):
        return [self.part("libheaptrack_preload.so")]

    def stop(self, run):
        run.processes.wait(run.recorder, "heaptrack_interpret")

    def read(self, run):
        run.bytes = folder_bytes(run, "heaptrack.zst")
        match = re.search(r"allocations:\s+(\d+)", run.text("heaptrack.zst.err"))
        if match:
            run.totals["allocs"] = int(match[1])


class Dhat(Bare):
    name, title = "dhat", "valgrind --tool=dhat"
    size, counts, slower, ns_per_call, start_s = SMALL, True, 30, 500, 1

    def missing(self):
        return None if shutil.which("valgrind") else "valgrind is not installed"

    def inner(self, run):
        return ["valgrind", "--tool=dhat", f"--dhat-out-file={run.path('dhat')}"]

    def read(self, run):
        run.bytes = folder_bytes(run, "dhat")
        match = re.search(r"Total: +([\d,]+) bytes in ([\d,]+) blocks", run.text("out.err"))
        if match:
            run.totals["allocs"] = int(match[2].replace(",", ""))


def find_library(name):
    match = re.search(rf"{re.escape(name)} .*=> (\S+)", output_of("/sbin/ldconfig", "-p"))
    return match[1] if match else None


class Allocator(Bare):
    """Another allocator in place of the program's: the base for its profiler."""

    library = None

    def missing(self):
        return None if find_library(self.library) else f"{self.library} is not installed"

    def preloads(self, run):
        return [find_library(self.library)]


class Jemalloc(Allocator):
    name, title, base, library = "jemalloc", "jemalloc", "jemalloc", "libjemalloc.so.2"


class JemallocProf(Jemalloc):
    name, title = "jemalloc-prof", "jemalloc prof:true (one sample in 512 KB)"

    def environ(self, run):
        return {"MALLOC_CONF": f"prof:true,prof_final:true,prof_prefix:{run.path('je')}"}

    def read(self, run):
        run.bytes = folder_bytes(run, "je.*")


class Tcmalloc(Allocator):
    name, title, base, library = "tcmalloc", "gperftools' tcmalloc", "tcmalloc", "libtcmalloc.so.4"


class TcmallocSample(Tcmalloc):
    """A program has to ask for what was sampled."""

    name, title = "tcmalloc-sample", "gperftools, one sample in 512 KB"

    def environ(self, run):
        return {"TCMALLOC_SAMPLE_PARAMETER": "524288"}


class TcmallocHeap(Tcmalloc):
    name, title = "tcmalloc-heap", "gperftools HEAPPROFILE"
    size, ns_per_call = SMALL, 2000

    def environ(self, run):
        return {"HEAPPROFILE": run.path("heap")}

    def read(self, run):
        run.bytes = folder_bytes(run, "heap.*")


def every_tool():
    return [Bare(), PerfRecord(), Preload(), Attached(), Exact(), Counting(), PerfUprobes(), Bpftrace(), Memleak(),
            Heaptrack(), Dhat(), JemallocProf(), TcmallocSample(), TcmallocHeap()]


def base_of(tool):
    return {"bare": Bare, "jemalloc": Jemalloc, "tcmalloc": Tcmalloc}[tool.base]()
