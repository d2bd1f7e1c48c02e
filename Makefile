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
VERSION := 0.2.0
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo +)
DATE := $(shell git log -1 --format=%cs 2>/dev/null || date +%F)

# ---- what the machine has --------------------------------------------------------------------------------------
ARCH := $(shell uname -m)
BASELINE := $(if $(filter x86_64,$(ARCH)),-march=x86-64-v2)
HAS_DNNL := $(shell printf '\#include <oneapi/dnnl/dnnl.h>\n' | $(CC) -E -x c - >/dev/null 2>&1 && echo 1 || echo 0)
HAS_OPENBLAS := $(shell $(PKG) --exists openblas 2>/dev/null && echo 1 || echo 0)
HAS_GD := $(shell $(PKG) --exists gdlib 2>/dev/null && echo 1 || echo 0)
HAS_MPI := $(shell $(PKG) --exists ompi-c 2>/dev/null && echo 1 || echo 0)
HAS_CURL := $(shell $(PKG) --exists libcurl 2>/dev/null && echo 1 || echo 0)
# CUDA_HOME=/path/to/cuda, else the nvcc in PATH, else /usr/local/cuda; CUDA_HOME= (empty) builds without.
ifeq ($(origin CUDA_HOME),undefined)
CUDA_HOME := $(patsubst %/bin/nvcc,%,$(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc)))
endif
NVCC := $(if $(CUDA_HOME),$(wildcard $(CUDA_HOME)/bin/nvcc))
HAS_CUDA := $(if $(NVCC),1,0)
# NCCL_HOME=/path/to/nccl, else where CUDA or the system have it.
HAS_NCCL := $(if $(and $(NVCC),$(wildcard $(if $(NCCL_HOME),$(NCCL_HOME)/include/nccl.h) $(CUDA_HOME)/include/nccl.h /usr/include/nccl.h /usr/local/include/nccl.h)),1,0)
OPTIMISE ?= -O3
SANITIZE ?=
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror=implicit-function-declaration -Wpointer-arith -Wno-unused-parameter -Wno-unknown-pragmas
# No fused multiply-add and no fast-math anywhere: the same bits from every compiler and processor.
CFLAGS_ALL = -std=c17 -D_GNU_SOURCE -I. $(OPTIMISE) -g $(BASELINE) -ffp-contract=off -fopenmp -fno-math-errno $(WARN) \
  -include core/banned.h -DCORE_HAS_DNNL=$(HAS_DNNL) -DCORE_HAS_OPENBLAS=$(HAS_OPENBLAS) -DCORE_HAS_GD=$(HAS_GD) -DCORE_HAS_MPI=$(HAS_MPI) -DCORE_HAS_CURL=$(HAS_CURL) -DCORE_HAS_CUDA=$(HAS_CUDA) -DCORE_HAS_NCCL=$(HAS_NCCL) $(SANITIZE) \
  $(shell $(PKG) --cflags jansson libsodium sqlite3 2>/dev/null) $(CFLAGS)
LIBS_ALL = $(SANITIZE) -fopenmp $(shell $(PKG) --libs jansson libsodium sqlite3 2>/dev/null) -lm -lpthread -ldl
LIBS_TRAINER = $(if $(filter 1,$(HAS_DNNL)),-ldnnl) $(if $(filter 1,$(HAS_OPENBLAS)),$(shell $(PKG) --libs openblas)) \
  $(if $(filter 1,$(HAS_GD)),$(shell $(PKG) --libs gdlib)) $(if $(filter 1,$(HAS_MPI)),$(shell $(PKG) --libs ompi-c)) $(LIBS_CUDA)
# The CUDA runtime is linked statically and finds the driver when it is first used; cuBLASLt and NCCL are opened when they
# are first needed (trainer/ops/device/cuda_library.c): a program built with CUDA starts on machines that have none of the three.
LIBS_CUDA := $(if $(NVCC),$(firstword $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a $(CUDA_HOME)/lib/libcudart_static.a)) -ldl -lrt -lstdc++)
CUDA_TARGETS ?= -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]
# The lowest compute capability of them, 80 for 8.0.
CUDA_LEAST := $(shell printf '%s\n' '$(CUDA_TARGETS)' | grep -o 'compute_[0-9]*' | tr -dc '0-9\n' | sort -n | head -n 1)
NVCCFLAGS = -std=c++17 -I. -O3 --fmad=false $(CUDA_TARGETS) -Xcompiler -ffp-contract=off,-w

LIBS_HTTP = $(if $(filter 1,$(HAS_CURL)),-ldl) # core/http.c loads libcurl when it is needed

# ---- sources ---------------------------------------------------------------------------------------------------
FOLDERS := core sim store trainer slurm sweep analysis
sources = $(sort $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c))
object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
CORE_O := $(call object,$(call sources,core))
SIM_O := $(call object,$(call sources,sim))
STORE_O := $(call object,$(call sources,store))
TRAINER_O := $(call object,$(filter-out trainer/main.c,$(call sources,trainer)))
SLURM_O := $(call object,$(call sources,slurm))
ifneq ($(NVCC),)
kernels = $(patsubst %.cu,$(BUILD)/obj/%.o,$(wildcard $(1)/*/*.cu $(1)/*/*/*.cu))
KERNELS_O := $(call kernels,sim) $(call kernels,trainer)
SIM_O += $(call kernels,sim)
TRAINER_O += $(call kernels,trainer)
endif
SWEEP_O := $(call object,$(filter-out sweep/main.c,$(call sources,sweep)))
ANALYSIS_O := $(call object,$(filter-out analysis/main.c,$(call sources,analysis)))
PROGRAMS := $(BUILD)/bin/sweep $(BUILD)/bin/trainer $(BUILD)/bin/analyze
EXPERIMENTS := $(sort $(wildcard experiments/*.ini experiments/*/*.ini)) # a file a figure
# Files that are installed as they are, source:target, one rule for all (see install).
DOCUMENTS := README.md CHANGELOG.md LICENSE $(sort $(shell find docs -type f))
INSTALLED := $(foreach f,$(EXPERIMENTS),$(f):share/sweep/$(f)) \
  $(foreach f,$(sort $(wildcard slurm/sites/*.ini)),$(f):share/sweep/sites/$(notdir $(f))) \
  $(foreach f,$(DOCUMENTS),$(f):share/doc/sweep/$(f))
# Man pages and completions, which the programs make of their own tables.
MADE := share/man/man1 share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d
# A test program is one file; it links all of ours (static archives give only what it uses).
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c tests/golden/golden_*.c tests/bench/bench_*.c \
  tests/mpi/ranks_*.c tests/slurm/slurm_*.c tests/cli/cli_*.c))
GOLDEN := $(BUILD)/tests/golden_sim $(BUILD)/tests/golden_ppo $(BUILD)/tests/golden_stats

all: deps-present $(KERNELS_O) $(PROGRAMS) lib $(BUILD)/lib/sweep/sweep_rows.so $(BUILD)/share/made.stamp # kernels first: they take a minute each, and all programs wait for them

$(BUILD)/archive/libcore.a: $(CORE_O)
$(BUILD)/archive/libsim.a: $(SIM_O)
$(BUILD)/archive/libstore.a: $(STORE_O)
$(BUILD)/archive/libtrainer.a: $(TRAINER_O)
$(BUILD)/archive/libslurm.a: $(SLURM_O)
$(BUILD)/archive/libsweep.a: $(SWEEP_O)
$(BUILD)/archive/libanalysis.a: $(ANALYSIS_O)
$(BUILD)/archive/lib%.a:
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^

lib = $(patsubst %,$(BUILD)/archive/lib%.a,$(1))
$(BUILD)/bin/sweep: $(BUILD)/obj/sweep/main.o $(call lib,sweep slurm store core)
$(BUILD)/bin/trainer: $(BUILD)/obj/trainer/main.o $(call lib,trainer sim store core)
$(BUILD)/bin/analyze: $(BUILD)/obj/analysis/main.o $(call lib,analysis store core)
$(BUILD)/bin/trainer: LIBS_ALL += $(LIBS_TRAINER)
$(BUILD)/bin/sweep $(BUILD)/bin/analyze: LIBS_ALL += $(LIBS_HTTP)
$(PROGRAMS):
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL)

$(BUILD)/obj/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  cc   $<"; $(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The GPU's side: the same headers, without contraction and without fast-math. `make kernels` shows what each one takes. What
# the compiler made of them (.ptx) and said of them (.ptxas) is kept for tests/tools/test_kernels.sh.
$(BUILD)/obj/%.o: %.cu $(BUILD)/nvcc.stamp | deps-present
	@rm -rf $@.keep; mkdir -p $@.keep
	@echo "  nvcc $<"; $(NVCC) $(NVCCFLAGS) -Xptxas -v --keep --keep-dir $@.keep -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@ $< 2>$(@:.o=.ptxas) || \
	  { cat $(@:.o=.ptxas) >&2; exit 1; }
	@cat $@.keep/*.ptx >$(@:.o=.ptx); rm -rf $@.keep
# How they are compiled: other flags make them anew, another line of this file does not. A stamp that was not there is older than
# what was compiled before.
$(BUILD)/nvcc.stamp: FORCE
	@mkdir -p $(@D); [ -e $@ ] || { echo '$(NVCC) $(NVCCFLAGS)' > $@; touch -d 2000-01-01 $@; }; \
	  echo '$(NVCC) $(NVCCFLAGS)' | cmp -s - $@ || echo '$(NVCC) $(NVCCFLAGS)' > $@
$(BUILD)/obj/core/device/device_cuda.o: CFLAGS_ALL += $(if $(CUDA_LEAST),-DCORE_CUDA_LEAST=$(CUDA_LEAST))
$(BUILD)/obj/core/device/device_cuda.o $(BUILD)/obj/trainer/ops/device/cuda_library.o $(BUILD)/obj/trainer/ranks/nccl.o: CFLAGS_ALL += $(if $(NCCL_HOME),-isystem $(NCCL_HOME)/include) $(if $(NVCC),-isystem $(CUDA_HOME)/include)

$(BUILD)/obj/sim/draw/draw_image.o: CFLAGS_ALL += $(if $(filter 1,$(HAS_GD)),$(shell $(PKG) --cflags gdlib))
$(BUILD)/obj/analysis/report/report.o: analysis/report/report_page.html
$(BUILD)/obj/trainer/ranks/ranks.o: CFLAGS_ALL += $(if $(filter 1,$(HAS_MPI)),$(shell $(PKG) --cflags ompi-c))

# The vector kernels of the simulator, a file for each kind of processor; sim/simd/block.c asks the machine before it calls them.
ifeq ($(ARCH),x86_64)
$(BUILD)/obj/sim/simd/lanes_avx2.o $(BUILD)/pic/sim/simd/lanes_avx2.o: BASELINE := -march=x86-64-v3
$(BUILD)/obj/sim/simd/lanes_avx2x2.o $(BUILD)/pic/sim/simd/lanes_avx2x2.o: BASELINE := -march=x86-64-v3 -Wno-psabi
$(BUILD)/obj/sim/simd/lanes_avx512.o $(BUILD)/pic/sim/simd/lanes_avx512.o: BASELINE := -march=x86-64-v4
endif

# libsim for other people's programs: sim/ without libgd, and what it needs of core/. Only what sim/library/sim.h declares can be
# seen from outside, of the archive too, which therefore is one object whose other symbols are local.
SIM_ABI := 1
PIC_O := $(patsubst %.c,$(BUILD)/pic/%.o,$(filter-out sim/draw/draw_image.c,$(call sources,sim)) \
  $(patsubst %,core/%.c,device/arena device/device device/device_emulated device/emulated_code device/emulated_memory device/emulated_threads error files \
  files_guard memory text version))
lib: $(BUILD)/lib/libsim.a $(BUILD)/lib/libsim.so   ## build/lib/libsim.a and libsim.so.1: the simulator alone (docs/libsim.md)
$(BUILD)/pic/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  pic  $<"; $(CC) $(subst -DCORE_HAS_CUDA=1,-DCORE_HAS_CUDA=0,$(CFLAGS_ALL)) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(BUILD)/lib/libsim.so.$(SIM_ABI): $(PIC_O)
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(CFLAGS_ALL) -shared -Wl,-soname,$(@F) $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^ \
	  $(shell $(PKG) --libs jansson) -lm
$(BUILD)/lib/libsim.so: $(BUILD)/lib/libsim.so.$(SIM_ABI)
	@ln -sf $(<F) $@
$(BUILD)/lib/libsim.a: $(PIC_O)
	@mkdir -p $(@D); rm -f $@
	@echo "  link $@"; ld -r -o $(BUILD)/pic/libsim.o $^ && objcopy --localize-hidden $(BUILD)/pic/libsim.o && ar rcs $@ $(BUILD)/pic/libsim.o
install-lib: lib ## libsim, its header and sim.pc: PREFIX=/usr/local, DESTDIR
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/sim
	install -m 755 $(BUILD)/lib/libsim.so.$(SIM_ABI) $(DESTDIR)$(PREFIX)/lib
	ln -sf libsim.so.$(SIM_ABI) $(DESTDIR)$(PREFIX)/lib/libsim.so
	install -m 644 $(BUILD)/lib/libsim.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 sim/library/sim.h $(DESTDIR)$(PREFIX)/include/sim
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' sim/library/sim.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/sim.pc

# The rows of results.db for other programs, as a loadable extension of SQLite (store/database/extension.c, docs/results.md): the
# virtual table of our own programs, compiled to call the SQLite that loads it. It needs no library but C's.
ROWS := $(BUILD)/lib/sweep/sweep_rows.so
$(BUILD)/extension/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  pic  $<"; $(CC) $(CFLAGS_ALL) -DSTORE_AS_EXTENSION -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<
$(ROWS): $(patsubst %,$(BUILD)/extension/store/%.o,database/extension database/rows database/pack runlog/number) $(patsubst %,$(BUILD)/pic/core/%.o,error memory text)
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(filter-out -fopenmp,$(CFLAGS_ALL)) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^ -lm
$(BUILD)/tests/unit/test_extension: | $(ROWS)
install-rows: $(ROWS) ## sweep_rows.so into lib/sweep: PREFIX=/usr/local, DESTDIR
	install -d $(DESTDIR)$(PREFIX)/lib/sweep
	install -m 755 $(ROWS) $(DESTDIR)$(PREFIX)/lib/sweep

# The version is compiled into one file, rebuilt when the commit changes.
$(BUILD)/obj/core/version.o $(BUILD)/pic/core/version.o: CFLAGS_ALL += -DCORE_VERSION='"$(VERSION)"' -DCORE_COMMIT='"$(COMMIT)"' -DCORE_DATE='"$(DATE)"'
$(BUILD)/obj/core/version.o $(BUILD)/pic/core/version.o: $(BUILD)/commit.stamp
$(BUILD)/commit.stamp: FORCE
	@mkdir -p $(@D); echo '$(COMMIT)' | cmp -s - $@ || echo '$(COMMIT)' > $@
FORCE:
.PHONY: all FORCE kernels check check-long demo bench fuzz install uninstall install-lib install-rows lib clean help info deps deps-present docs tests

$(BUILD)/tests/%: tests/%.c $(call lib,sweep slurm analysis trainer sim store core) | deps-present
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Itests -MMD -MP -MF $@.d -o $@ $< \
	  $(call lib,sweep slurm analysis trainer sim store core) $(LIBS_ALL) $(LIBS_TRAINER) $(LIBS_HTTP) -lcmocka
# The simulator's bits need none of the rest (tests/tools/test_compilers.sh).
$(BUILD)/bits/test_batch_bits: tests/unit/test_batch_bits.c $(call lib,sim core)
	@mkdir -p $(@D); $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL) $(LIBS_TRAINER) -lcmocka
$(BUILD)/tests/golden_%: $(BUILD)/tests/golden/golden_%
	@cp $< $@

# The trainer that tests hold up: each call of that function goes to tests/fault/pace.c first.
PACED := $(BUILD)/tests/fault/paced_trainer
$(PACED): tests/fault/pace.c $(BUILD)/obj/trainer/main.o $(call lib,trainer sim store core)
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Wl,--wrap=store_runlog_iteration -o $@ $^ $(LIBS_ALL) $(LIBS_TRAINER)

# What nvcc made of the kernels (PTX) as C, compiled for the emulator (tests/ptx, CORE_DEVICE_CODE), and small pieces of PTX with known
# results. The kernels' C is one file a part, so that several compilers run.
PTX := $(BUILD)/tests/ptx
PTX_PARTS := 0 1 2 3
PTX_WITHOUT := ops_tile_gradient # tensor cores, whose bits PTX leaves open
PTX_CFLAGS := -std=gnu17 -I. -O1 -w $(BASELINE) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-strict-aliasing -fwrapv
PTX_LIBRARIES := $(PTX)/cases.so $(if $(NVCC),$(PTX)/kernels.so)
$(PTX)/ptx_translate: $(patsubst %,$(BUILD)/obj/tests/ptx/%.o,main read operands instruction translate library) $(call lib,core)
	@mkdir -p $(@D); echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL)
$(PTX)/cases: $(BUILD)/obj/tests/ptx/cases.o $(call lib,core)
	@mkdir -p $(@D); echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL) $(LIBS_CUDA)
$(PTX)/cases.ptx: $(PTX)/cases
	@$< write $@
$(PTX)/cases.0.c: $(PTX)/cases.ptx $(PTX)/ptx_translate
	@$(PTX)/ptx_translate --parts 1 $(PTX)/cases $<
$(PTX)/kernels.0.c: $(KERNELS_O) $(PTX)/ptx_translate
	@echo "  ptx  $(PTX)/kernels"; $(PTX)/ptx_translate --without $(PTX_WITHOUT) --parts $(words $(PTX_PARTS)) $(PTX)/kernels $(KERNELS_O:.o=.ptx)
$(patsubst %,$(PTX)/kernels.%.c,$(filter-out 0,$(PTX_PARTS))): $(PTX)/kernels.0.c ;
$(PTX)/%.o: $(PTX)/%.c tests/ptx/machine.h tests/ptx/instructions.def core/device/emulated_code.h
	@echo "  cc   $<"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -c -o $@ $<
$(PTX)/machine.o: tests/ptx/machine.c tests/ptx/machine.h tests/ptx/instructions.def core/device/emulated_code.h
	@mkdir -p $(@D); echo "  cc   $<"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -c -o $@ $<
$(PTX)/cases.so: $(PTX)/cases.0.o $(PTX)/machine.o
$(PTX)/kernels.so: $(patsubst %,$(PTX)/kernels.%.o,$(PTX_PARTS)) $(PTX)/machine.o
$(PTX)/%.so:
	@echo "  link $@"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -shared -o $@ $^ -lm

# Programs as they run on a GPU, but for the CUDA runtime, in whose place is a stand-in (tests/runtime/runtime.h).
RUNTIME_O := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/runtime/*.c))
version_of = $(shell sed -n 's/.* $(1) \([0-9]*\).*/\1/p' $(2))
RUNTIME_CUBLASLT := $(if $(NVCC),$(BUILD)/tests/runtime/lib/libcublasLt.so.$(call version_of,CUBLAS_VER_MAJOR,$(CUDA_HOME)/include/cublas_api.h))
RUNTIME_NCCL := $(if $(filter 11,$(HAS_NCCL)$(HAS_MPI)),$(BUILD)/tests/runtime/lib/libnccl.so.2)
RUNTIME_TESTS := $(if $(NVCC),$(patsubst %,$(BUILD)/tests/runtime/%,$(shell cat tests/gpu/programs.txt)))
RUNTIME_RANKS := $(if $(RUNTIME_NCCL),$(BUILD)/tests/runtime/ranks_queue $(BUILD)/tests/runtime/ranks_devices)
RUNTIME := $(RUNTIME_TESTS) $(RUNTIME_RANKS) $(if $(NVCC),$(BUILD)/tests/runtime/trainer $(BUILD)/tests/runtime/rules)
$(RUNTIME_CUBLASLT): tests/runtime/libraries/cublaslt.c | deps-present
	@mkdir -p $(@D)
	@echo "  test $@"; $(CC) $(CFLAGS_ALL) -isystem $(CUDA_HOME)/include -fPIC -fvisibility=hidden -shared -MMD -MP -MF $@.d -o $@ $<
$(RUNTIME_NCCL): tests/runtime/libraries/nccl.c | deps-present
	@mkdir -p $(@D)
	@echo "  test $@"; $(CC) $(CFLAGS_ALL) $(if $(NCCL_HOME),-isystem $(NCCL_HOME)/include) -isystem $(CUDA_HOME)/include \
	  -fPIC -fvisibility=hidden -shared -MMD -MP -MF $@.d -o $@ $<
$(BUILD)/tests/runtime/%.o: tests/runtime/%.c | deps-present
	@mkdir -p $(@D)
	@echo "  cc   $<"; $(CC) $(CFLAGS_ALL) -isystem $(CUDA_HOME)/include -MMD -MP -c -o $@ $<
$(BUILD)/tests/runtime/trainer: $(BUILD)/obj/trainer/main.o
$(BUILD)/tests/runtime/rules: tests/runtime/programs/rules.c
$(RUNTIME_TESTS): $(BUILD)/tests/runtime/%: tests/unit/%.c
$(RUNTIME_RANKS): $(BUILD)/tests/runtime/%: tests/mpi/%.c
$(RUNTIME): $(RUNTIME_O) $(call lib,trainer sim store core)
	@mkdir -p $(@D)
	@echo "  test $@"; $(CC) $(CFLAGS_ALL) -Itests -isystem $(CUDA_HOME)/include -rdynamic -o $@ $(filter %.c %.o,$^) $(call lib,trainer sim store core) \
	  $(LIBS_ALL) $(filter-out %libcudart_static.a,$(LIBS_TRAINER)) $(if $(filter %.c,$^),-lcmocka)

# A fuzz target runs once over files (replay.c, for `make check`), or for libFuzzer (`make fuzz`, which builds all of ours
# again with clang and sanitizers, in a folder of its own).
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(patsubst %,$(BUILD)/tests/fuzz/fuzz_%,$(FUZZ))
FUZZ_SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow
TARGET ?= level
SECONDS ?= 600
$(BUILD)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/file.c $(call lib,sweep slurm trainer sim store core) | deps-present
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Itests -o $@ $(filter %.c,$^) $(filter %.a,$^) $(LIBS_ALL) $(LIBS_TRAINER) $(LIBS_HTTP)
$(BUILD)/bin/libfuzzer_%: tests/fuzz/fuzz_%.c tests/fuzz/mutate_json.c tests/fuzz/file.c $(call lib,sweep slurm trainer sim store core)
	@mkdir -p $(@D)
	@echo "  fuzz $<"; $(CC) $(CFLAGS_ALL) -Itests -fsanitize=fuzzer -o $@ $< tests/fuzz/file.c \
	  $(if $(wildcard tests/fuzz/corpus/$*/*.json),tests/fuzz/mutate_json.c) $(filter %.a,$^) $(LIBS_ALL) $(LIBS_TRAINER) $(LIBS_HTTP)

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

# ---- what people type ------------------------------------------------------------------------------------------
# These build with all processors, unless make was told how many jobs (-j) it may have; known in recipes only.
BUILD_ALL = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
deps:            ## install the libraries (Debian-like machines, as root or with sudo)
	@tests/tools/dependencies.sh install
deps-present:
	@tests/tools/dependencies.sh check
tests: $(KERNELS_O) lib $(ROWS) $(TESTS) $(GOLDEN) $(FUZZ_REPLAYS) $(PACED) $(PTX_LIBRARIES) $(RUNTIME) $(RUNTIME_CUBLASLT) $(RUNTIME_NCCL) $(PROGRAMS)
check:           ## all tests; the last line is "N passed, N failed, N skipped"
	@tests/tools/dependencies.sh install
	@+$(BUILD_ALL) tests
	@tests/run.sh $(BUILD) $(ONLY)
check-long:      ## the tests of tests/long, minutes to hours (ONLY=part of a name)
	@tests/tools/dependencies.sh install
	@+$(BUILD_ALL) tests
	@tests/run.sh $(BUILD) --long $(ONLY)
demo:            ## install, build, run the demo sweep, draw the figure (at most 10 minutes on 2 cores)
	@tests/tools/dependencies.sh install
	@+$(BUILD_ALL) all
	@tests/tools/demo.sh $(BUILD)
bench:           ## figures as CSV: part,case,metric,value,unit,threads,machine,commit  (ONLY=store|sweep|slurm|sim|trainer|analysis|peers)
	@tests/tools/dependencies.sh install >&2
	@+$(BUILD_ALL) tests >&2
	@tests/bench/run.sh $(BUILD) $(ONLY)
fuzz:            ## libFuzzer on TARGET (level, ini, ...) for SECONDS=600, new inputs and findings in build/fuzz/TARGET; needs clang
	@printf 'int LLVMFuzzerTestOneInput(void);\nint LLVMFuzzerTestOneInput(void) { return 0; }\n' | \
	  clang -fsanitize=fuzzer,address -fopenmp -x c - -o /dev/null 2>/dev/null || \
	  { echo "make fuzz needs clang with libFuzzer and OpenMP: apt-get install clang libclang-rt-dev libomp-dev" >&2; exit 1; }
	@case " $(FUZZ) " in *" $(TARGET) "*) ;; *) echo "no target '$(TARGET)'; there are: $(FUZZ)" >&2; exit 2 ;; esac
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang OPTIMISE=-O1 SANITIZE="-fsanitize=fuzzer-no-link $(FUZZ_SANITIZE)" \
	  $(BUILD)/fuzz/bin/libfuzzer_$(TARGET)
	@mkdir -p $(BUILD)/fuzz/$(TARGET)
	$(BUILD)/fuzz/bin/libfuzzer_$(TARGET) -max_total_time=$(SECONDS) -timeout=20 -max_len=65536 -print_final_stats=1 \
	  -artifact_prefix=$(BUILD)/fuzz/$(TARGET)- $(addprefix -dict=,$(wildcard tests/fuzz/$(TARGET).dict)) $(BUILD)/fuzz/$(TARGET) tests/fuzz/corpus/$(TARGET)
kernels:         ## what each GPU kernel takes, as the compiler says; needs nvcc, no GPU
	@NVCC=$(NVCC) tests/tools/kernels.sh
$(BUILD)/share/made.stamp: $(PROGRAMS)
	@rm -rf $(BUILD)/share; mkdir -p $(addprefix $(BUILD)/,$(MADE))
	@for program in $(PROGRAMS); do name=$${program##*/}; $$program --man $(BUILD)/share/man/man1 && \
	  $$program --completion bash > $(BUILD)/share/bash-completion/completions/$$name && \
	  $$program --completion zsh > $(BUILD)/share/zsh/site-functions/_$$name && \
	  $$program --completion fish > $(BUILD)/share/fish/vendor_completions.d/$$name.fish || exit 1; done
	@touch $@
install: all install-lib install-rows ## programs, manual pages, completions, experiments, sites, docs: PREFIX=/usr/local, DESTDIR
	install -d $(DESTDIR)$(PREFIX)/bin $(addprefix $(DESTDIR)$(PREFIX)/,$(MADE))
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	@for folder in $(MADE); do install -m 644 $(BUILD)/$$folder/* $(DESTDIR)$(PREFIX)/$$folder || exit 1; done
	@for file in $(INSTALLED); do install -D -m 644 $${file%%:*} $(DESTDIR)$(PREFIX)/$${file#*:} || exit 1; done
uninstall: $(BUILD)/share/made.stamp ## removes what install puts there, and folders that are empty then: PREFIX, DESTDIR
	@cd $(BUILD) && for file in $(patsubst $(BUILD)/%,%,$(PROGRAMS)) $$(find $(MADE) -type f) $(foreach f,$(INSTALLED),$(lastword $(subst :, ,$(f)))) \
	  lib/libsim.so lib/libsim.so.$(SIM_ABI) lib/libsim.a lib/pkgconfig/sim.pc include/sim/sim.h lib/sweep/sweep_rows.so; do rm -f "$(DESTDIR)$(PREFIX)/$$file"; done
	@for folder in share/sweep share/doc/sweep include/sim lib/sweep; do \
	  [ ! -d "$(DESTDIR)$(PREFIX)/$$folder" ] || find "$(DESTDIR)$(PREFIX)/$$folder" -depth -type d -empty -delete; done
docs: all        ## rewrite docs/config.md from core/config/config.def
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
	@echo "MPI        $(if $(filter 1,$(HAS_MPI)),OpenMPI $(shell $(PKG) --modversion ompi-c),no: a run is one process)"
	@echo "libcurl    $(if $(filter 1,$(HAS_CURL)),$(shell $(PKG) --modversion libcurl),no: no slurmrestd, webhooks or MLflow)"
	@echo "CUDA       $(if $(NVCC),$$($(NVCC) --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p') in $(CUDA_HOME),no: CPU only; CUDA_HOME=/path/to/cuda)"
	@echo "NCCL       $(if $(filter 1,$(HAS_NCCL)),yes,no)"
	@if [ -x $(BUILD)/bin/trainer ]; then $(BUILD)/bin/trainer info; fi
clean:           ## remove build/
	rm -rf $(BUILD)
help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):[^#]*## ?/\1\t/' | column -t -s "$$(printf '\t')"
