build2/obj/sweep/checkup_slurm.o: sweep/checkup_slurm.c core/banned.h \
 core/files.h core/text.h core/error.h core/terminal.h slurm/cluster.h \
 slurm/settings.h slurm/settings.def slurm/probe.h slurm/reason.h \
 slurm/script.h store/run.h core/config.h core/ini.h core/config.def \
 sweep/checkup.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/terminal.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
slurm/probe.h:
slurm/reason.h:
slurm/script.h:
store/run.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/checkup.h:
