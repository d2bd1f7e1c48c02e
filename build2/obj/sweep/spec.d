build2/obj/sweep/spec.o: sweep/spec.c core/banned.h sweep/spec.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 slurm/settings.h slurm/settings.def sweep/list.h core/files.h \
 core/memory.h core/device.h core/device_kernel.h slurm/site.h \
 sweep/spec_internal.h
core/banned.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
core/files.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
slurm/site.h:
sweep/spec_internal.h:
