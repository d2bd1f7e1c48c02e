# One Makefile: finds what is installed (pkg-config, nvcc), builds three programs and the tests into build/.
#   make            programs            make check      all tests           make demo     the main job, with a figure
#   make bench      figures as CSV      make install    PREFIX=/usr/local   make info     what was found
SHELL := /bin/bash
.DEFAULT_GOAL := all
BUILD ?= build
PREFIX ?= /usr/local
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
PKG := pkg-config
VERSION := 0.1.0
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo +)

# ---- what the machine has --------------------------------------------------------------------------------------
ARCH := $(shell uname -m)
BASELINE := $(if $(filter x86_64,$(ARCH)),-march=x86-64-v2)
HAS_DNNL := $(shell printf '\#include <oneapi/dnnl/dnnl.h>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1 || echo 0)
HAS_OPENBLAS := $(shell $(PKG) --exists openblas 2>/dev/null && echo 1 || echo 0)
HAS_GD := $(shell $(PKG) --exists gdlib 2>/dev/null && echo 1 || echo 0)
NVCC := $(shell command -v nvcc 2>/dev/null)
OPTIMISE ?= -O3
SANITIZE ?=
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-unused-parameter -Wno-unknown-pragmas
# No fused multiply-add and no fast-math anywhere: the same bits from every compiler and processor.
CFLAGS_ALL = -std=c17 -D_GNU_SOURCE -I. $(OPTIMISE) -g $(BASELINE) -ffp-contract=off -fopenmp -fno-math-errno $(WARN) \
  -include core/banned.h -DCORE_HAS_DNNL=$(HAS_DNNL) -DCORE_HAS_OPENBLAS=$(HAS_OPENBLAS) -DCORE_HAS_GD=$(HAS_GD) $(SANITIZE) \
  $(shell $(PKG) --cflags jansson libsodium sqlite3 2>/dev/null) $(CFLAGS)
LIBS_ALL = $(SANITIZE) -fopenmp $(shell $(PKG) --libs jansson libsodium sqlite3 2>/dev/null) -lm -lpthread
LIBS_TRAINER = $(if $(filter 1,$(HAS_DNNL)),-ldnnl) $(if $(filter 1,$(HAS_OPENBLAS)),$(shell $(PKG) --libs openblas)) \
  $(if $(filter 1,$(HAS_GD)),$(shell $(PKG) --libs gdlib))

# ---- sources ---------------------------------------------------------------------------------------------------
FOLDERS := core sim store trainer sweep analysis
sources = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
CORE_O := $(call object,$(call sources,core))
SIM_O := $(call object,$(call sources,sim))
STORE_O := $(call object,$(call sources,store))
TRAINER_O := $(call object,$(filter-out trainer/main.c,$(call sources,trainer)))
SWEEP_O := $(call object,$(filter-out sweep/main.c,$(call sources,sweep)))
ANALYSIS_O := $(call object,$(filter-out analysis/main.c,$(call sources,analysis)))
PROGRAMS := $(BUILD)/bin/sweep $(BUILD)/bin/trainer $(BUILD)/bin/analyze
# A test program is one file; it links all of ours (static archives give only what it uses).
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c tests/golden/golden_*.c tests/bench/bench_*.c))
GOLDEN := $(BUILD)/tests/golden_sim $(BUILD)/tests/golden_ppo

all: deps-present $(PROGRAMS)

$(BUILD)/lib/libcore.a: $(CORE_O)
$(BUILD)/lib/libsim.a: $(SIM_O)
$(BUILD)/lib/libstore.a: $(STORE_O)
$(BUILD)/lib/libtrainer.a: $(TRAINER_O)
$(BUILD)/lib/libsweep.a: $(SWEEP_O)
$(BUILD)/lib/libanalysis.a: $(ANALYSIS_O)
$(BUILD)/lib/lib%.a:
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^

lib = $(patsubst %,$(BUILD)/lib/lib%.a,$(1))
$(BUILD)/bin/sweep: $(BUILD)/obj/sweep/main.o $(call lib,sweep store core)
$(BUILD)/bin/trainer: $(BUILD)/obj/trainer/main.o $(call lib,trainer sim store core)
$(BUILD)/bin/analyze: $(BUILD)/obj/analysis/main.o $(call lib,analysis store core)
$(BUILD)/bin/trainer: LIBS_ALL += $(LIBS_TRAINER)
$(PROGRAMS):
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

