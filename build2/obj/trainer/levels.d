build2/obj/trainer/levels.o: trainer/levels.c core/banned.h \
 trainer/levels.h sim/level.h core/error.h core/text.h core/files.h \
 sim/filter.h sim/level_list.h sim/morphology.h
core/banned.h:
trainer/levels.h:
sim/level.h:
core/error.h:
core/text.h:
core/files.h:
sim/filter.h:
sim/level_list.h:
sim/morphology.h:
