build2/obj/sweep/submit.o: sweep/submit.c core/banned.h core/terminal.h \
 core/error.h slurm/cluster.h slurm/settings.h core/text.h \
 slurm/settings.def store/database.h core/config.h core/ini.h \
 core/config.def store/query.h store/run.h sweep/commands.h \
 sweep/executor.h sweep/ids.h sweep/launch.h sweep/grid.h sweep/spec.h \
 sweep/list.h sweep/manifest.h sweep/notify.h slurm/site.h core/files.h \
 sweep/progress.h sweep/queue.h sweep/standing.h sweep/sweep.h \
 core/options.h store/paths.h
core/banned.h:
core/terminal.h:
core/error.h:
slurm/cluster.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
store/database.h:
core/config.h:
core/ini.h:
core/config.def:
store/query.h:
store/run.h:
sweep/commands.h:
sweep/executor.h:
sweep/ids.h:
sweep/launch.h:
sweep/grid.h:
sweep/spec.h:
sweep/list.h:
sweep/manifest.h:
sweep/notify.h:
slurm/site.h:
core/files.h:
sweep/progress.h:
sweep/queue.h:
sweep/standing.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
