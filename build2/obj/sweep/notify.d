build2/obj/sweep/notify.o: sweep/notify.c core/banned.h sweep/notify.h \
 slurm/site.h core/files.h core/text.h core/error.h slurm/settings.h \
 slurm/settings.def core/http.h core/log.h core/memory.h core/device.h \
 core/device_kernel.h store/paths.h core/config.h core/ini.h \
 core/config.def store/run.h sweep/manifest.h sweep/grid.h sweep/spec.h \
 sweep/list.h
core/banned.h:
sweep/notify.h:
slurm/site.h:
core/files.h:
core/text.h:
core/error.h:
slurm/settings.h:
slurm/settings.def:
core/http.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
store/run.h:
sweep/manifest.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
