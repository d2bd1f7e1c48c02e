build2/obj/sweep/steer.o: sweep/steer.c core/banned.h core/files.h \
 core/text.h core/error.h core/memory.h core/device.h \
 core/device_kernel.h slurm/cluster.h slurm/settings.h slurm/settings.def \
 sweep/commands.h sweep/ids.h core/config.h core/ini.h core/config.def \
 sweep/launch.h sweep/grid.h sweep/spec.h sweep/list.h sweep/manifest.h \
 sweep/placement.h sweep/batch.h sweep/journal.h sweep/standing.h \
 sweep/progress.h store/database.h store/run.h sweep/sweep.h \
 core/options.h store/paths.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
sweep/commands.h:
sweep/ids.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/launch.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
sweep/manifest.h:
sweep/placement.h:
sweep/batch.h:
sweep/journal.h:
sweep/standing.h:
sweep/progress.h:
store/database.h:
store/run.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