$(BUILD)/obj/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  cc   $<"; $(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(BUILD)/obj/sim/draw_image.o: CFLAGS_ALL += $(if $(filter 1,$(HAS_GD)),$(shell $(PKG) --cflags gdlib))

# The vector kernels of the simulator, a file for each kind of processor; sim/block.c asks the machine before it calls them.
ifeq ($(ARCH),x86_64)
$(BUILD)/obj/sim/lanes_avx2.o: BASELINE := -march=x86-64-v3
$(BUILD)/obj/sim/lanes_avx512.o: BASELINE := -march=x86-64-v4
endif

# The version is compiled into one file, rebuilt when the commit changes.
$(BUILD)/obj/core/version.o: CFLAGS_ALL += -DCORE_VERSION='"$(VERSION)"' -DCORE_COMMIT='"$(COMMIT)"'
$(BUILD)/obj/core/version.o: $(BUILD)/commit.stamp
$(BUILD)/commit.stamp: FORCE
	@mkdir -p $(@D); echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@
FORCE:
.PHONY: all FORCE check demo bench install clean help info deps deps-present docs tests

$(BUILD)/tests/%: tests/%.c $(call lib,sweep analysis trainer sim store core) | deps-present
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Itests -MMD -MP -MF $@.d -o $@ $< \
	  $(call lib,sweep analysis trainer sim store core) $(LIBS_ALL) $(LIBS_TRAINER) -lcmocka
$(BUILD)/tests/golden_%: $(BUILD)/tests/golden/golden_%
	@cp $< $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# ---- what people type ------------------------------------------------------------------------------------------
deps:            ## install the libraries (Debian-like machines, as root or with sudo)
	@tests/tools/dependencies.sh install
deps-present:
	@tests/tools/dependencies.sh check
tests: $(TESTS) $(GOLDEN) $(PROGRAMS)
check:           ## all tests; the last line is "N passed, N failed, N skipped"
	@tests/tools/dependencies.sh install
	@$(MAKE) --no-print-directory tests
	@tests/run.sh $(BUILD) $(ONLY)
demo:            ## install, build, run the demo sweep, draw the figure (at most 10 minutes on 2 cores)
	@tests/tools/dependencies.sh install
	@$(MAKE) --no-print-directory all
	@tests/tools/demo.sh $(BUILD)
bench:           ## figures as CSV: part,case,metric,value,unit,threads,machine,commit  (ONLY=store|sweep|sim|trainer|analysis|peers)
	@tests/tools/dependencies.sh install >&2
	@$(MAKE) --no-print-directory tests >&2
	@tests/bench/run.sh $(BUILD) $(ONLY)
install: all     ## PREFIX=/usr/local, DESTDIR
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/sweep/experiments
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 experiments/*.ini $(DESTDIR)$(PREFIX)/share/sweep/experiments
docs: all        ## rewrite docs/config.md from core/config.def
	$(BUILD)/bin/trainer config --markdown > docs/config.md
info:            ## what was found on this machine
	@echo "sweep $(VERSION) commit $(COMMIT)"
	@echo "compiler   $$($(CC) --version | head -1)"
	@echo "processor  $(ARCH) $(BASELINE); $$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)"
	@echo "oneDNN     $(if $(filter 1,$(HAS_DNNL)),yes,no)"
	@echo "OpenBLAS   $(if $(filter 1,$(HAS_OPENBLAS)),$(shell $(PKG) --modversion openblas 2>/dev/null),no)"
	@echo "SQLite     $(shell $(PKG) --modversion sqlite3 2>/dev/null || echo no)"
	@echo "jansson    $(shell $(PKG) --modversion jansson 2>/dev/null || echo no)"
	@echo "libsodium  $(shell $(PKG) --modversion libsodium 2>/dev/null || echo no)"
	@echo "gnuplot    $$(gnuplot --version 2>/dev/null || echo no)"
	@echo "libgd      $(if $(filter 1,$(HAS_GD)),$(shell $(PKG) --modversion gdlib),no: trainer show draws .svg only)"
	@echo "nvcc       $(or $(NVCC),no) (the CUDA backend is not part of this version)"
	@if [ -x $(BUILD)/bin/trainer ]; then $(BUILD)/bin/trainer info; fi
clean:           ## remove build/
	rm -rf $(BUILD)
help:            ## this list
	@grep -hE '^[a-z]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):[^#]*## ?/\1\t/' | column -t -s "$$(printf '\t')"
