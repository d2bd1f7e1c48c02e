# How the tests are built: test programs, kernels as C for the emulator, a stand-in for the CUDA runtime, fuzz targets.
# A file tests/unit/test_*.c, tests/fuzz/fuzz_*.c or tests/*/test_*.sh is a test by its name; no list has it.
# Developers' instruments, for tests/tools/instruments.c and their own tests.
INSTRUMENTS := $(BUILD)/archive/libinstruments.a
INSTRUMENTS_O := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/instruments/*.c))
$(filter %_counted.o,$(INSTRUMENTS_O)): override SANITIZE := $(if $(COUNTS),$(COUNTED_FLAGS))
$(INSTRUMENTS): $(INSTRUMENTS_O)
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^
TESTED := $(INSTRUMENTS) $(call archives,sweep slurm analysis trainer sim store core)
LIBS_TESTS = $(LIBS_ALL) $(LIBS_TRAINER) $(LIBS_HTTP)
.PHONY: tests check check-long demo study bench fuzz kernels

# ---- test programs: one file each, linked with all of ours (static archives give only what it uses)
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c tests/golden/golden_*.c \
  tests/bench/bench_*.c tests/mpi/ranks_*.c tests/slurm/slurm_*.c tests/cli/cli_*.c tests/tools/*.c))
GOLDEN := $(addprefix $(BUILD)/tests/golden_,sim ppo stats mujoco procgen)
MUJOCO_TESTS := $(addprefix $(BUILD)/tests/,golden/golden_mujoco bench/bench_mujoco unit/test_hands unit/test_kuka)
$(MUJOCO_TESTS): CFLAGS_ALL += $(MUJOCO_CFLAGS)
$(MUJOCO_TESTS): $(BUILD)/mujoco.stamp
# What tests have of their own is little work at run time, and much for the compiler. At -O1 gcc sees too little for one
# of its warnings.
TESTS_OPTIMIZE := -O1 $(if $(findstring clang,$(CC)),,-Wno-maybe-uninitialized)
$(filter-out $(BUILD)/tests/bench/%,$(TESTS)): private OPTIMIZE := $(TESTS_OPTIMIZE)
$(BUILD)/tests/%: tests/%.c $(TESTED) | deps-present
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Itests -MMD -MP -MF $@.d -o $@ $< $(TESTED) $(LIBS_TESTS) -lcmocka
$(BUILD)/tests/golden_%: $(BUILD)/tests/golden/golden_%
	@cp $< $@
# The management library of a machine with GPUs, for tests/unit/test_run_load.c.
NVML := $(BUILD)/tests/unit/nvml/libnvidia-ml.so.1
$(BUILD)/tests/unit/test_run_load: | $(NVML)
$(NVML): tests/unit/nvml/nvml.c
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Wno-missing-prototypes -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
# The simulator's bits need libsim's objects and none of the rest (tests/long/test_compilers.sh).
$(BUILD)/bits/test_batch_bits: tests/unit/test_batch_bits.c $(LIBSIM_O)
	@mkdir -p $(@D); $(CC) $(CFLAGS_ALL) -Itests -o $@ $^ $(LIBS_ALL) -lcmocka
# The trainer that tests hold up: each call of that function goes to tests/fault/pace.c first.
PACED := $(BUILD)/tests/fault/paced_trainer
$(PACED): tests/fault/pace.c $(BUILD)/obj/trainer/main.o $(call archives,trainer sim store core)
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Wl,--wrap=store_runlog_iteration -o $@ $^ $(LIBS_ALL) $(LIBS_TRAINER)

# ---- PTX: what nvcc made of the kernels, as C for the emulator -----------------------------------
# tests/ptx/main.c translates. `cases` are small pieces of PTX with known results. The kernels' C is one file a part, for
# several compilers at a time.
PTX := $(BUILD)/tests/ptx
PTX_PARTS := 0 1 2 3
PTX_CFLAGS := -std=gnu17 -I. -Og -w $(BASELINE) -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno \
  -fno-strict-aliasing -fwrapv
PTX_TRANSLATE_O := $(patsubst %,$(BUILD)/obj/tests/ptx/%.o,main read operands instruction translate library)
PTX_MACHINE := tests/ptx/machine.h tests/ptx/instructions.def core/device/emulated_code.h
PTX_LIBRARIES := $(PTX)/cases.so $(if $(NVCC),$(PTX)/kernels.so)
# Not made anew for a new commit (version.o, in the archive), else all kernels' C would be.
$(PTX)/ptx_translate: $(PTX_TRANSLATE_O) $(filter-out %/core/version.o,$(call objects,core)) | $(call archives,core)
	@mkdir -p $(@D); echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $(PTX_TRANSLATE_O) $(call archives,core) $(LIBS_ALL)
$(PTX)/cases: $(BUILD)/obj/tests/ptx/cases.o $(call archives,core)
	@mkdir -p $(@D); echo "  link $@"; $(CC) $(CFLAGS_ALL) -o $@ $^ $(LIBS_ALL) $(LIBS_CUDA)
$(PTX)/cases.ptx: $(PTX)/cases
	@$< write $@
$(PTX)/cases.0.c: $(PTX)/cases.ptx $(PTX)/ptx_translate
	@$(PTX)/ptx_translate --parts 1 $(PTX)/cases $<
$(PTX)/kernels.0.c: $(KERNELS_O) $(PTX)/ptx_translate
	@echo "  ptx  $(PTX)/kernels"; $(PTX)/ptx_translate --parts $(words $(PTX_PARTS)) \
	  $(PTX)/kernels $(KERNELS_O:.o=.ptx)
$(patsubst %,$(PTX)/kernels.%.c,$(filter-out 0,$(PTX_PARTS))): $(PTX)/kernels.0.c ;
$(PTX)/%.o: $(PTX)/%.c $(PTX_MACHINE)
	@echo "  cc   $<"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -c -o $@ $<
$(addprefix $(PTX)/,machine.o races.o): $(PTX)/%.o: tests/ptx/%.c $(PTX_MACHINE)
	@mkdir -p $(@D); echo "  cc   $<"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -c -o $@ $<
$(PTX)/cases.so: $(PTX)/cases.0.o $(PTX)/machine.o $(PTX)/races.o
$(PTX)/kernels.so: $(patsubst %,$(PTX)/kernels.%.o,$(PTX_PARTS)) $(PTX)/machine.o $(PTX)/races.o
$(PTX)/%.so:
	@echo "  link $@"; $(CC) $(PTX_CFLAGS) $(SANITIZE) -shared -o $@ $^ -lm

# ---- programs as they run on a GPU, with a stand-in for the CUDA runtime (tests/runtime/runtime.h)
RUNTIME_FOLDER := $(BUILD)/tests/runtime
RUNTIME_CFLAGS = -isystem $(CUDA_HOME)/include
RUNTIME_O := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/runtime/*.c))
version_of = $(shell sed -n 's/.* $(1) \([0-9]*\).*/\1/p' $(2))
CUBLAS_MAJOR = $(call version_of,CUBLAS_VER_MAJOR,$(CUDA_HOME)/include/cublas_api.h)
RUNTIME_CUBLASLT := $(if $(NVCC),$(RUNTIME_FOLDER)/lib/libcublasLt.so.$(CUBLAS_MAJOR))
RUNTIME_NCCL := $(if $(and $(call has,NCCL),$(call has,MPI)),$(RUNTIME_FOLDER)/lib/libnccl.so.2)
RUNTIME_TESTS := $(if $(NVCC),$(addprefix $(RUNTIME_FOLDER)/,$(shell cat tests/gpu/programs.txt)))
RUNTIME_RANKS := $(if $(RUNTIME_NCCL),$(addprefix $(RUNTIME_FOLDER)/,ranks_queue ranks_devices))
RUNTIME := $(RUNTIME_TESTS) $(RUNTIME_RANKS) $(if $(NVCC),$(addprefix $(RUNTIME_FOLDER)/,trainer rules bench_device))
$(RUNTIME_CUBLASLT): tests/runtime/libraries/cublaslt.c | deps-present
$(RUNTIME_NCCL): tests/runtime/libraries/nccl.c | deps-present
$(RUNTIME_NCCL): RUNTIME_CFLAGS := $(if $(NCCL_HOME),-isystem $(NCCL_HOME)/include) $(RUNTIME_CFLAGS)
$(RUNTIME_CUBLASLT) $(RUNTIME_NCCL):
	@mkdir -p $(@D)
	@echo "  test $@"; $(CC) $(CFLAGS_ALL) $(RUNTIME_CFLAGS) -fPIC -fvisibility=hidden -shared -MMD -MP -MF $@.d -o $@ $<
$(RUNTIME_FOLDER)/%.o: tests/runtime/%.c | deps-present
	@mkdir -p $(@D)
	@echo "  cc   $<"; $(CC) $(CFLAGS_ALL) $(RUNTIME_CFLAGS) -MMD -MP -c -o $@ $<
$(RUNTIME_FOLDER)/trainer: $(BUILD)/obj/trainer/main.o
$(RUNTIME_FOLDER)/rules: tests/runtime/programs/rules.c
$(RUNTIME_FOLDER)/bench_device: tests/bench/bench_device.c
$(RUNTIME_TESTS): private OPTIMIZE := $(TESTS_OPTIMIZE)
$(RUNTIME_TESTS): $(RUNTIME_FOLDER)/%: tests/unit/%.c
$(RUNTIME_RANKS): $(RUNTIME_FOLDER)/%: tests/mpi/%.c
$(RUNTIME): $(RUNTIME_O) $(call archives,trainer sim store core)
	@mkdir -p $(@D)
	@echo "  test $@"; $(CC) $(CFLAGS_ALL) -Itests $(RUNTIME_CFLAGS) -rdynamic -o $@ $(filter %.c %.o,$^) \
	  $(filter %.a,$^) $(LIBS_ALL) $(filter-out %libcudart_static.a,$(LIBS_TRAINER)) $(if $(filter %.c,$^),-lcmocka)

