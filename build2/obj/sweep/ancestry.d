build2/obj/sweep/ancestry.o: sweep/ancestry.c core/banned.h \
 sweep/ancestry.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def sweep/ids.h core/config.h core/ini.h \
 core/config.def sweep/placement.h sweep/batch.h core/files.h \
 sweep/journal.h sweep/manifest.h sweep/grid.h sweep/spec.h sweep/list.h \
 core/memory.h core/device.h core/device_kernel.h core/origin.h \
 store/paths.h store/run.h sweep/standing.h sweep/progress.h \
 store/database.h sweep/sweep.h core/options.h
core/banned.h:
sweep/ancestry.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/ids.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/placement.h:
sweep/batch.h:
core/files.h:
sweep/journal.h:
sweep/manifest.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/origin.h:
store/paths.h:
store/run.h:
sweep/standing.h:
sweep/progress.h:
store/database.h:
sweep/sweep.h:
core/options.h:
