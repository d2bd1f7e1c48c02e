# Builds three programs (sweep, trainer, analyze) and libsim into build/.
#   make   the programs    make check   all tests    make demo   a small sweep, with its figure    make help   the rest
# install.mk says how they are installed, packaging/packaging.mk how they are packed, tests/tests.mk how tests are made.
SHELL := /bin/bash
.DEFAULT_GOAL := all
VERSION := 0.2.0
# A tarball of `make dist` has no history; its commit.txt says what it was made of: commit, day, tag or "untagged".
RELEASED := $(if $(wildcard commit.txt),$(shell cat commit.txt))
ifeq ($(RELEASED),)
CHANGED := $(shell git diff --quiet HEAD 2>/dev/null || echo +)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)$(CHANGED)
DATE := $(shell git log -1 --format=%cs 2>/dev/null || date +%F)
else
COMMIT := $(word 1,$(RELEASED))
DATE := $(word 2,$(RELEASED))
endif

# ---- what you may set: make BUILD=... CC=clang OPTIMIZE=-O1 SANITIZE=-fsanitize=address CFLAGS=...
BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
OPTIMIZE ?= -O3
SANITIZE ?=
CUDA_TARGETS ?= -gencode=arch=compute_80,code=[sm_80,sm_90,compute_80]
# CUDA_HOME=/path/to/cuda, else the nvcc in PATH, else /usr/local/cuda; CUDA_HOME= (empty) builds without.
ifeq ($(origin CUDA_HOME),undefined)
CUDA_HOME := $(patsubst %/bin/nvcc,%,$(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc)))
endif
# NCCL_HOME=/path/to/nccl, else where CUDA or the system have it.

# ---- what the machine has: HAS_X is 1 or 0, and $(call has,X) not empty where it is 1 ------------
ARCH := $(shell uname -m)
BASELINE := $(if $(filter x86_64,$(ARCH)),-march=x86-64-v2)
PKG := pkg-config
package = $(shell $(PKG) --exists $(1) 2>/dev/null && echo 1 || echo 0)
NVCC := $(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc))
NCCL_H := $(wildcard $(addsuffix /include/nccl.h,$(NCCL_HOME) $(CUDA_HOME) /usr /usr/local))
HAS_DNNL := $(shell printf '\#include <oneapi/dnnl/dnnl.h>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1 || echo 0)
HAS_OPENBLAS := $(call package,openblas)
HAS_GD := $(call package,gdlib)
HAS_MPI := $(call package,ompi-c)
HAS_CURL := $(call package,libcurl)
HAS_MICROHTTPD := $(call package,libmicrohttpd)
# MUJOCO_HOME=/path/to/mujoco, else where `make mujoco` puts it. Its headers are needed here; at run time it is opened in
# MUJOCO_PLACE, which is empty in packages.
MUJOCO_HOME ?= $(abspath $(BUILD))/mujoco
MUJOCO_PLACE ?= $(MUJOCO_HOME)
HAS_MUJOCO := $(if $(wildcard $(MUJOCO_HOME)/include/mujoco/mujoco.h),1,0)
HAS_CUDA := $(if $(NVCC),1,0)
HAS_NCCL := $(if $(and $(NVCC),$(NCCL_H)),1,0)
has = $(filter 1,$(HAS_$(1)))
# What `--version` says of it: "with oneDNN, libgd; without CUDA".
FEATURES := DNNL=oneDNN OPENBLAS=OpenBLAS GD=libgd MPI=OpenMPI CURL=libcurl MICROHTTPD=libmicrohttpd CUDA=CUDA NCCL=NCCL \
  MUJOCO=MuJoCo
comma := ,
listed = $(subst $() ,$(comma) ,$(strip $(1)))
feature_has = $(HAS_$(word 1,$(subst =, ,$(1))))
feature_name = $(word 2,$(subst =, ,$(1)))
features = $(foreach f,$(FEATURES),$(if $(filter $(1),$(call feature_has,$f)),$(call feature_name,$f)))
FEATURES_WITH := $(or $(call listed,$(call features,1)),none of the optional libraries)
FEATURES_WITHOUT := $(call listed,$(call features,0))
FEATURES_TEXT := with $(FEATURES_WITH)$(if $(FEATURES_WITHOUT),; without $(FEATURES_WITHOUT))

# ---- compiler and linker -------------------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror=implicit-function-declaration \
  -Wpointer-arith -Wno-unused-parameter -Wno-unknown-pragmas
PKG_CFLAGS := $(shell $(PKG) --cflags jansson libsodium sqlite3 zlib 2>/dev/null)
# No fused multiply-add and no fast-math anywhere: the same bits from every compiler and processor.
# A debugger gets lines and types; where variables are after -O3 would take a quarter of the compiler's time.
CFLAGS_ALL = -std=c17 -D_GNU_SOURCE -I. $(OPTIMIZE) -g -fno-var-tracking $(BASELINE) -ffp-contract=off -fopenmp \
  -fno-math-errno $(WARN) -include core/banned.h \
  $(foreach x,DNNL OPENBLAS GD MPI CURL CUDA NCCL,-DCORE_HAS_$(x)=$(HAS_$(x))) \
  $(SANITIZE) $(PKG_CFLAGS) $(CFLAGS)
NVCCFLAGS = -std=c++17 -I. -O3 --fmad=false $(CUDA_TARGETS) -Xcompiler -ffp-contract=off,-w
# The CUDA runtime is linked statically and finds the driver when it is first used. cuBLASLt and NCCL (cuda_library.c),
# Open MPI (trainer/ranks/mpi_library.c), libcurl (core/http.c) and libmicrohttpd (sweep/serve/server.c) are opened when
# they are first needed. So programs start on machines that have none of them.
CUDART := $(firstword $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a $(CUDA_HOME)/lib/libcudart_static.a))
LIBS_CUDA := $(if $(NVCC),$(CUDART) -ldl -lrt -lstdc++)
LIBS_HTTP := $(if $(call has,CURL)$(call has,MICROHTTPD),-ldl)
LIBS_TRAINER := $(if $(call has,DNNL),-ldnnl) $(if $(call has,OPENBLAS),$(shell $(PKG) --libs openblas)) \
  $(if $(call has,GD),$(shell $(PKG) --libs gdlib)) $(LIBS_CUDA)
PKG_LIBS := $(shell $(PKG) --libs jansson libsodium sqlite3 zlib 2>/dev/null)
LIBS_ALL = $(SANITIZE) -fopenmp $(PKG_LIBS) -lm -lpthread -ldl

# ---- programs: a static archive a folder, linked with the folder's main.c ------------------------
FOLDERS := core sim store trainer slurm sweep analysis
PROGRAMS := $(BUILD)/bin/sweep $(BUILD)/bin/trainer $(BUILD)/bin/analyze
sources = $(sort $(wildcard $(1)/*.$(2) $(1)/*/*.$(2) $(1)/*/*/*.$(2)))
kernels = $(patsubst %.cu,$(BUILD)/obj/%.o,$(if $(NVCC),$(call sources,$(1),cu)))
# The programs have libsim's objects of sim/, compiled once; but not the table of kernels, which names the GPU's.
SIM_SHARED := $(filter-out sim/draw/draw_image.c sim/device/kernels.c,$(call sources,sim,c))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(1)/main.c $(SIM_SHARED),$(call sources,$(1),c))) \
  $(patsubst %.c,$(BUILD)/pic/%.o,$(filter $(1)/%,$(SIM_SHARED))) $(call kernels,$(1))
archives = $(patsubst %,$(BUILD)/archive/lib%.a,$(1))
KERNELS_O := $(foreach folder,$(FOLDERS),$(call kernels,$(folder)))

# Kernels first: they take a minute each, and all programs wait for them.
all: deps-present $(KERNELS_O) $(PROGRAMS) lib bridge $(BUILD)/share/made.stamp
$(foreach folder,$(FOLDERS),$(eval $(call archives,$(folder)): $(call objects,$(folder))))
$(call archives,%):
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^
$(BUILD)/bin/sweep: $(BUILD)/obj/sweep/main.o $(call archives,sweep slurm analysis store core)
$(BUILD)/bin/trainer: $(BUILD)/obj/trainer/main.o $(call archives,trainer sim store core)
$(BUILD)/bin/analyze: $(BUILD)/obj/analysis/main.o $(call archives,analysis sweep store core)
$(BUILD)/bin/trainer: LIBS_ALL += $(LIBS_TRAINER)
$(BUILD)/bin/sweep $(BUILD)/bin/analyze: LIBS_ALL += $(LIBS_HTTP)
$(BUILD)/bin/sweep: LIBS_ALL += $(shell $(PKG) --libs libarchive)
$(PROGRAMS):
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

# ---- objects -------------------------------------------------------------------------------------
$(BUILD)/obj/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  cc   $<"; $(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
# What nvcc made of a kernel (.ptx) and said of it (.ptxas) is kept, for `make kernels` and tests/tools/test_kernels.sh.
$(BUILD)/obj/%.o: %.cu $(BUILD)/nvcc.stamp | deps-present
	@rm -rf $@.keep; mkdir -p $@.keep
	@echo "  nvcc $<"; $(NVCC) $(NVCCFLAGS) -Xptxas -v --keep --keep-dir $@.keep -MMD -MP -MT $@ -MF $(@:.o=.d) \
	  -c -o $@ $< 2>$(@:.o=.ptxas) || { cat $(@:.o=.ptxas) >&2; exit 1; }
	@cat $@.keep/*.ptx >$(@:.o=.ptx); rm -rf $@.keep
# How kernels are compiled: other flags recompile them. A first stamp is older than what was compiled before it.
$(BUILD)/nvcc.stamp: FORCE
	@mkdir -p $(@D); [ -e $@ ] || { echo '$(NVCC) $(NVCCFLAGS)' > $@; touch -d 2000-01-01 $@; }; \
	  echo '$(NVCC) $(NVCCFLAGS)' | cmp -s - $@ || echo '$(NVCC) $(NVCCFLAGS)' > $@
# The simulator's vector kernels, a file for each kind of processor; sim/simd/block.c asks the machine before calls.
ifeq ($(ARCH),x86_64)
$(BUILD)/pic/sim/simd/lanes_avx2.o: BASELINE := -march=x86-64-v3
# Only tests run this one; -O3 would take a minute and a half for it.
$(BUILD)/pic/sim/simd/lanes_avx2x2.o: BASELINE := -march=x86-64-v3 -Wno-psabi \
  $(if $(filter -O2 -O3,$(OPTIMIZE)),-O1 -g0)
$(BUILD)/pic/sim/simd/lanes_avx512.o: BASELINE := -march=x86-64-v4
endif
# Files with flags of their own: libraries' headers; the lowest compute capability that kernels run on, 80 for 8.0.
CUDA_MIN := $(shell printf '%s\n' '$(CUDA_TARGETS)' | grep -o 'compute_[0-9]*' | tr -dc '0-9\n' | sort -n | head -n 1)
CUDA_USERS := $(patsubst %,$(BUILD)/obj/%.o,core/device/device_cuda trainer/ops/device/cuda_library trainer/ranks/nccl)
$(BUILD)/obj/core/device/device_cuda.o: CFLAGS_ALL += $(if $(CUDA_MIN),-DCORE_CUDA_MIN=$(CUDA_MIN)) \
  -DCORE_CUDA_TARGETS='"$(CUDA_TARGETS)"'
$(CUDA_USERS): CFLAGS_ALL += $(addprefix -isystem ,$(addsuffix /include,$(NCCL_HOME) $(if $(NVCC),$(CUDA_HOME))))
# Whether the compiler can add a call at each load and store, which tests/instruments count.
COUNTED_FLAGS := -fsanitize=thread --param tsan-instrument-func-entry-exit=0
COUNTS := $(shell echo 'int f(int *x) { return *x; }' | $(CC) $(COUNTED_FLAGS) -x c -c -o /dev/null - 2>/dev/null && echo 1)
$(BUILD)/obj/core/device/access_counts.o $(BUILD)/pic/core/device/access_counts.o: \
  CFLAGS_ALL += -DCORE_COUNTS_ACCESSES=$(or $(COUNTS),0)
# Procgen is opened at run time and needs no headers.
PROCGEN_HOME ?= $(abspath $(BUILD))/procgen
$(BUILD)/obj/store/code/place.o: CFLAGS_ALL += -DCORE_PROCGEN_HOME='"$(PROCGEN_HOME)"' \
  $(if $(call has,MUJOCO),-DCORE_MUJOCO_HOME='"$(MUJOCO_PLACE)"')
$(BUILD)/obj/store/code/place.o: $(BUILD)/mujoco.stamp
# Recompiled when MuJoCo is added or moved.
MUJOCO_CFLAGS := -DCORE_HAS_MUJOCO=$(HAS_MUJOCO) $(if $(call has,MUJOCO),-isystem $(MUJOCO_HOME)/include)
MUJOCO_O := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard trainer/envs/mujoco/*.c))
$(MUJOCO_O): CFLAGS_ALL += $(MUJOCO_CFLAGS)
$(MUJOCO_O): $(BUILD)/mujoco.stamp
$(BUILD)/mujoco.stamp: FORCE
	@mkdir -p $(@D); echo '$(MUJOCO_CFLAGS)' | cmp -s - $@ || echo '$(MUJOCO_CFLAGS)' > $@
$(BUILD)/obj/sim/draw/draw_image.o: CFLAGS_ALL += $(if $(call has,GD),$(shell $(PKG) --cflags gdlib))
$(patsubst %,$(BUILD)/obj/trainer/ranks/%.o,ranks mpi_library): CFLAGS_ALL += $(if $(call has,MPI),$(shell $(PKG) --cflags ompi-c))
$(BUILD)/obj/analysis/report/report.o: $(wildcard analysis/report/*.html analysis/report/*.css analysis/report/*.js)
$(BUILD)/obj/analysis/plot/page.o: $(wildcard analysis/plot/*.css analysis/plot/*.js)
$(BUILD)/obj/sweep/serve/page.o: $(wildcard sweep/serve/*.html sweep/serve/*.css sweep/serve/*.js)
$(BUILD)/obj/sweep/serve/server.o: CFLAGS_ALL += -DCORE_HAS_MICROHTTPD=$(HAS_MICROHTTPD)
$(BUILD)/obj/sweep/serve/server.o: $(BUILD)/microhttpd.stamp
$(BUILD)/microhttpd.stamp: FORCE
	@mkdir -p $(@D); echo '$(HAS_MICROHTTPD)' | cmp -s - $@ || echo '$(HAS_MICROHTTPD)' > $@
# The version is compiled into one file, recompiled when the commit or a feature changes.
VERSION_O := $(BUILD)/obj/core/version.o $(BUILD)/pic/core/version.o
VERSION_CFLAGS := -DCORE_VERSION='"$(VERSION)"' -DCORE_COMMIT='"$(COMMIT)"' -DCORE_DATE='"$(DATE)"' \
  -DCORE_FEATURES='"$(FEATURES_TEXT)"'
$(VERSION_O): CFLAGS_ALL += $(VERSION_CFLAGS)
$(VERSION_O): $(BUILD)/version.stamp
$(BUILD)/version.stamp: FORCE
	@mkdir -p $(@D); printf '%s\n' $(VERSION_CFLAGS) | cmp -s - $@ || printf '%s\n' $(VERSION_CFLAGS) > $@
FORCE:

include install.mk packaging/packaging.mk packaging/portable/portable.mk tests/tests.mk
-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

# ---- what people type, with install.mk, packaging/packaging.mk and tests/tests.mk ----------------
.PHONY: all FORCE deps deps-present mujoco procgen python docs info debug asan format lint \
  compile-commands clean help
deps:            ## install the libraries (Debian-like machines, as root or with sudo)
	@tests/tools/dependencies.sh install
deps-present:
	@tests/tools/dependencies.sh check
mujoco:          ## fetch MuJoCo and Gymnasium's models into build/mujoco, and build the trainer with them
	@tests/tools/mujoco.sh $(BUILD)/mujoco
	@$(MAKE) --no-print-directory MUJOCO_HOME=$(abspath $(BUILD))/mujoco $(BUILD)/bin/trainer
procgen:         ## fetch Procgen into build/procgen (x86-64)
	@tests/tools/dependencies.sh install procgen
	@tests/tools/procgen.sh $(BUILD)/procgen
python:          ## a Python with what the tests' environments need, in build/python; SWEEP_PYTHON=build/python/bin/python
	@tests/tools/python.sh $(BUILD)/python
docs: all $(BUILD)/tests/tools/papers_page ## rewrite docs/config.md, docs/papers.md, and with Graphviz docs/dataflow.svg
	$(BUILD)/bin/trainer config --markdown > docs/config.md
	$(BUILD)/tests/tools/papers_page > docs/papers.md
	if command -v neato >/dev/null; then neato -n -Tsvg docs/dataflow.dot -o docs/dataflow.svg; fi
info:            ## what was found on this machine
	@echo "sweep $(VERSION) commit $(COMMIT)"
	@echo "compiler   $$($(CC) --version | head -1)"
	@echo "processor  $(ARCH) $(BASELINE); $$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)"
	@echo "oneDNN     $(if $(call has,DNNL),yes,no: networks are many times slower on the CPU)"
	@echo "OpenBLAS   $(if $(call has,OPENBLAS),$(shell $(PKG) --modversion openblas 2>/dev/null),no)"
	@echo "SQLite     $(shell $(PKG) --modversion sqlite3 2>/dev/null || echo no)"
	@echo "jansson    $(shell $(PKG) --modversion jansson 2>/dev/null || echo no)"
	@echo "libsodium  $(shell $(PKG) --modversion libsodium 2>/dev/null || echo no)"
	@echo "zlib       $(shell $(PKG) --modversion zlib 2>/dev/null || echo no)"
	@echo "gnuplot    $$(gnuplot --version 2>/dev/null || echo "no: analyze draws nothing")"
	@echo "libgd      $(if $(call has,GD),$(shell $(PKG) --modversion gdlib),no: trainer show draws .svg only)"
	@echo "MPI        $(if $(call has,MPI),OpenMPI $(shell $(PKG) --modversion ompi-c),no: a run is one process)"
	@echo "libcurl    $(if $(call has,CURL),$(shell $(PKG) --modversion libcurl),no: no slurmrestd, webhooks or MLflow)"
	@echo "microhttpd $(if $(call has,MICROHTTPD),$(shell $(PKG) --modversion libmicrohttpd),no: no sweep serve)"
	@echo "CUDA       $(if $(NVCC),$$($(NVCC) --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p') in $(CUDA_HOME),$(\
	  )no: CPU only; CUDA_HOME=/path/to/cuda)"
	@echo "MuJoCo     $(if $(call has,MUJOCO),in $(MUJOCO_HOME),no: make mujoco)"
	@echo "NCCL       $(if $(call has,NCCL),yes,no)"
	@if [ -x $(BUILD)/bin/trainer ]; then $(BUILD)/bin/trainer info; fi
# A build of its own, which finds what was fetched into build/.
VARIANT = $(MAKE) --no-print-directory MUJOCO_HOME=$(MUJOCO_HOME) PROCGEN_HOME=$(PROCGEN_HOME) CUDA_HOME= all
debug:           ## build without optimization in build/debug, for gdb
	@+$(VARIANT) BUILD=$(BUILD)/debug OPTIMIZE=-Og CFLAGS=-fvar-tracking
asan:            ## build with AddressSanitizer and UndefinedBehaviorSanitizer in build/asan
	@+$(VARIANT) BUILD=$(BUILD)/asan OPTIMIZE=-O1 SANITIZE=-fsanitize=address,undefined
CLANG_TIDY ?= clang-tidy
# Lines only: clang-format 14 has no option that keeps tables and lists of names in rows, of which the tree has many.
BASE ?= HEAD
format:          ## apply .clang-format to the lines of C that differ from BASE=HEAD (git clang-format)
	@git clang-format --force --extensions c,h,cu $(BASE)
compile-commands: ## write compile_commands.json for clangd and clang-tidy
	@$(MAKE) --no-print-directory -nB BUILD=$(BUILD) CUDA_HOME=$(CUDA_HOME) all tests 2>/dev/null | \
	  tests/tools/compile_commands.sh > compile_commands.json
	@echo "wrote compile_commands.json: $$(grep -c '"file"' compile_commands.json) files"
lint: compile-commands ## run clang-tidy with the checks of .clang-tidy on all C files, or ONLY=folder; no finding is allowed
	@git ls-files '*.c' | grep -E '^$(or $(ONLY),(core|sim|store|trainer|slurm|sweep|analysis))/' | \
	  xargs -P $(shell nproc) -n 8 $(CLANG_TIDY) --quiet -p . 2>/dev/null
clean:           ## remove build/
	rm -rf $(BUILD)
help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(filter Makefile %.mk,$(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):[^#]*## ?/\1\t/' | \
	  column -t -s "$$(printf '\t')"
