build2/obj/sweep/collect.o: sweep/collect.c core/banned.h core/log.h \
 core/error.h core/terminal.h store/database.h core/config.h core/ini.h \
 core/text.h core/config.def sweep/commands.h sweep/sweep.h \
 core/options.h store/paths.h core/files.h sweep/spec.h slurm/settings.h \
 slurm/settings.def sweep/list.h
core/banned.h:
core/log.h:
core/error.h:
core/terminal.h:
store/database.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
sweep/commands.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/files.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
