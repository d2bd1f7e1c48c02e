build2/obj/trainer/check_level.o: trainer/check_level.c core/banned.h \
 trainer/check_level.h core/options.h core/error.h sim/level.h \
 core/text.h
core/banned.h:
trainer/check_level.h:
core/options.h:
core/error.h:
sim/level.h:
core/text.h:
