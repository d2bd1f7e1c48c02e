build2/obj/sweep/doctor.o: sweep/doctor.c core/banned.h core/http.h \
 core/text.h core/error.h core/terminal.h slurm/site.h core/files.h \
 slurm/settings.h slurm/settings.def sweep/checkup.h sweep/commands.h \
 sweep/notify.h sweep/sweep.h core/options.h store/paths.h core/config.h \
 core/ini.h core/config.def sweep/spec.h sweep/list.h
core/banned.h:
core/http.h:
core/text.h:
core/error.h:
core/terminal.h:
slurm/site.h:
core/files.h:
slurm/settings.h:
slurm/settings.def:
sweep/checkup.h:
sweep/commands.h:
sweep/notify.h:
sweep/sweep.h:
core/options.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/spec.h:
sweep/list.h:
