build2/obj/sweep/plan.o: sweep/plan.c core/banned.h sweep/plan.h \
 store/run.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def sweep/grid.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h sweep/manifest.h sweep/sweep.h \
 core/options.h store/paths.h core/files.h core/memory.h core/device.h \
 core/device_kernel.h core/origin.h slurm/cluster.h sweep/commands.h \
 sweep/launch.h sweep/speed.h
core/banned.h:
sweep/plan.h:
store/run.h:
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
sweep/manifest.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/files.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/origin.h:
slurm/cluster.h:
sweep/commands.h:
sweep/launch.h:
sweep/speed.h:
