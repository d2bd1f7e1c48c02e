build2/obj/sweep/standing_draw.o: sweep/standing_draw.c core/banned.h \
 core/files.h core/text.h core/error.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h sweep/standing.h slurm/cluster.h \
 slurm/settings.h slurm/settings.def sweep/progress.h store/database.h \
 core/config.h core/ini.h core/config.def store/run.h sweep/spec.h \
 sweep/list.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
sweep/standing.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
sweep/progress.h:
store/database.h:
core/config.h:
core/ini.h:
core/config.def:
store/run.h:
sweep/spec.h:
sweep/list.h:
