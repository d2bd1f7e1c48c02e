build2/obj/sweep/placement.o: sweep/placement.c core/banned.h \
 sweep/placement.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def sweep/batch.h core/config.h core/ini.h \
 core/config.def core/files.h sweep/journal.h sweep/manifest.h \
 sweep/grid.h sweep/spec.h sweep/list.h core/memory.h core/device.h \
 core/device_kernel.h
core/banned.h:
sweep/placement.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/batch.h:
core/config.h:
core/ini.h:
core/config.def:
core/files.h:
sweep/journal.h:
sweep/manifest.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
