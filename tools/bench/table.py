# SPDX-License-Identifier: GPL-2.0-only
"""Pairs of runs to numbers, and numbers to text."""
import statistics

MB = 1e6


class Row:
    """A tool on a workload: pairs of (base, tool) runs, one right after the other."""

    def __init__(self, work, tool):
        self.work, self.tool = work, tool
        self.pairs, self.failure = [], None

    @staticmethod
    def per_op(run, what):
        return getattr(run, what) / (run.ops or 1)

    def ratios(self, what):
        return [self.per_op(tool, what) / self.per_op(base, what) for base, tool in self.pairs]

    def added_s(self, base, tool):
        """CPU time that the tool cost its target."""
        return tool.cpu_s - self.per_op(base, "cpu_s") * (tool.ops or 1)

    def ns_per_alloc(self, base, tool):
        allocs = self.work.true_total(tool, "allocs")
        return self.added_s(base, tool) * 1e9 / allocs if allocs else None

    @staticmethod
    def median(values):
        values = [x for x in values if x is not None]
        return statistics.median(values) if values else None

    def error(self):
        """Of the totals, all runs together: (name of the total, relative error)."""
        for key in ("allocs", "mallocs"):
            seen = [tool for _, tool in self.pairs if key in tool.totals]
            truth = sum(self.work.true_total(run, key) or 0 for run in seen)
            if truth:
                return key, sum(run.totals[key] for run in seen) / truth - 1
        return None, None

    def numbers(self):
        """What goes into the table and into the JSON."""
        out = {"workload": self.work.name, "tool": self.tool.name, "base": self.tool.base,
               "size": self.tool.size, "runs": len(self.pairs), "failure": self.failure,
               "truth_differs": self.work.truth_differs}
        if not self.pairs:
            return out
        cpu, tools = self.ratios("cpu_s"), [tool for _, tool in self.pairs]
        out["error_of"], out["error"] = self.error()
        out["is_lower_bound"] = any(run.is_lower_bound for run in tools)
        out.update({
            "cpu_ratio": statistics.median(cpu), "cpu_ratios": cpu,
            "wall_ratio": statistics.median(self.ratios("wall_s")),
            "added_ns_per_alloc": self.median(self.ns_per_alloc(*pair) for pair in self.pairs),
            "added_ns_per_hit": self.median(
                self.added_s(*pair) * 1e9 / pair[1].hits if pair[1].hits and pair[1].hits > 1000 else None
                for pair in self.pairs) if self.tool.size == "small" else None,
            "bytes_per_s": self.median(None if run.bytes is None else run.bytes / run.target_s for run in tools),
            "samples": self.median(run.samples for run in tools),
            "lost": self.median(run.lost for run in tools),
            "base_cpu_s": statistics.median(base.cpu_s for base, _ in self.pairs),
        })
        return out


def text_or_dash(value, form, scale=1):
    return "-" if value is None else form.format(value * scale)


def ratio_text(value):
    return f"{value:.3f}" if value < 2 else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def cells(row):
    """One line of the table."""
    first = [row["workload"], row["tool"], row["size"]]
    if not row["runs"]:
        return first + ["-"] * (len(HEAD) - len(first))
    low, high = min(row["cpu_ratios"]), max(row["cpu_ratios"])
    return first + [
        ratio_text(row["cpu_ratio"]),
        f"{ratio_text(low)} - {ratio_text(high)}",
        ratio_text(row["wall_ratio"]),
        text_or_dash(row["added_ns_per_alloc"], "{:.1f}"),
        text_or_dash(row["added_ns_per_hit"], "{:.0f}"),
        text_or_dash(row["bytes_per_s"], "{:.2f}", 1 / MB),
        text_or_dash(row["lost"], "{:.0f}"),
        "at least" if row["is_lower_bound"] else text_or_dash(row["error"], "{:+.2f} %", 100),
    ]


HEAD = ["workload", "tool", "input", "CPU", "lowest - highest", "wall", "ns/alloc", "ns/hit", "MB/s", "lost",
        "totals"]


def lines_of(nr_names, head, rows):
    """A table that is readable as it is, and in Markdown; names first, numbers then."""
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    put = lambda line: "| " + " | ".join(x.ljust(w) if i < nr_names else x.rjust(w)
                                         for i, (x, w) in enumerate(zip(line, widths))) + " |"
    return [put(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(put, rows)]


def detail(rows):
    return lines_of(3, HEAD, [cells(row) for row in rows])


def matrix(rows):
    """CPU time alone, tools by workloads."""
    names = list(dict.fromkeys(row["workload"] for row in rows))
    found = {(row["tool"], row["workload"]): row for row in rows}
    body = []
    for tool in dict.fromkeys(row["tool"] for row in rows):
        line = [tool]
        for name in names:
            row = found.get((tool, name), {"runs": 0, "failure": None})
            line.append(ratio_text(row["cpu_ratio"]) if row["runs"] else "fails" if row["failure"] else "-")
        body.append(line)
    return lines_of(1, ["CPU", *names], body)


def notes(rows, tools):
    """What the columns cannot say."""
    out = [f"{tool.name}: {tool.title}; against {tool.base}" for tool in tools]
    out += [f"{row['workload']}, {row['tool']}: {row['failure']}" for row in rows if row["failure"]]
    differs = {row["workload"]: row["truth_differs"] for row in rows if row["truth_differs"] > 0.0005}
    out += [f"{name}: two counted runs differ by {100 * part:.2f} %" for name, part in differs.items()]
    return out
