# SPDX-License-Identifier: GPL-2.0-only
#
# perf churn: build, test and install. "make help" lists the targets.
#
# This file runs twice: the outer make sets up and orders, the inner one (LOCKED=1) builds. Only one
# inner make at a time works in $(OUTPUT), so parallel calls wait instead of tearing files.

VERSION := 0.1.0
SAN ?= 0
OUTPUT ?= $(if $(filter 1,$(SAN)),build-san,build)
DEPS ?= build/deps
PREFIX ?= /usr/local
sysconfdir ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)

MAKEFLAGS += --no-print-directory --no-builtin-rules
Q := $(if $(filter 1,$(V)),,@)

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

inner_goals := all tests workloads benches doc install
.PHONY: $(inner_goals) help deps check demo bench check-perf612 clean

ifneq ($(LOCKED),1)
#
# Outer make
#
inner = mkdir -p $(OUTPUT) && flock -o $(OUTPUT)/.lock $(MAKE) LOCKED=1
with_env = OUTPUT=$(OUTPUT) MAKE_VARS='$(MAKEOVERRIDES)' PATH="$(CURDIR)/$(OUTPUT):$$PATH"

all:
	+$(Q)$(inner) $@

tests workloads benches doc install:
	+$(Q)$(inner) $@

# One file, e.g. make build/perfdata/reader.o
$(OUTPUT)/%: FORCE
	+$(Q)$(inner) $@

help:
	@echo 'make [all]           build $(OUTPUT)/perf-churn'
	@echo 'make demo            set up, build, record a small program and report on it'
	@echo 'make check           set up, build and run all tests; TEST=NAME runs one, SAN=1 under ASan and UBSan'
	@echo 'make bench           measure what recording costs on this machine, and what other tools do'
	@echo 'make doc             man pages'
	@echo 'make install         honours PREFIX ($(PREFIX)) and DESTDIR'
	@echo 'make deps            install packages and build libraries (scripts/setup.sh)'
	@echo 'make check-perf612   stock perf tests against a perf built from the 6.12 source'
	@echo 'make clean           remove what make built, but not the libraries in $(DEPS)'
	@echo 'Variables: V=1 shows commands, WERROR=0 lets warnings pass, CC, CLANG, CFLAGS, LDFLAGS'

deps:
	$(Q)DEPS=$(DEPS) scripts/setup.sh

check: deps
	+$(Q)$(inner) all tests workloads
	$(Q)$(with_env) SAN=$(SAN) TEST='$(TEST)' scripts/run-tests.sh

demo: deps
	+$(Q)$(inner) all workloads
	$(Q)$(with_env) scripts/demo.sh

bench: deps
	+$(Q)$(inner) all workloads benches $(OUTPUT)/tests/preload_listener
	$(Q)$(with_env) scripts/bench.sh

check-perf612: deps
	+$(Q)$(inner) all workloads
	$(Q)$(with_env) scripts/check-perf612.sh

# The libraries take half a minute and perf 6.12 minutes: they stay, "rm -rf build" takes all.
clean:
	$(Q)for path in $(OUTPUT)/* build-san; do \
		case $$path in $(DEPS)|$(OUTPUT)/perf612) ;; *) rm -rf "$$path" ;; esac; \
	done

FORCE:
.PHONY: FORCE

else
#
# Inner make
#
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CLANG ?= clang
ASCIIDOCTOR ?= asciidoctor
# Debian keeps it where users' PATH does not reach.
BPFTOOL ?= $(firstword $(shell command -v bpftool) $(wildcard /usr/sbin/bpftool) bpftool)
VMLINUX_BTF ?= /sys/kernel/btf/vmlinux

# need TOOL - stop unless it can be run.
need = $(if $(shell command -v $(firstword $(1))),,$(error missing tool: $(firstword $(1)) \
	(make deps installs what the build needs)))
$(foreach tool,CC CLANG BPFTOOL,$(call need,$($(tool))))
$(if $(wildcard $(DEPS)/stamp),,$(error missing: the libraries in $(DEPS) (make deps builds them)))

msg = $(if $(Q),@printf '  %-8s %s\n' "$(1)" "$(patsubst $(OUTPUT)/%,%,$(2))";)

# CFLAGS and LDFLAGS are the user's.
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra $(if $(filter 0,$(WERROR)),,-Werror)
# gcc's flow analysis sees ghosts in instrumented code; the plain build has these warnings.
WARN += $(if $(filter 1,$(SAN)),-Wno-format-truncation -Wno-maybe-uninitialized -Wno-stringop-overflow)
SAN_FLAGS := $(if $(filter 1,$(SAN)),-fsanitize=address -fsanitize=undefined -fno-omit-frame-pointer)
INCLUDES := -Iplugin -I. -I$(OUTPUT)/bpf -isystem $(DEPS)/include
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -DPERF_CHURN_VERSION='"$(VERSION)"' $(WARN) $(INCLUDES) \
	$(CFLAGS) $(SAN_FLAGS)
ALL_LDFLAGS := $(LDFLAGS) $(SAN_FLAGS)
LIBS := $(addprefix $(DEPS)/lib/,libperf.a libsubcmd.a libapi.a libbpf.a)
LDLIBS := -ldw -lelf -ltraceevent -lzstd -lz -liberty -lZydis -lpthread -ldl -lm

BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(shell uname -m)))
BPF_CFLAGS := -g -O2 -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall $(filter -Werror,$(WARN)) \
	-I$(OUTPUT)/bpf -I. -isystem $(DEPS)/include \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch)

SRCS := $(filter-out plugin/preload/%,$(wildcard plugin/*/*.c))
OBJS := $(SRCS:plugin/%.c=$(OUTPUT)/%.o)
SKELS := $(patsubst bpf/%.bpf.c,$(OUTPUT)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
TESTS := $(patsubst tests/%.c,$(OUTPUT)/tests/%,$(wildcard tests/*_test.c))
BENCHES := $(patsubst tests/bench/%.c,$(OUTPUT)/tests/bench/%,$(wildcard tests/bench/*_bench.c))
LISTENER := $(OUTPUT)/tests/preload_listener
TOOLS := $(patsubst tools/%.c,$(OUTPUT)/%,$(wildcard tools/*.c))
PRELOAD_SRCS := $(wildcard plugin/preload/*.c)
PRELOAD_OBJS := $(PRELOAD_SRCS:plugin/%.c=$(OUTPUT)/%.o)
PRELOAD := $(OUTPUT)/libperf-churn.so
# Part of every program: nothing is bound late or taken away, and no call becomes another one. Frame
# pointers for those who walk by them, but not where the fast path has no frame.
PRELOAD_CFLAGS = $(filter-out -fsanitize=% -O%,$(ALL_CFLAGS)) -O2 -fPIC -fvisibility=hidden \
	-fno-lto -ftls-model=initial-exec -fno-builtin -fno-tree-loop-distribute-patterns -fno-stack-protector \
	$(PRELOAD_FRAMES)
PRELOAD_LDFLAGS := -shared -Wl,-soname,libperf-churn.so -Wl,-z,now -Wl,-z,nodelete -Wl,-z,defs
MAN := $(patsubst Documentation/%.txt,$(OUTPUT)/doc/%.1,$(wildcard Documentation/perf-churn*.txt))

all: $(OUTPUT)/perf-churn $(PRELOAD) $(TOOLS) ; @:
tests: $(TESTS) $(LISTENER) ; @:
benches: $(BENCHES) ; @:
doc: $(MAN) ; @:

# Written only when the text changes; what depends on it is then built again.
define remember
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
endef

$(OUTPUT)/.flags: FORCE
	$(call remember,$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS) $(LDLIBS))
$(OUTPUT)/.bpf-flags: FORCE
	$(call remember,$(CLANG) $(BPF_CFLAGS) $(BPFTOOL) $(VMLINUX_BTF))
$(OUTPUT)/.preload-flags: FORCE
	$(call remember,$(CC) $(PRELOAD_CFLAGS) $(LDFLAGS) $(PRELOAD_LDFLAGS) $(PRELOAD_OBJS))
$(OUTPUT)/.objects: FORCE
	$(call remember,$(OBJS))
FORCE:
.PHONY: FORCE

#
# Program
#
$(OUTPUT)/%.o: plugin/%.c $(OUTPUT)/.flags $(DEPS)/stamp | $(SKELS)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/libchurn.a: $(OBJS) $(OUTPUT)/.objects
	$(call msg,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(OBJS)

$(OUTPUT)/perf-churn: $(OUTPUT)/perf-churn.o $(OUTPUT)/libchurn.a $(LIBS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS)

$(PRELOAD_OBJS): PRELOAD_FRAMES = -fno-omit-frame-pointer
$(OUTPUT)/preload/calls.o $(OUTPUT)/preload/operators.o: PRELOAD_FRAMES = -fomit-frame-pointer

$(PRELOAD_OBJS): $(OUTPUT)/preload/%.o: plugin/preload/%.c $(OUTPUT)/.preload-flags
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(PRELOAD_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/libperf-churn.so: $(PRELOAD_OBJS) $(OUTPUT)/.preload-flags
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(PRELOAD_LDFLAGS) -o $@ $(PRELOAD_OBJS)

# Small programs that scripts/ use.
$(TOOLS): $(OUTPUT)/%: tools/%.c $(OUTPUT)/.flags $(DEPS)/stamp
	$(call msg,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP $(ALL_LDFLAGS) -o $@ $<

#
# BPF
#
$(OUTPUT)/bpf/vmlinux.h: scripts/vmlinux.sh $(OUTPUT)/.bpf-flags
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)scripts/vmlinux.sh $(VMLINUX_BTF) $(BPFTOOL) >$@

$(OUTPUT)/bpf/%.bpf.o: bpf/%.bpf.c $(OUTPUT)/bpf/vmlinux.h $(OUTPUT)/.bpf-flags $(DEPS)/stamp
	$(call msg,BPF,$@)
	$(Q)$(CLANG) -target bpf $(BPF_CFLAGS) -MMD -MP -c $< -o $@

# Programs of a benchmark.
$(OUTPUT)/bpf/%.bpf.o: tests/bench/%.bpf.c $(OUTPUT)/bpf/vmlinux.h $(OUTPUT)/.bpf-flags $(DEPS)/stamp
	$(call msg,BPF,$@)
	$(Q)$(CLANG) -target bpf $(BPF_CFLAGS) -Ibpf -MMD -MP -c $< -o $@

# Of a test's tool.
$(OUTPUT)/bpf/%.bpf.o: tests/preload/%.bpf.c $(OUTPUT)/bpf/vmlinux.h $(OUTPUT)/.bpf-flags $(DEPS)/stamp
	$(call msg,BPF,$@)
	$(Q)$(CLANG) -target bpf $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/bpf/%.skel.h: $(OUTPUT)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen object $(@:.skel.h=.linked.o) $<
	$(Q)$(BPFTOOL) gen skeleton $(@:.skel.h=.linked.o) name $*_bpf >$@

#
# Tests
#
$(OUTPUT)/tests/%_test: tests/%_test.c $(OUTPUT)/libchurn.a $(LIBS) $(OUTPUT)/.flags
	$(call msg,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(filter %.o %.a,$^) $(LDLIBS)

# Those of the preload library test its objects.
$(OUTPUT)/tests/preload_gaps_test: $(OUTPUT)/preload/gaps.o
$(OUTPUT)/tests/preload_blocks_test: $(addprefix $(OUTPUT)/preload/,blocks.o confined.o filter.o)

$(LISTENER): tests/preload/listener.c $(LIBS) $(OUTPUT)/.flags | $(OUTPUT)/bpf/listener.skel.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(filter %.a,$^) $(LDLIBS)

# With frame pointers: their own stacks are walked by them, too.
$(BENCHES): $(OUTPUT)/tests/bench/%: tests/bench/%.c $(OUTPUT)/libchurn.a $(LIBS) $(OUTPUT)/.flags | \
		$(OUTPUT)/bpf/bench.skel.h
	$(call msg,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -MMD -MP \
		$(ALL_LDFLAGS) -o $@ $< $(filter %.a,$^) $(LDLIBS)

workloads:
	$(Q)$(MAKE) $(if $(Q),-s) -f tests/workloads.mk OUTPUT=$(OUTPUT)

#
# Documentation, installation
#
$(OUTPUT)/doc/%.1: Documentation/%.txt
	$(call need,$(ASCIIDOCTOR))
	$(call msg,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(ASCIIDOCTOR) -b manpage -d manpage -a reproducible -a manmanual='perf churn manual' \
		-a mansource='perf churn $(VERSION)' --failure-level WARN -o $@ $<

install: all doc
	$(Q)install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(sysconfdir)/bash_completion.d
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX)/bin/perf-churn)
	$(Q)install -m 755 $(OUTPUT)/perf-churn $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -D -m 755 $(PRELOAD) -t $(DESTDIR)$(PREFIX)/lib/perf-churn
	$(call msg,INSTALL,$(DESTDIR)$(PREFIX)/share/man/man1)
	$(Q)$(if $(MAN),install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1/)
	$(call msg,INSTALL,$(DESTDIR)$(sysconfdir)/bash_completion.d/perf-churn)
	$(Q)install -m 644 scripts/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/perf-churn
	$(Q)install -m 644 scripts/completion.bash $(DESTDIR)$(sysconfdir)/bash_completion.d/perf-churn

-include $(OBJS:.o=.d) $(OUTPUT)/perf-churn.d $(TESTS:=.d) $(BENCHES:=.d) $(TOOLS:=.d)
-include $(SKELS:.skel.h=.bpf.d) $(OUTPUT)/bpf/bench.bpf.d $(OUTPUT)/bpf/listener.bpf.d $(LISTENER).d $(PRELOAD_OBJS:.o=.d)

endif
