build2/obj/sweep/launch.o: sweep/launch.c core/banned.h sweep/launch.h \
 slurm/cluster.h core/error.h slurm/settings.h core/text.h \
 slurm/settings.def sweep/grid.h sweep/spec.h core/config.h core/ini.h \
 core/config.def sweep/list.h sweep/manifest.h core/files.h core/log.h \
 core/memory.h core/device.h core/device_kernel.h core/terminal.h \
 store/run.h sweep/ancestry.h sweep/ids.h sweep/placement.h sweep/batch.h \
 sweep/journal.h sweep/cut.h sweep/joblog.h sweep/record.h sweep/notify.h \
 slurm/site.h sweep/order.h
core/banned.h:
sweep/launch.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/grid.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/list.h:
sweep/manifest.h:
core/files.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/run.h:
sweep/ancestry.h:
sweep/ids.h:
sweep/placement.h:
sweep/batch.h:
sweep/journal.h:
sweep/cut.h:
sweep/joblog.h:
sweep/record.h:
sweep/notify.h:
slurm/site.h:
sweep/order.h:
