#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# With -c 100 the sum of the samples' periods estimates the number of allocations: within 3 standard
# errors in at least 19 of 20 runs, without bias, and not fooled by periodic programs.
#
# Each allocation is taken with p = 1/100 on its own, so the estimate of n has a standard error of
# sqrt(n * (1 - p) / p).

. tests/lib.sh

NR_RUNS=20

run_loops()
{
	local i

	for ((i = 0; i < NR_RUNS; i++)); do
		recorded "-c 100, run $i" -c 100 -m 4M -o "$T/data" -- "$WL/loop" -n 50000 || return
		tally "$T/data" total.alloc_weight total.allocs total.free_weight windows.total.nr_allocs |
			paste -sd' ' >>"$T/estimates"
		rm -f "$T/data" "$T/data.old"
	done
}

# judge WHAT - python over the estimates: fields est, samples, frees, exact
judge()
{
	python3 - "$1" "$T/estimates" <<-'END'
	import math, sys
	what, n, p = sys.argv[1], 50000, 1 / 100
	rows = [list(map(int, line.split())) for line in open(sys.argv[2])]
	se = math.sqrt(n * (1 - p) / p)
	est = [r[0] for r in rows]
	mean = sum(est) / len(est)
	def verdict(good, text):
	    print("#", text)
	    sys.exit(not good)
	if what == "within":
	    good = sum(abs(e - n) <= 3 * se for e in est)
	    verdict(good >= 19, f"{good} of {len(est)} within 3 standard errors ({3 * se:.0f}): {est}")
	if what == "unbiased":
	    verdict(abs(mean - n) <= 3.5 * se / math.sqrt(len(est)),
	            f"mean {mean:.0f}, 3.5 standard errors of the mean: {3.5 * se / math.sqrt(len(est)):.0f}")
	if what == "random":
	    sd = math.sqrt(sum((e - n) ** 2 for e in est) / len(est))
	    verdict(0.5 * se <= sd <= 1.7 * se, f"standard deviation {sd:.0f}, expected about {se:.0f}")
	if what == "frees":
	    verdict(all(r[2] == r[0] for r in rows), f"{[(r[0], r[2]) for r in rows if r[2] != r[0]][:5]}")
	if what == "exact":
	    verdict(all(r[3] == n for r in rows), f"counted calls: {sorted({r[3] for r in rows})}")
	END
}

# shares FILE SYMBOL - per cent of churn:alloc periods, by stock perf
share_of()
{
	"$PERF" script -i "$1" -F period,event,ip,sym -G 2>/dev/null | awk -v sym="$2" '
		/churn:alloc/ { total += $1; if ($0 ~ sym) mine += $1 }
		END { printf "%.3f\n", total ? 100 * mine / total : -1 }'
}

need_tracing

run_loops || finish
check "the estimate is within 3 standard errors in 19 of 20 runs" judge within
check "the estimate has no bias" judge unbiased
check "runs scatter as random sampling does" judge random
check "each sampled block's free carries the weight of its allocation" judge frees
check "the calls that every hit counts are exact all the same" judge exact

# 500,000 allocations, so about 50 samples of rare_site: 1 % +- 0.14 %. Every hundredth: 0 % or 100 %.
if recorded "-c 100 on a periodic program" -c 100 -m 4M -o "$T/data" -- "$WL/periodic" 5000; then
	share=$(share_of "$T/data" rare_site)
	check "a site with every hundredth allocation gets its 1 % (got $share %)" \
		awk -v s="$share" 'BEGIN { exit !(s > 0.5 && s < 1.6) }'
fi

# Bytes: 3 of 4 allocations are 200 bytes, 1 is 24. 8000 allocations at p = 1/10: the estimate of
# heavy_site's share has a standard error of 1.5 points.
if recorded "-c 10 on two sites" -c 10 -m 4M -o "$T/data" -- "$WL/shares" 2000; then
	share=$(share_of "$T/data" heavy_site)
	check "shares by site hold (75 %, got $share %)" \
		awk -v s="$share" 'BEGIN { exit !(s > 70 && s < 80) }'
fi

# The report's own estimate and its error, when it states one.
if recorded "-c 50" -c 50 -m 4M -o "$T/data" -- "$WL/shares" 5000; then
	perf-churn report --json -i "$T/data" >"$T/json" 2>"$T/err"
	check "every site with an estimate states its error, and the truth is within 4 of it" python3 - "$T/json" <<-'END'
	import json, sys
	sites = {s["function"]: s for s in json.load(open(sys.argv[1]))["sites"]}
	for name, truth in (("heavy_site", 15000), ("light_site", 5000)):
	    est, err = sites[name]["allocs"], sites[name]["allocs_error"]
	    print(f"# {name}: {est} +- {err}, truth {truth}")
	    assert 0 < err < truth / 2 and abs(est - truth) <= 4 * err
	END
fi

finish
