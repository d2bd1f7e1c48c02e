build2/obj/slurm/rest_read.o: slurm/rest_read.c core/banned.h \
 slurm/rest_internal.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def
core/banned.h:
slurm/rest_internal.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