# ---- fuzzing: a target runs once over files (replay.c, for `make check`), or for libFuzzer -------
# `make fuzz` builds all of ours again, with clang and sanitizers, in a folder of its own.
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(addprefix $(BUILD)/tests/fuzz/fuzz_,$(FUZZ))
FUZZED := $(call archives,sweep slurm trainer sim store core)
FUZZ_SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow
TARGET ?= level
SECONDS ?= 600
$(BUILD)/tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/file.c $(FUZZED) | deps-present
	@mkdir -p $(@D)
	@echo "  test $<"; $(CC) $(CFLAGS_ALL) -Itests -o $@ $(filter %.c,$^) $(FUZZED) $(LIBS_TESTS)
$(BUILD)/bin/libfuzzer_%: tests/fuzz/fuzz_%.c tests/fuzz/mutate_json.c tests/fuzz/file.c $(FUZZED)
	@mkdir -p $(@D)
	@echo "  fuzz $<"; $(CC) $(CFLAGS_ALL) -Itests -fsanitize=fuzzer -o $@ $< tests/fuzz/file.c \
	  $(if $(wildcard tests/fuzz/corpus/$*/*.json),tests/fuzz/mutate_json.c) $(FUZZED) $(LIBS_TESTS)

# ---- what people type ----------------------------------------------------------------------------
# These build with all processors, unless make was told how many jobs (-j) it may have; known in recipes only.
BUILD_ALL = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
FETCH_PROCGEN := tests/tools/procgen.sh $(BUILD)/procgen || echo "going on without Procgen" >&2
# Tests of environments in Python are skipped where these cannot be had.
MAKE_PYTHON := tests/tools/python.sh $(BUILD)/python || echo "going on without Python's environments" >&2
# Tests of MuJoCo's tasks are skipped where it cannot be had.
FETCH_MUJOCO := $(if $(and $(call has,MUJOCO),$(filter-out $(abspath $(BUILD))/mujoco,$(MUJOCO_HOME))),true,tests/tools/mujoco.sh $(BUILD)/mujoco || echo "going on without MuJoCo" >&2)
tests: $(KERNELS_O) lib bridge $(TESTS) $(GOLDEN) $(FUZZ_REPLAYS) $(PACED) $(PTX_LIBRARIES) $(RUNTIME) \
  $(RUNTIME_CUBLASLT) $(RUNTIME_NCCL) $(PROGRAMS)
# Unit tests that need what is fetched are skipped without it.
check:           ## all tests; the last line is "N passed, N failed, N skipped"
	@tests/tools/dependencies.sh install tests packaging procgen
	@$(if $(filter unit unit/%,$(ONLY)),,$(FETCH_MUJOCO))
	@$(if $(filter unit unit/%,$(ONLY)),,$(MAKE_PYTHON))
	@$(if $(filter unit unit/%,$(ONLY)),,$(FETCH_PROCGEN))
	@+$(BUILD_ALL) tests
	@tests/run.sh $(BUILD) $(ONLY)
check-long:      ## the tests of tests/long, minutes to hours (ONLY=part of a name)
	@tests/tools/dependencies.sh install tests procgen
	@$(FETCH_MUJOCO)
	@$(MAKE_PYTHON)
	@$(FETCH_PROCGEN)
	@+$(BUILD_ALL) tests
	@tests/run.sh $(BUILD) --long $(ONLY)
demo:            ## install, build, run the demo sweep, draw the figure (at most 10 minutes on 2 cores)
	@tests/tools/dependencies.sh install
	@+$(BUILD_ALL) all
	@tests/tools/demo.sh $(BUILD)
study:           ## run the study of docs/study.md in study/ (7 hours on 2 cores; goes on where it stopped) and draw it
	@tests/tools/dependencies.sh install
	@+$(BUILD_ALL) all
	@tests/tools/study.sh $(BUILD) study run
	@tests/tools/study.sh $(BUILD) study extend
	@tests/tools/study.sh $(BUILD) study draw
bench:           ## figures as CSV: part,case,metric,value,unit,threads,machine,commit  (ONLY=store|sweep|serve|search|slurm|sim|mujoco|environments|trainer|analysis|peers)
	@tests/tools/dependencies.sh install tests >&2
	@+$(BUILD_ALL) tests >&2
	@tests/bench/run.sh $(BUILD) $(ONLY)
fuzz:            ## libFuzzer on TARGET (level, ini, ...) for SECONDS=600, new inputs and findings in build/fuzz/TARGET; needs clang
	@printf 'int LLVMFuzzerTestOneInput(void);\nint LLVMFuzzerTestOneInput(void) { return 0; }\n' | \
	  clang -fsanitize=fuzzer,address -fopenmp -x c - -o /dev/null 2>/dev/null || \
	  { echo "make fuzz needs clang with libFuzzer and OpenMP: apt-get install clang libclang-rt-dev libomp-dev" >&2; \
	    exit 1; }
	@case " $(FUZZ) " in *" $(TARGET) "*) ;; *) echo "no target '$(TARGET)'; there are: $(FUZZ)" >&2; exit 2 ;; esac
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang OPTIMIZE=-O1 \
	  SANITIZE="-fsanitize=fuzzer-no-link $(FUZZ_SANITIZE)" $(BUILD)/fuzz/bin/libfuzzer_$(TARGET)
	@mkdir -p $(BUILD)/fuzz/$(TARGET)
	$(BUILD)/fuzz/bin/libfuzzer_$(TARGET) -max_total_time=$(SECONDS) -timeout=20 -max_len=65536 -print_final_stats=1 \
	  -artifact_prefix=$(BUILD)/fuzz/$(TARGET)- $(addprefix -dict=,$(wildcard tests/fuzz/$(TARGET).dict)) \
	  $(BUILD)/fuzz/$(TARGET) tests/fuzz/corpus/$(TARGET)
kernels:         ## what each GPU kernel takes, as the compiler says; needs nvcc, no GPU
	@NVCC=$(NVCC) tests/tools/kernels.sh
