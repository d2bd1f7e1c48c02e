build2/obj/sweep/grid.o: sweep/grid.c core/banned.h sweep/grid.h \
 sweep/spec.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def slurm/settings.h slurm/settings.def sweep/list.h \
 core/memory.h core/device.h core/device_kernel.h sweep/ids.h \
 sweep/parent.h
core/banned.h:
sweep/grid.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
sweep/ids.h:
sweep/parent.h:
