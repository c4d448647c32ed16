#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# needs: record
#
# What sites cost, of a real program: often()'s blocks cost 3 times what seldom()'s do, both are freed
# in one line of another function; touch() pays for fresh pages.

. tests/lib.sh

# with_report NAME CODE - CODE, after what finds its way in the report
with_report()
{
	local name=$1

	cat >"$T/judge.py" <<-'END'
	import json, math, sys
	d = json.load(open(sys.argv[1]))
	cpu = d["totals"]["cpu_percent"]
	def site(name):
	    return next(s for s in d["sites"] if s["function"] == name)
	def near(a, b, tolerance):
	    print("#", a, "against", b, "+-", tolerance)
	    sys.exit(0 if abs(a - b) <= tolerance else 1)
	END
	printf '%s\n' "$2" >>"$T/judge.py"
	check "$name" python3 "$T/judge.py" "$T/json"
}

test_classes()
{
	with_report "the classes add up to 100 %" 'near(sum(cpu[c] for c in (
	    "malloc", "free", "realloc", "heap_fault", "heap_syscall", "probe", "compute")), 100, 1e-6)'
	with_report "malloc, free and realloc are the allocator" \
		'near(cpu["malloc"] + cpu["free"] + cpu["realloc"], cpu["allocator"], 1e-6)'
	with_report "sites and what is nobody's are the heap's share of the program" '
heap = cpu["allocator"] + cpu["heap_fault"] + cpu["heap_syscall"]
near(sum(s["cpu_percent"] for s in d["sites"]) + d["totals"]["unattributed_percent"],
     100 * heap / (100 - cpu["probe"]), 1e-4)'
	with_report "malloc and free both take time" 'sys.exit(not (cpu["malloc"] > 5 and cpu["free"] > 5))'
}

# Within 4 standard errors.
test_sites()
{
	with_report "often() pays 3 times for malloc and free" '
a, b = site("often"), site("seldom")
near(a["cpu_percent"], 3 * b["cpu_percent"], 4 * math.hypot(a["cpu_error"], 3 * b["cpu_error"]))'
	with_report "and so it does for free alone, whose calls are elsewhere" '
a, b = site("often"), site("seldom")
near(a["free_percent"], 3 * b["free_percent"], 4 * math.hypot(a["cpu_error"], 3 * b["cpu_error"]))'
	with_report "free is spread by the blocks that were seen to die at its call" '
spread = d["self_check"]["costs"]
sys.exit(not (site("seldom")["free_percent"] > 0.5 and spread["frees_by_line"] > 4 * spread["frees_by_function"]))'
	with_report "touch() pays for its pages" '
t = site("touch")
sys.exit(not (t["fault_percent"] > 0.5 * 100 * cpu["heap_fault"] / (100 - cpu["probe"]) > 0))'
	# Of touch()'s few blocks too few may have been sampled to tell whose munmap() is.
	with_report "nothing but frees of too few samples is nobody's" '
near(d["totals"]["unattributed_percent"], d["self_check"]["costs"]["frees_unknown"], 0.5)'
	with_report "a saving is the cost, as nothing is cleared" '
a = site("often")
near(a["saving_percent"], a["cpu_percent"], 1e-6)'
}

test_text()
{
	report -i "$T/data"
	has "the header has the classes" '^# on-CPU   : .* allocator [0-9.]+ % \(malloc [0-9.]+, free [0-9.]+\)   heap faults' "$T/out"
	has "sites are in the order of cost" '^# Sites by what they cost$' "$T/out"
	has "the costs are columns" '^# +CPU% +\+- +malloc +free +fault ' "$T/out"
	with_report "the largest come first, with --json, too" '
costs = [s["cpu_percent"] for s in d["sites"]]
sys.exit(costs != sorted(costs, reverse=True))'
	report -i "$T/data" --by count -F allocs,cpu,site -q
	has "--by count still goes by allocations" '^ +[0-9,]+ +[0-9.]+ +often ' "$T/out"
}

test_folded()
{
	report -i "$T/data" --folded=cpu
	has "--folded=cpu has the way into malloc" '^costs;.*main;one_round;often;.*malloc.* [0-9]+$' "$T/out"
	has "--folded=cpu has free" ';one_round;release;.*free.* [0-9]+$' "$T/out"
	has "--folded=cpu has faults" ';touch;.*\[heap fault\] [0-9]+$' "$T/out"
	lacks "--folded=cpu has nothing else" '^#|[^0-9]$' "$T/out"
	report -i "$T/data" --folded=allocs
	has "--folded=allocs has allocations" ';one_round;often;malloc [0-9]+$' "$T/out"
}

need_tracing
if recorded "a recording of three sites" -F 1999 -o "$T/data" "$WL/costs"; then
	perf-churn report -i "$T/data" --json >"$T/json"
	test_classes
	test_sites
	test_text
	test_folded
fi
finish
