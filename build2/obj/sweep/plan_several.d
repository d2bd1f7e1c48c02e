build2/obj/sweep/plan_several.o: sweep/plan_several.c core/banned.h \
 core/files.h core/text.h core/error.h core/log.h core/memory.h \
 core/device.h core/device_kernel.h core/terminal.h sweep/ids.h \
 core/config.h core/ini.h core/config.def sweep/plan.h store/run.h \
 sweep/grid.h sweep/spec.h slurm/settings.h slurm/settings.def \
 sweep/list.h sweep/manifest.h sweep/sweep.h core/options.h store/paths.h \
 sweep/speed.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
sweep/ids.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/plan.h:
store/run.h:
sweep/grid.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/manifest.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
sweep/speed.h:
