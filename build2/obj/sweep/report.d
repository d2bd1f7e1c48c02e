build2/obj/sweep/report.o: sweep/report.c core/banned.h core/terminal.h \
 core/error.h sweep/commands.h sweep/sweep.h core/options.h store/paths.h \
 core/config.h core/ini.h core/text.h core/config.def core/files.h \
 sweep/spec.h slurm/settings.h slurm/settings.def sweep/list.h \
 sweep/usage.h store/run.h
core/banned.h:
core/terminal.h:
core/error.h:
sweep/commands.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/files.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/usage.h:
store/run.h:
