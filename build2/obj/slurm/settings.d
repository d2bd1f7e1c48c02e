build2/obj/slurm/settings.o: slurm/settings.c core/banned.h \
 slurm/settings.h core/text.h core/error.h slurm/settings.def
core/banned.h:
slurm/settings.h:
core/text.h:
core/error.h:
slurm/settings.def:
