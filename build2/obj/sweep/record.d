build2/obj/sweep/record.o: sweep/record.c core/banned.h sweep/record.h \
 core/error.h core/files.h core/text.h store/paths.h core/config.h \
 core/ini.h core/config.def
core/banned.h:
sweep/record.h:
core/error.h:
core/files.h:
core/text.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
