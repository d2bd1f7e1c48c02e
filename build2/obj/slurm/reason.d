build2/obj/slurm/reason.o: slurm/reason.c core/banned.h slurm/reason.h
core/banned.h:
slurm/reason.h:
