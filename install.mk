# libsim for other people's programs; manual pages and completions; install and uninstall.
PREFIX ?= /usr/local
SIM_ABI := 1
LIBSIM := $(BUILD)/lib/libsim.so.$(SIM_ABI)
EXPERIMENTS := $(sort $(wildcard experiments/*.ini experiments/*/*.ini)) # a file a figure
DOCUMENTS := README.md CHANGELOG.md LICENSE $(sort $(shell find docs -type f))
# Files that are installed as they are, as source:target.
INSTALLED := $(foreach f,$(EXPERIMENTS),$(f):share/sweep/$(f)) \
  $(foreach f,$(sort $(wildcard slurm/sites/*.ini)),$(f):share/sweep/sites/$(notdir $(f))) \
  $(foreach f,$(sort $(wildcard trainer/envs/models/*.xml)),$(f):share/sweep/models/$(notdir $(f))) \
  $(foreach f,$(DOCUMENTS),$(f):share/doc/sweep/$(f))
# Folders of manual pages and completions, which the programs make of their own tables.
MADE := share/man/man1 share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d
TARGET_FOLDER = $(DESTDIR)$(PREFIX)
# make splits paths at blanks, and half an installation would lie elsewhere.
ifneq ($(filter install% uninstall,$(MAKECMDGOALS)),)
ifneq ($(words x$(PREFIX)) $(words x$(DESTDIR)),1 1)
$(error PREFIX and DESTDIR cannot hold blanks: '$(DESTDIR)' '$(PREFIX)'; install to a folder without)
endif
endif
.PHONY: lib bridge install-lib install-bridge install uninstall

# libsim: sim/ without libgd, and what it needs of core/. Outside programs see the names of sim/library/sim.h only.
# The archive is therefore one object, whose other symbols are local.
LIBSIM_O := $(patsubst %.c,$(BUILD)/pic/%.o,$(filter-out sim/draw/draw_image.c sim/device/kernels_counted.c,$(call sources,sim,c)) \
  $(patsubst %,core/%.c,device/access_counts device/arena device/device device/device_emulated device/emulated_code device/emulated_memory \
  device/emulated_threads error files files_guard memory text unicode version))
lib: $(BUILD)/lib/libsim.a $(BUILD)/lib/libsim.so   ## build/lib/libsim.a and libsim.so.1: the simulator alone (docs/libsim.md)
$(BUILD)/pic/%.o: %.c | deps-present
	@mkdir -p $(@D)
	@echo "  pic  $<"; $(CC) $(subst -DCORE_HAS_CUDA=1,-DCORE_HAS_CUDA=0,$(CFLAGS_ALL)) -fPIC -fvisibility=hidden \
	  -MMD -MP -c -o $@ $<
$(LIBSIM): $(LIBSIM_O)
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(CFLAGS_ALL) -shared -Wl,-soname,$(@F) $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^ \
	  $(shell $(PKG) --libs jansson) -lm -lpthread -ldl
$(BUILD)/lib/libsim.so: $(LIBSIM)
	@ln -sf $(<F) $@
$(BUILD)/lib/libsim.a: $(LIBSIM_O)
	@mkdir -p $(@D); rm -f $@
	@echo "  link $@"; ld -r -o $(BUILD)/pic/libsim.o $^ && objcopy --localize-hidden $(BUILD)/pic/libsim.o && \
	  ar rcs $@ $(BUILD)/pic/libsim.o

# Workers that run environments of Python for the trainer (trainer/envs/bridge), and Python that sweep starts.
BRIDGE := $(addprefix $(BUILD)/lib/sweep/,bridge_side.so worker.py find_code.py find_program.py ask_optuna.py)
bridge: $(BRIDGE)
$(BUILD)/lib/sweep/bridge_side.so: $(patsubst %,$(BUILD)/pic/trainer/envs/bridge/%.o,bridge_side bridge)
	@mkdir -p $(@D)
	@echo "  link $@"; $(CC) $(filter-out -fopenmp,$(CFLAGS_ALL)) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $^
$(BUILD)/lib/sweep/worker.py: trainer/envs/bridge/worker.py
	@mkdir -p $(@D); cp $< $@
$(BUILD)/lib/sweep/find_%.py: store/code/find_%.py
	@mkdir -p $(@D); cp $< $@
$(BUILD)/lib/sweep/ask_optuna.py: sweep/search/ask_optuna.py
	@mkdir -p $(@D); cp $< $@

$(BUILD)/share/made.stamp: $(PROGRAMS)
	@rm -rf $(BUILD)/share; mkdir -p $(addprefix $(BUILD)/,$(MADE))
	@for program in $(PROGRAMS); do name=$${program##*/}; $$program --man $(BUILD)/share/man/man1 && \
	  $$program --completion bash > $(BUILD)/share/bash-completion/completions/$$name && \
	  $$program --completion zsh > $(BUILD)/share/zsh/site-functions/_$$name && \
	  $$program --completion fish > $(BUILD)/share/fish/vendor_completions.d/$$name.fish || exit 1; done
	@touch $@

install-lib: lib ## libsim, its header and sim.pc: PREFIX=/usr/local, DESTDIR
	install -d $(TARGET_FOLDER)/lib/pkgconfig $(TARGET_FOLDER)/include/sim
	install -m 755 $(LIBSIM) $(TARGET_FOLDER)/lib
	ln -sf $(notdir $(LIBSIM)) $(TARGET_FOLDER)/lib/libsim.so
	install -m 644 $(BUILD)/lib/libsim.a $(TARGET_FOLDER)/lib
	install -m 644 sim/library/sim.h $(TARGET_FOLDER)/include/sim
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' sim/library/sim.pc.in > $(TARGET_FOLDER)/lib/pkgconfig/sim.pc
install-bridge: bridge ## workers for environments in Python, and the header for those in C: PREFIX, DESTDIR
	install -d $(TARGET_FOLDER)/lib/sweep
	install -m 755 $(BUILD)/lib/sweep/bridge_side.so $(TARGET_FOLDER)/lib/sweep
	install -m 644 $(BUILD)/lib/sweep/worker.py $(BUILD)/lib/sweep/find_code.py \
	  $(BUILD)/lib/sweep/find_program.py $(BUILD)/lib/sweep/ask_optuna.py $(TARGET_FOLDER)/lib/sweep
	install -d $(TARGET_FOLDER)/include/sweep
	install -m 644 trainer/envs/library/environment.h sweep/program/run.h $(TARGET_FOLDER)/include/sweep
install: all install-lib install-bridge ## programs, manual pages, completions, experiments, sites, docs: PREFIX=/usr/local, DESTDIR
	install -d $(TARGET_FOLDER)/bin $(addprefix $(TARGET_FOLDER)/,$(MADE))
	install -m 755 $(PROGRAMS) $(TARGET_FOLDER)/bin
	@for folder in $(MADE); do install -m 644 $(BUILD)/$$folder/* $(TARGET_FOLDER)/$$folder || exit 1; done
	@for file in $(INSTALLED); do install -D -m 644 $${file%%:*} $(TARGET_FOLDER)/$${file#*:} || exit 1; done
uninstall: $(BUILD)/share/made.stamp ## removes what install puts there, and folders that are empty then: PREFIX, DESTDIR
	@cd $(BUILD) && for file in $(patsubst $(BUILD)/%,%,$(PROGRAMS)) $$(find $(MADE) -type f) \
	  $(foreach f,$(INSTALLED),$(lastword $(subst :, ,$(f)))) lib/libsim.so $(patsubst $(BUILD)/%,%,$(LIBSIM)) \
	  lib/libsim.a lib/pkgconfig/sim.pc include/sim/sim.h include/sweep/environment.h include/sweep/run.h $(patsubst $(BUILD)/%,%,$(BRIDGE)); do \
	  rm -f "$(TARGET_FOLDER)/$$file"; done
	@for folder in share/sweep share/doc/sweep include/sim include/sweep lib/sweep; do \
	  [ ! -d "$(TARGET_FOLDER)/$$folder" ] || find "$(TARGET_FOLDER)/$$folder" -depth -type d -empty -delete; done
