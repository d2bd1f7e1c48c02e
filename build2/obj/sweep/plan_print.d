build2/obj/sweep/plan_print.o: sweep/plan_print.c core/banned.h \
 core/terminal.h core/error.h sweep/ids.h core/config.h core/ini.h \
 core/text.h core/config.def sweep/plan.h store/run.h sweep/grid.h \
 sweep/spec.h slurm/settings.h slurm/settings.def sweep/list.h \
 sweep/manifest.h sweep/sweep.h core/options.h store/paths.h core/files.h
core/banned.h:
core/terminal.h:
core/error.h:
sweep/ids.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
sweep/plan.h:
store/run.h:
sweep/grid.h:
sweep/spec.h:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
sweep/manifest.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/files.h:
