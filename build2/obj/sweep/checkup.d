build2/obj/sweep/checkup.o: sweep/checkup.c core/banned.h sweep/checkup.h \
 core/text.h core/error.h slurm/settings.h slurm/settings.def \
 core/memory.h core/device.h core/device_kernel.h core/options.h \
 core/terminal.h slurm/probe.h store/paths.h core/config.h core/ini.h \
 core/config.def core/files.h store/run.h
core/banned.h:
sweep/checkup.h:
core/text.h:
core/error.h:
slurm/settings.h:
slurm/settings.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/options.h:
core/terminal.h:
slurm/probe.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
core/files.h:
store/run.h:
