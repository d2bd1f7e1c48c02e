build2/obj/sweep/sweep.o: sweep/sweep.c core/banned.h sweep/sweep.h \
 core/options.h core/error.h store/paths.h core/config.h core/ini.h \
 core/text.h core/config.def core/files.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h core/memory.h core/device.h \
 core/device_kernel.h sweep/manifest.h sweep/grid.h
core/banned.h:
sweep/sweep.h:
core/options.h:
core/error.h:
store/paths.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/files.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
sweep/manifest.h:
sweep/grid.h:
