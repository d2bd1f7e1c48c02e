build2/obj/slurm/allowance.o: slurm/allowance.c core/banned.h \
 slurm/allowance_internal.h slurm/cluster.h core/error.h slurm/settings.h \
 core/text.h slurm/settings.def slurm/process_internal.h
core/banned.h:
slurm/allowance_internal.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
slurm/process_internal.h:
