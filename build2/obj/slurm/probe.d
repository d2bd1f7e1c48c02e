build2/obj/slurm/probe.o: slurm/probe.c core/banned.h slurm/probe.h \
 core/text.h core/error.h slurm/process_internal.h
core/banned.h:
slurm/probe.h:
core/text.h:
core/error.h:
slurm/process_internal.h:
