build2/obj/sweep/batch.o: sweep/batch.c core/banned.h sweep/batch.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h slurm/settings.h slurm/settings.def core/memory.h \
 core/device.h core/device_kernel.h core/origin.h store/paths.h
core/banned.h:
sweep/batch.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
slurm/settings.h:
slurm/settings.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/origin.h:
store/paths.h:
