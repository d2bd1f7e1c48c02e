build2/obj/sweep/cut.o: sweep/cut.c core/banned.h sweep/cut.h \
 core/files.h core/text.h core/error.h slurm/cluster.h slurm/settings.h \
 slurm/settings.def sweep/batch.h core/config.h core/ini.h \
 core/config.def sweep/launch.h sweep/grid.h sweep/spec.h sweep/list.h \
 sweep/manifest.h core/memory.h core/device.h core/device_kernel.h \
 slurm/script.h sweep/journal.h
core/banned.h:
sweep/cut.h:
core/files.h:
core/text.h:
core/error.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
sweep/batch.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/launch.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
sweep/manifest.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
slurm/script.h:
sweep/journal.h:
