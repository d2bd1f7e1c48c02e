# `make wheel` and `make portable`: programs for x86-64 systems with glibc 2.28 or later (RHEL 8, Debian 10), with every
# library inside, as a Python wheel and as a tarball. They have a build of their own, in PORTABLE. docs/install.md says
# what is inside, and what is found at run time.
PORTABLE ?= build-portable
PORTABLE_OUT = $(abspath $(PORTABLE))
# Nothing of this machine's libraries is used: the compiler and pkg-config are those of toolchain.sh. MuJoCo's headers
# are needed here; its library and Procgen's are found by MUJOCO_HOME and PROCGEN_HOME at run time.
PORTABLE_MAKE = NVCC_PREPEND_FLAGS="-ccbin $(PORTABLE_OUT)/bin/gcc" $(MAKE) \
  --no-print-directory BUILD=$(PORTABLE)/programs CC=$(PORTABLE_OUT)/bin/gcc PKG=$(PORTABLE_OUT)/bin/pkg-config \
  MUJOCO_HOME=$(PORTABLE_OUT)/mujoco MUJOCO_PLACE= PROCGEN_HOME= CUDA_HOME=$(CUDA_HOME) NCCL_HOME=$(NCCL_HOME)
PORTABLE_VERSION = $(shell packaging/portable/version.sh $(VERSION) '$(COMMIT)' $(DATE) $(word 3,$(RELEASED)))
PORTABLE_JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: wheel portable portable-tree
wheel: portable-tree ## build-portable/ppo_sweep-VERSION-py3-none-manylinux_2_28_x86_64.whl: pip install, no compiler, no root
	@packaging/portable/wheel.py $(PORTABLE) $(PORTABLE_VERSION) $(DATE)
portable: portable-tree ## the same tree as a tarball, build-portable/ppo-sweep-VERSION-x86_64.tar.gz
	@packaging/portable/tarball.sh $(PORTABLE) $(PORTABLE_VERSION) $(DATE)
portable-tree:
	@tests/tools/dependencies.sh install portable
	@packaging/portable/toolchain.sh $(PORTABLE)
	@packaging/portable/libraries.sh $(PORTABLE)
	@tests/tools/mujoco.sh $(PORTABLE)/mujoco
	@+$(PORTABLE_MAKE) $(PORTABLE_JOBS) all
	@rm -rf $(PORTABLE)/tree
	@+$(PORTABLE_MAKE) install DESTDIR=$(PORTABLE_OUT)/tree PREFIX= >/dev/null
	@packaging/portable/tree.sh $(PORTABLE)
