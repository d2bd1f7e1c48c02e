build2/obj/analysis/parents.o: analysis/parents.c core/banned.h \
 analysis/parents.h analysis/select.h core/config.h core/ini.h \
 core/error.h core/text.h core/config.def core/files.h store/database.h \
 store/run.h core/origin.h store/query.h
core/banned.h:
analysis/parents.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
core/origin.h:
store/query.h:
