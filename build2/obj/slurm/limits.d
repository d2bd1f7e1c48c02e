build2/obj/slurm/limits.o: slurm/limits.c core/banned.h \
 slurm/limits_internal.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def
core/banned.h:
slurm/limits_internal.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
