build2/obj/sweep/executor.o: sweep/executor.c core/banned.h \
 sweep/executor.h core/error.h core/files.h core/text.h core/log.h \
 core/memory.h core/device.h core/device_kernel.h core/terminal.h \
 store/database.h core/config.h core/ini.h core/config.def store/paths.h \
 sweep/job.h sweep/queue.h sweep/notify.h slurm/site.h slurm/settings.h \
 slurm/settings.def sweep/sweep.h core/options.h sweep/spec.h \
 sweep/list.h
core/banned.h:
sweep/executor.h:
core/error.h:
core/files.h:
core/text.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/database.h:
core/config.h:
core/ini.h:
core/config.def:
store/paths.h:
sweep/job.h:
sweep/queue.h:
sweep/notify.h:
slurm/site.h:
slurm/settings.h:
slurm/settings.def:
sweep/sweep.h:
core/options.h:
sweep/spec.h:
sweep/list.h:
