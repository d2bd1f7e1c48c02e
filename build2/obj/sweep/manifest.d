build2/obj/sweep/manifest.o: sweep/manifest.c core/banned.h \
 sweep/manifest.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def sweep/grid.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h core/files.h core/memory.h core/device.h \
 core/device_kernel.h store/paths.h sweep/freeze.h sweep/ids.h \
 sweep/sweep.h core/options.h
core/banned.h:
sweep/manifest.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
sweep/grid.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
core/files.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/paths.h:
sweep/freeze.h:
sweep/ids.h:
sweep/sweep.h:
core/options.h:
