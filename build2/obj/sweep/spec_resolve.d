build2/obj/sweep/spec_resolve.o: sweep/spec_resolve.c core/banned.h \
 core/memory.h core/device.h core/device_kernel.h core/error.h \
 slurm/settings.h core/text.h slurm/settings.def sweep/spec_internal.h \
 sweep/spec.h core/config.h core/ini.h core/config.def sweep/list.h
core/banned.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/spec_internal.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/list.h:
