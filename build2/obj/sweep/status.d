build2/obj/sweep/status.o: sweep/status.c core/banned.h core/log.h \
 core/error.h core/memory.h core/device.h core/device_kernel.h \
 core/terminal.h store/database.h core/config.h core/ini.h core/text.h \
 core/config.def sweep/commands.h sweep/progress.h store/run.h \
 sweep/spec.h slurm/settings.h slurm/settings.def sweep/list.h \
 sweep/standing.h slurm/cluster.h sweep/sweep.h core/options.h \
 store/paths.h core/files.h
core/banned.h:
core/log.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/database.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
sweep/commands.h:
sweep/progress.h:
store/run.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/standing.h:
slurm/cluster.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/files.h:
