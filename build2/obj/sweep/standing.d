build2/obj/sweep/standing.o: sweep/standing.c core/banned.h \
 sweep/standing.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def sweep/progress.h store/database.h \
 core/config.h core/ini.h core/config.def store/run.h sweep/spec.h \
 sweep/list.h core/files.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h slurm/reason.h store/paths.h \
 sweep/ids.h sweep/joblog.h sweep/journal.h sweep/batch.h sweep/record.h \
 sweep/manifest.h sweep/grid.h sweep/placement.h
core/banned.h:
sweep/standing.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/progress.h:
store/database.h:
core/config.h:
core/ini.h:
core/config.def:
store/run.h:
sweep/spec.h:
sweep/list.h:
core/files.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
slurm/reason.h:
store/paths.h:
sweep/ids.h:
sweep/joblog.h:
sweep/journal.h:
sweep/batch.h:
sweep/record.h:
sweep/manifest.h:
sweep/grid.h:
sweep/placement.h:
