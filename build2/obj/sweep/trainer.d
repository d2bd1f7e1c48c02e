build2/obj/sweep/trainer.o: sweep/trainer.c core/banned.h sweep/trainer.h \
 core/error.h core/files.h core/text.h store/paths.h core/config.h \
 core/ini.h core/config.def
core/banned.h:
sweep/trainer.h:
core/error.h:
core/files.h:
core/text.h:
store/paths.h:
core/config.h:
core/ini.h:
core/config.def:
