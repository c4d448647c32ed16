#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# The shape of each site in a report, on programs that free in every order there is: recorded whole it is
# what the program does, exactly; from a sample it is that within its own error.

. tests/lib.sh

# shape FILE PYTHON - conditions on the sites, by name, of a report.
shape()
{
	perf-churn report --json -i "$1" >"$T/json" 2>"$T/err" || { diag_file "$T/err"; return 1; }
	python3 - "$T/json" "$2" <<-'END' | sed 's/^/# /' >&3
	import json, sys
	sites = {}
	for s in json.load(open(sys.argv[1]))["sites"]:
	    name = s["function"]
	    if s["growth"]["realloc_percent"] == 100:
	        name += "_again"
	    sites[name] = s
	def get(name, key):
	    at = sites[name]
	    for k in key.split("."):
	        at = at[k]
	    return at
	bad = []
	def near(name, key, truth):
	    """Within 4 standard errors, and not so unsure that it says nothing."""
	    value, error = get(name, key), get(name, key + "_error")
	    if value is None or abs(value - truth) > 4 * error + 1e-6 or error > 0.2 * max(truth, 50):
	        bad.append(f"{name} {key}: {value} +- {error}, truth {truth}")
	def exact(name, key, truth):
	    if get(name, key) != truth:
	        bad.append(f"{name} {key}: {get(name, key)}, truth {truth}")
	def surely(name, key, truth):
	    """A word that may be missing where there are too few samples, but never be wrong."""
	    if get(name, key) not in (truth, None):
	        bad.append(f"{name} {key}: {get(name, key)}, truth {truth}")
	exec(sys.argv[2])
	print("\n".join(bad) or "fine")
	sys.exit(bool(bad))
	END
	return "${PIPESTATUS[0]}"
}

frames='
for name in ("scratch", "grow_again", "zero"):
    near(name, "same_frame_percent", 100)
for name in ("make", "push", "build"):
    near(name, "same_frame_percent", 0)
    near(name, "caller_frame_percent", 100)
near("copy", "same_frame_percent", 80)
near("copy", "caller_frame_percent", 100)
for name in sites:
    if name not in ("grow",):
        near(name, "cross_thread_percent", 0)
exact("scratch", "freed_by", "scratch")
exact("build", "freed_by", "tear_down")
exact("push", "freed_by", "pop")
'

sizes='
for name, size in (("scratch", 48), ("queue", 100), ("push", 200), ("zero", 40), ("build", 30)):
    exact(name, "size.fixed", True)
    exact(name, "size.min", size)
    exact(name, "size.max", size)
    chunk = max(32, (size + 8 + 15) // 16 * 16)
    near(name, "size.slack_percent", 100 * (chunk - size) / chunk)
exact("make", "size.fixed", False)
near("zero", "calloc_percent", 100)
near("scratch", "calloc_percent", 0)
'

growth='
near("grow_again", "growth.realloc_percent", 100)
near("grow_again", "growth.steps", 4)
near("grow", "growth.realloc_percent", 0)
near("copy", "growth.copied_percent", 80)
for name in sites:
    if name != "copy":
        near(name, "growth.copied_percent", 0)
'

need_tracing

if recorded "shapes, all of it" -c 1 -m 16M -o "$T/data" -- "$WL/shapes" 200; then
	check "frames: who frees" shape "$T/data" "$frames"
	check "sizes and slack" shape "$T/data" "$sizes"
	check "growth" shape "$T/data" "$growth"
	check "order" shape "$T/data" '
exact("queue", "order", "fifo")
exact("queue", "lifo_percent", 0)
exact("push", "order", "lifo")
exact("push", "lifo_percent", 100)
exact("push", "batch_percent", 40)
exact("build", "order", "batch")
exact("build", "batch_blocks", 200)
for name in ("scratch", "make", "zero"):
    exact(name, "order", None)
    exact(name, "lifo_percent", None)'
	check "histograms and blocks at a time" shape "$T/data" '
near("make", "allocs", 4000)
for name in sites:
    s = sites[name]
    assert sum(c["allocs"] for c in s["size"]["histogram"]) == s["allocs"], name
    assert sum(c["frees"] for c in s["lifetime"]["histogram"]) == s["frees"], name
    l = s["lifetime"]
    assert l["p50_ns"] <= l["p90_ns"] <= l["p99_ns"], name
assert [(c["le"], c["allocs"]) for c in get("copy", "size.histogram")] == [
    (64 << i, 800) for i in range(5)]
assert get("scratch", "live_mean") < get("queue", "live_mean") < 51, get("queue", "live_mean")'
	# (128 + 256 + 512 + 1024) / (64 + 128 + 256 + 512), the first of all unseen
	check "a realloc doubles" shape "$T/data" '
assert abs(get("grow_again", "growth.factor") - 2) < 0.01'
fi

if recorded "shapes, one in 20" -c 20 -m 16M -o "$T/data" -- "$WL/shapes" 1000; then
	check "frames, from a sample" shape "$T/data" "$frames"
	check "sizes and slack, from a sample" shape "$T/data" "$sizes"
	check "growth, from a sample" shape "$T/data" "$growth"
	check "order, from a sample" shape "$T/data" '
exact("queue", "order", "fifo")
exact("build", "order", "batch")
assert 150 < get("build", "batch_blocks") < 270, get("build", "batch_blocks")
surely("push", "order", "lifo")
near("grow_again", "growth.factor", 2)'
fi

if recorded "a vector, all of it" -c 1 -m 16M -o "$T/data" -- "$WL/shapes_vector" 300; then
	# The final block is freed by the vector's end, in the same function.
	check "a vector outgrows 10 of 11 blocks" shape "$T/data" '
near("fill", "growth.copied_percent", 1000 / 11)
near("fill", "same_frame_percent", 100)
exact("fill", "order", "fifo")'
fi

if recorded "a vector, one in 20" -c 20 -m 16M -o "$T/data" -- "$WL/shapes_vector" 2000; then
	check "a vector, from a sample" shape "$T/data" '
near("fill", "growth.copied_percent", 1000 / 11)
near("fill", "same_frame_percent", 100)
surely("fill", "order", "fifo")'
fi

if recorded "frees by another thread" -c 1 -o "$T/data" -- "$WL/crossfree" 2000; then
	check "all of them are cross-thread, first in first out, in no frame" shape "$T/data" '
exact("produce", "cross_thread_percent", 100)
exact("produce", "order", "fifo")
exact("produce", "same_frame_percent", 0)
exact("produce", "freed_by", None)'
fi

# 17 blocks that stay are no lifetimes, but count.
if recorded "lifetimes" -c 1 -o "$T/data" -- "$WL/lifetimes"; then
	check "lifetimes of blocks held for 5 and 200 ms, and for good" shape "$T/data" '
assert get("short_site", "lifetime.p90_ns") < 1e6
assert 5e6 <= get("medium_site", "lifetime.p50_ns") < 100e6
assert 200e6 * 0.9 <= get("long_site", "lifetime.p99_ns") < 2e9
exact("leak_site", "lifetime.p50_ns", None)
exact("long_site", "order", "batch")
exact("long_site", "batch_blocks", 100)'
fi

finish
