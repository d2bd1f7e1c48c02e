build2/obj/analysis/csv.o: analysis/csv.c core/banned.h analysis/csv.h \
 analysis/group.h analysis/select.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/files.h store/database.h store/run.h
core/banned.h:
analysis/csv.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
