build2/obj/sweep/joblog.o: sweep/joblog.c core/banned.h sweep/joblog.h \
 core/files.h core/text.h core/error.h sweep/journal.h core/config.h \
 core/ini.h core/config.def sweep/batch.h slurm/settings.h \
 slurm/settings.def sweep/record.h
core/banned.h:
sweep/joblog.h:
core/files.h:
core/text.h:
core/error.h:
sweep/journal.h:
core/config.h:
core/ini.h:
core/config.def:
sweep/batch.h:
slurm/settings.h:
slurm/settings.def:
sweep/record.h:
