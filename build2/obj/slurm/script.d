build2/obj/slurm/script.o: slurm/script.c core/banned.h slurm/script.h \
 core/text.h core/error.h slurm/cluster.h slurm/settings.h \
 slurm/settings.def slurm/options_internal.h
core/banned.h:
slurm/script.h:
core/text.h:
core/error.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
slurm/options_internal.h:
