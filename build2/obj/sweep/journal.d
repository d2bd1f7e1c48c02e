build2/obj/sweep/journal.o: sweep/journal.c core/banned.h sweep/journal.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 sweep/batch.h core/files.h slurm/settings.h slurm/settings.def \
 core/memory.h core/device.h core/device_kernel.h core/terminal.h \
 slurm/cluster.h store/paths.h
core/banned.h:
sweep/journal.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
sweep/batch.h:
core/files.h:
slurm/settings.h:
slurm/settings.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
slurm/cluster.h:
store/paths.h:
