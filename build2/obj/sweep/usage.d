build2/obj/sweep/usage.o: sweep/usage.c core/banned.h sweep/usage.h \
 core/text.h core/error.h store/run.h core/config.h core/ini.h \
 core/config.def slurm/settings.h slurm/settings.def core/memory.h \
 core/device.h core/device_kernel.h core/terminal.h sweep/batch.h \
 core/files.h sweep/joblog.h sweep/journal.h sweep/record.h \
 sweep/manifest.h sweep/grid.h sweep/spec.h sweep/list.h
core/banned.h:
sweep/usage.h:
core/text.h:
core/error.h:
store/run.h:
core/config.h:
core/ini.h:
core/config.def:
slurm/settings.h:
slurm/settings.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
sweep/batch.h:
core/files.h:
sweep/joblog.h:
sweep/journal.h:
sweep/record.h:
sweep/manifest.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
