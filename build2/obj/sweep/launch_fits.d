build2/obj/sweep/launch_fits.o: sweep/launch_fits.c core/banned.h \
 sweep/launch.h slurm/cluster.h core/error.h slurm/settings.h core/text.h \
 slurm/settings.def sweep/grid.h sweep/spec.h core/config.h core/ini.h \
 core/config.def sweep/list.h sweep/manifest.h
core/banned.h:
sweep/launch.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
sweep/grid.h:
sweep/spec.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/list.h:
sweep/manifest.h:
