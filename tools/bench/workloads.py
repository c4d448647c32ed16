# SPDX-License-Identifier: GPL-2.0-only
"""What is run: two loops that count for themselves, and programs as the distribution ships them."""
import json
import os
import re
import shutil
import socket
import subprocess
import time

import measure

LARGE, SMALL = "large", "small"
# Of the inputs that tests/programs.sh makes, 2 to 4 s of work each.
PERCENT = {LARGE: 60, SMALL: 3}

# Classes and functions by the hundred, each with containers of its own; no header, which would be the
# same work at any size.
TEMPLATES = """
template <int... N> struct list {};
template <int N, int... Rest> struct count : count<N - 1, N - 1, Rest...> {};
template <int... Rest> struct count<0, Rest...> { using type = list<Rest...>; };
template <typename A, typename B> struct pair { A a; B b; pair *next; };
template <int N> struct key { int v[N + 1]; bool operator<(const key &o) const { return v[N] < o.v[N]; } };
template <int N> struct sum { static constexpr int value = N + sum<N - 1>::value; };
template <> struct sum<0> { static constexpr int value = 0; };
template <typename T> T *find(T *from, const T &what) { while (from->next && !(from->a < what.a)) from = from->next; return from; }
template <int N> int use(int x)
{
    pair<key<N>, key<N + 1>> first{}, second{};
    first.a.v[0] = x;
    second.next = &first;
    auto add = [&](auto &p, auto q) { for (int i = 0; i <= N; i++) p.a.v[i] += q + i; return p.a.v[N]; };
    return add(first, x) + add(*find(&second, first), sum<N>::value) + (first.a < second.a);
}
template <int... N> int all(list<N...>, int x) { return (use<N>(x) + ...); }
int main(int argc, char **) { return all(count<%d>::type(), argc); }
"""


# Objects, dictionaries and JSON, in rounds of 1000 words.
SCRIPT = """
import json
class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right
    def depth(self):
        return 1 + max(n.depth() if n else 0 for n in (self.left, self.right))
def grow(n):
    return Node(grow(n - 1), grow(n - 1)) if n else Node(None, None)
for turn in range(%d):
    grow(9).depth()
    words = {'k%%d' %% i: [i, str(i)] for i in range(1000)}
    json.loads(json.dumps(words))
    sorted(words, key=lambda k: words[k][1])
"""


class Work:
    """A program and its inputs, in two sizes. @scale: percent of the usual size."""

    needs = ()
    metered = False
    environ = {}

    def __init__(self, name, folder, scale):
        self.name, self.dir, self.scale = name, f"{folder}/{name}", scale
        self.truth, self.truth_differs = {}, 0

    def missing(self):
        for tool in self.needs:
            if not shutil.which(tool):
                return f"{tool} is not installed"
        return None

    def nr(self, size, large, small):
        return max(1, (large if size == LARGE else small) * self.scale // 100)

    def prepare(self):
        """Make the inputs."""

    def command(self, size):
        raise NotImplementedError

    def program(self):
        """The file whose allocator is probed."""
        return shutil.which(self.command(LARGE)[0])

    def drive(self, run):
        """What the work needs beside its own process."""

    def meter(self, run):
        """What the work says about itself."""
        if self.metered:
            match = re.search(r"cpu_ns (\d+) wall_ns (\d+) ops (\d+)", run.text("out"))
            if not match:
                raise measure.Failed("the workload said nothing")
            run.cpu_s, run.wall_s, run.ops = int(match[1]) / 1e9, int(match[2]) / 1e9, int(match[3])

    def count(self, size, limit_s):
        """Have the independent counter watch runs of their own; small ones twice, since no two need be the same.
        It asks the kernel who it is at each call, which takes its time."""
        counted = SMALL if self.metered else size
        runs = [measure.Run(self, counted, Counter(), f"{self.dir}/counted", 10 * limit_s).measure()
                for _ in range(2 if size == SMALL else 1)]
        self.truth[size] = {key: sum(run.totals[key] for run in runs) / len(runs) for key in runs[0].totals}
        self.counted_ops = runs[0].ops
        self.truth_differs = max(self.truth_differs,
                                 abs(runs[0].totals["allocs"] / runs[-1].totals["allocs"] - 1))

    def true_total(self, run, key):
        """For a workload that counts its work, by the counter's numbers of a small run."""
        if run.size not in self.truth:
            return None
        return self.truth[run.size][key] * (run.ops / self.counted_ops if self.metered else 1)


class Counter:
    """tests/preload/counter.c in place of a tool."""

    attaches = False

    def setup(self, run):
        pass

    stop = teardown = setup

    def prefix(self, run):
        return []

    inner = prefix

    def preloads(self, run):
        return [measure.COUNTER]

    def environ(self, run):
        return {"COUNTER_OUT": run.path("count")}

    def read(self, run):
        files = [run.path(x) for x in os.listdir(run.dir) if x.startswith("count.")]
        dump = subprocess.run([f"{measure.OUTPUT}/tests/counter_dump", *files], check=True,
                              capture_output=True, text=True).stdout
        rows = [json.loads(line) for line in dump.splitlines()]
        # timed runs without the counter.
        run.totals = {key: sum(row[key] for row in rows) for key in ("allocs", "frees", "bytes")}
        run.totals["mallocs"] = sum(r["functions"].get("malloc", {}).get("calls", 0) for r in rows)


class Small(Work):
    """A program of ours that says what its work cost."""

    metered = True

    def __init__(self, name, folder, scale, large, small):
        super().__init__(name, folder, scale)
        self.sizes = {LARGE: large, SMALL: small}

    def command(self, size):
        return [f"{measure.OUTPUT}/bench/{self.name}", str(self.nr(size, *self.sizes.values()))]


class Program(Work):
    """One that tests/programs.sh knows."""

    def __init__(self, name, folder, scale):
        super().__init__(name, folder, scale)
        self.needs = (name,)
        self.commands = {}

    def prepare(self):
        for size in (LARGE, SMALL):
            folder = f"{self.dir}/{size}"
            os.makedirs(folder)
            script = ('. tests/programs.sh; make_program_inputs "$1" "$2"; program_command "$3" "$1"; '
                      'printf "%s\\0" "${program[@]}"')
            out = subprocess.run(
                ["bash", "-c", script, "bash", folder,
                 str(self.nr(size, PERCENT[LARGE], PERCENT[SMALL])), self.name],
                check=True, capture_output=True, text=True).stdout
            self.commands[size] = out.split("\0")[:-1]

    def command(self, size):
        return self.commands[size]


class Python(Work):
    """With the C library's allocator in place of its own."""

    environ = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    # A version manager's stand-in would be one more process.
    path = "/usr/bin/python3"

    def missing(self):
        return None if os.path.exists(self.path) else f"{self.path} is not installed"

    def prepare(self):
        os.makedirs(self.dir)
        for size in (LARGE, SMALL):
            with open(f"{self.dir}/{size}.py", "w", encoding="utf-8") as file:
                file.write(SCRIPT % self.nr(size, 180, 6))

    def command(self, size):
        return [self.path, "-S", f"{self.dir}/{size}.py"]


class Compiler(Work):
    """The compiler proper: its driver would only start it."""

    needs = ("g++",)

    def prepare(self):
        os.makedirs(self.dir)
        self.path = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True,
                                   text=True).stdout.strip()
        for size, nr in ((LARGE, 220), (SMALL, 20)):
            with open(f"{self.dir}/{size}.ii", "w", encoding="utf-8") as file:
                file.write(TEMPLATES % self.nr(size, nr, nr))

    def command(self, size):
        return [self.path, "-quiet", "-fpreprocessed", "-std=c++17", "-O1", f"{self.dir}/{size}.ii",
                "-o", "/dev/null"]


class Redis(Work):
    """redis-server; redis-benchmark runs beside it, and is not what is measured."""

    needs = ("redis-server", "redis-benchmark")
    clients = ["-q", "-c", "20", "-P", "16", "-d", "64", "-r", "100000", "-t", "set,lpush,hset,zadd"]

    def prepare(self):
        os.makedirs(self.dir)
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = sock.getsockname()[1]

    def command(self, size):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                "--appendonly", "no", "--daemonize", "no", "--dir", self.dir]

    def ask(self, words):
        with socket.create_connection(("127.0.0.1", self.port), timeout=1) as sock:
            sock.sendall(words.encode() + b"\r\n")
            return sock.recv(100)

    def answers(self):
        try:
            return self.ask("PING").startswith(b"+PONG")
        except OSError:
            return False

    def drive(self, run):
        measure.wait_until(self.answers, run.deadline, "redis-server's first answer")
        requests = self.nr(run.size, 120000, 6000)
        start = time.monotonic()
        client = run.processes.start(["redis-benchmark", "-p", str(self.port), "-n", str(requests),
                                      *self.clients], run.path("client"))
        run.processes.wait(client, "redis-benchmark")
        self.client_s = time.monotonic() - start
        try:
            self.ask("SHUTDOWN NOSAVE")
        except OSError:
            pass

    def meter(self, run):
        run.wall_s = self.client_s


def every_workload(folder, scale):
    return [
        Small("pairs", folder, scale, 30000000, 200000),
        Small("mixed", folder, scale, 3000000, 40000),
        Program("jq", folder, scale),
        Program("xmllint", folder, scale),
        Program("sqlite3", folder, scale),
        Python("python3", folder, scale),
        Compiler("cc1plus", folder, scale),
        Redis("redis", folder, scale),
    ]
