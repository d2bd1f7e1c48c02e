build2/obj/slurm/site.o: slurm/site.c core/banned.h slurm/site.h \
 core/files.h core/text.h core/error.h slurm/settings.h \
 slurm/settings.def core/http.h core/ini.h
core/banned.h:
slurm/site.h:
core/files.h:
core/text.h:
core/error.h:
slurm/settings.h:
slurm/settings.def:
core/http.h:
core/ini.h:
