build2/obj/sweep/task.o: sweep/task.c core/banned.h core/files.h \
 core/text.h core/error.h core/log.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h slurm/cluster.h slurm/settings.h \
 slurm/settings.def store/paths.h core/config.h core/ini.h \
 core/config.def store/run.h sweep/commands.h sweep/joblog.h \
 sweep/journal.h sweep/batch.h sweep/record.h sweep/notify.h slurm/site.h \
 sweep/sweep.h core/options.h sweep/spec.h sweep/list.h sweep/trainer.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
store/run.h:
sweep/commands.h:
sweep/joblog.h:
sweep/journal.h:
sweep/batch.h:
sweep/record.h:
sweep/notify.h:
slurm/site.h:
sweep/sweep.h:
core/options.h:
sweep/spec.h:
sweep/list.h:
sweep/trainer.h:
