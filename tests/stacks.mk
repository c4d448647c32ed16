# SPDX-License-Identifier: GPL-2.0-only
#
# stacks.mk - part of workloads.mk: programs whose stacks are known, for tests/stacks.sh. Folders fp and
# nofp have them with and without frame pointers, fp_stripped and nofp_stripped have stripped copies.
RUSTC ?= $(firstword $(wildcard /usr/bin/rustc) rustc)

stacks := $(out)/workloads/stacks
stacks_names := stacks stacks_static stacks_plugin.so stacks_rust
stacks_main := $(addprefix $(src)/stacks/,main.cpp frames.cpp jumps.cpp processes.cpp)
stacks_deps := $(src)/stacks/stacks.h tests/workloads.mk tests/stacks.mk

stacks: $(foreach kind,fp nofp fp_stripped nofp_stripped,$(addprefix $(stacks)/$(kind)/,$(stacks_names)))

# Tail calls are wanted here: one case has some.
STACKS_FLAGS = -std=c++17 -O2 -g -Wall -Wextra -fno-builtin-malloc -fno-builtin-free \
	-fno-reorder-blocks-and-partition -pthread -Wl,-z,lazy $(stacks_cxx_$(*F))
stacks_cxx_fp := -fno-omit-frame-pointer
stacks_cxx_nofp := -fomit-frame-pointer
stacks_rustc_fp := -C force-frame-pointers=yes
stacks_rustc_nofp := -C force-frame-pointers=no

$(stacks)/%/stacks: $(stacks_main) $(stacks_deps)
	$(call msg,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(STACKS_FLAGS) -o $@ $(stacks_main) -ldl

$(stacks)/%/stacks_static: $(stacks_main) $(stacks_deps)
	$(call msg,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(STACKS_FLAGS) -DSTACKS_STATIC -static -o $@ $(stacks_main)

$(stacks)/%/stacks_plugin.so: $(src)/stacks/plugin.cpp $(stacks_deps)
	$(call msg,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(STACKS_FLAGS) -fPIC -shared -o $@ $<

$(stacks)/%/stacks_rust: $(src)/stacks/rust.rs $(stacks_deps)
	$(call msg,RUSTC)
	$(Q)mkdir -p $(@D)
	$(Q)$(RUSTC) -O -g --crate-name stacks_rust $(stacks_rustc_$(*F)) -o $@ $<

define stacks_strip
$(stacks)/%_stripped/$(1): $(stacks)/%/$(1)
	$$(call msg,STRIP)
	$$(Q)mkdir -p $$(@D)
	$$(Q)strip -o $$@ $$<
endef
$(foreach name,$(stacks_names),$(eval $(call stacks_strip,$(name))))
