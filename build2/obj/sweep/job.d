build2/obj/sweep/job.o: sweep/job.c core/banned.h sweep/job.h \
 sweep/queue.h core/error.h core/log.h core/memory.h core/device.h \
 core/device_kernel.h core/origin.h core/config.h core/ini.h core/text.h \
 core/config.def core/terminal.h store/run.h sweep/executor.h sweep/ids.h \
 sweep/manifest.h sweep/grid.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h sweep/sweep.h core/options.h \
 store/paths.h core/files.h sweep/trainer.h
core/banned.h:
sweep/job.h:
sweep/queue.h:
core/error.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/origin.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/terminal.h:
store/run.h:
sweep/executor.h:
sweep/ids.h:
sweep/manifest.h:
sweep/grid.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/files.h:
sweep/trainer.h:
