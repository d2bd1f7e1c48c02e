build2/obj/sweep/parent.o: sweep/parent.c core/banned.h sweep/parent.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def
core/banned.h:
sweep/parent.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
