build2/obj/sweep/freeze.o: sweep/freeze.c core/banned.h sweep/freeze.h \
 core/text.h core/error.h sweep/spec.h core/config.h core/ini.h \
 core/config.def slurm/settings.h slurm/settings.def sweep/list.h
core/banned.h:
sweep/freeze.h:
core/text.h:
core/error.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/config.def:
slurm/settings.h:
slurm/settings.def:
sweep/list.h:
