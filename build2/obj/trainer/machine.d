build2/obj/trainer/machine.o: trainer/machine.c core/banned.h \
 trainer/machine.h core/files.h core/text.h core/error.h trainer/ranks.h
core/banned.h:
trainer/machine.h:
core/files.h:
core/text.h:
core/error.h:
trainer/ranks.h:
