build2/obj/sweep/progress.o: sweep/progress.c core/banned.h \
 sweep/progress.h core/text.h core/error.h store/database.h core/config.h \
 core/ini.h core/config.def store/run.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h store/query.h sweep/manifest.h \
 sweep/grid.h sweep/queue.h
core/banned.h:
sweep/progress.h:
core/text.h:
core/error.h:
store/database.h:
core/config.h:
core/ini.h:
core/config.def:
store/run.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/query.h:
sweep/manifest.h:
sweep/grid.h:
sweep/queue.h:
