build2/obj/sweep/control.o: sweep/control.c core/banned.h core/files.h \
 core/text.h core/error.h core/terminal.h store/run.h core/config.h \
 core/ini.h core/config.def sweep/commands.h sweep/progress.h \
 store/database.h sweep/spec.h slurm/settings.h slurm/settings.def \
 sweep/list.h sweep/queue.h sweep/sweep.h core/options.h store/paths.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/terminal.h:
store/run.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/commands.h:
sweep/progress.h:
store/database.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/queue.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
