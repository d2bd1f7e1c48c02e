build2/obj/sweep/queue.o: sweep/queue.c core/banned.h sweep/queue.h \
 core/error.h core/files.h core/text.h store/paths.h core/config.h \
 core/ini.h core/config.def
core/banned.h:
sweep/queue.h:
core/error.h:
core/files.h:
core/text.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
