# SPDX-License-Identifier: GPL-2.0-only
#
# The programs that integration tests record, and the independent counter:
#
#	make -f tests/workloads.mk OUTPUT=build
#
# leaves build/tests/workloads/NAME, build/tests/counter.so, counter_dump and with_counter, in
# build/tests/preload the corners that the preload library is driven into, and what tools/bench/compare runs
# in build/bench. CFLAGS of
# the environment are ignored on purpose: the numbers in the programs' comments, the lines that
# annotate shows and the absence of tail calls belong to the test.
OUTPUT ?= build
CC ?= gcc
CXX ?= g++

src := tests/workloads
out := $(OUTPUT)/tests
names := $(filter-out bump_static,$(basename $(notdir $(wildcard $(src)/*.c))))
cxx_names := $(basename $(notdir $(wildcard $(src)/*.cpp)))
progs := $(addprefix $(out)/workloads/,$(names) $(cxx_names) bump_static loop_stripped)
corners := $(addprefix $(out)/preload/,corners corners_lib.so corners_tls.so corners_cxx.so corners_cxx \
	bump.so own_malloc mixed rates repeat)
bench_progs := $(patsubst tools/%.c,$(OUTPUT)/%,$(wildcard tools/bench/*.c))
bench_progs := $(bench_progs:%/gate=%/gate.so)

# Frame pointers, no tail calls; malloc is no builtin, or gcc drops pairs it thinks useless.
WL_FLAGS := -O2 -g -Wall -Wextra -Wno-alloc-size-larger-than -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc \
	-fno-builtin-free -fno-builtin-strdup -fcf-protection=none -pthread

ifneq ($(V),1)
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(patsubst $(OUTPUT)/%,%,$@)";
endif

.DELETE_ON_ERROR:
.PHONY: workloads stacks
workloads: $(progs) stacks $(out)/counter.so $(out)/counter_dump $(out)/with_counter $(corners) \
	$(bench_progs)

$(out)/workloads:
	$(Q)mkdir -p $@

$(out)/workloads/%: $(src)/%.c $(src)/workload.h tests/workloads.mk | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WL_FLAGS) -o $@ $<

$(out)/workloads/%: $(src)/%.cpp tests/workloads.mk | $(out)/workloads
	$(call msg,CXX)
	$(Q)$(CXX) -std=c++17 $(WL_FLAGS) -o $@ $<

$(out)/workloads/bump_static: $(src)/bump_static.c tests/workloads.mk | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -O2 -ffreestanding -fno-stack-protector -fno-pie -static -nostdlib -s \
		-o $@ $<

# A real program as people ship it: static glibc, no symbols.
$(out)/workloads/loop_stripped: $(src)/loop.c $(src)/workload.h tests/workloads.mk | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WL_FLAGS) -static -s -o $@ $<

# Functions begin with a push, where a breakpoint is cheap: the recorder probes the counter, too.
$(out)/counter.so: tests/preload/counter.c tests/preload/counter.h tests/workloads.mk | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fPIC -shared -fvisibility=hidden \
		-fno-builtin -fno-omit-frame-pointer -fno-shrink-wrap -fcf-protection=none -o $@ $<

$(out)/counter_dump: tests/preload/counter_dump.c tests/preload/counter.h | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -o $@ $<

$(out)/with_counter: tests/preload/with_counter.c | $(out)/workloads
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -o $@ $<

$(out)/preload:
	$(Q)mkdir -p $@

CORNER_FLAGS := -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wno-alloc-size-larger-than -fno-builtin -pthread

$(out)/preload/%.so: tests/preload/%.c tests/workloads.mk | $(out)/preload
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 $(CORNER_FLAGS) -fPIC -shared -o $@ $<

$(out)/preload/corners: tests/preload/corners.c $(out)/preload/corners_lib.so tests/workloads.mk
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 $(CORNER_FLAGS) -o $@ $< $(out)/preload/corners_lib.so -Wl,-rpath,'$$ORIGIN'

$(out)/preload/%: tests/preload/%.c tests/workloads.mk | $(out)/preload
	$(call msg,CC)
	$(Q)$(CC) -std=gnu11 $(CORNER_FLAGS) -o $@ $<

$(out)/preload/corners_cxx.so: tests/preload/corners_cxx.cpp tests/workloads.mk | $(out)/preload
	$(call msg,CXX)
	$(Q)$(CXX) -std=c++17 $(CORNER_FLAGS) -fPIC -shared -o $@ $<

$(out)/preload/corners_cxx: tests/preload/corners_cxx.cpp tests/workloads.mk | $(out)/preload
	$(call msg,CXX)
	$(Q)$(CXX) -std=c++17 $(CORNER_FLAGS) -DMAIN -o $@ $<

$(OUTPUT)/bench/%.so: tools/bench/%.c tests/workloads.mk
	$(call msg,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -fPIC -shared -o $@ $<

$(OUTPUT)/bench/%: tools/bench/%.c tools/bench/meter.h tests/workloads.mk
	$(call msg,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WL_FLAGS) -o $@ $<

include tests/stacks.mk
