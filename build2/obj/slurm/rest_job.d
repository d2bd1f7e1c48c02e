build2/obj/slurm/rest_job.o: slurm/rest_job.c core/banned.h \
 slurm/options_internal.h core/text.h core/error.h slurm/cluster.h \
 slurm/settings.h slurm/settings.def slurm/rest_internal.h
core/banned.h:
slurm/options_internal.h:
core/text.h:
core/error.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
slurm/rest_internal.h:
