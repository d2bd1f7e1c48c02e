build2/obj/analysis/axis.o: analysis/axis.c core/banned.h analysis/axis.h \
 core/text.h core/error.h
core/banned.h:
analysis/axis.h:
core/text.h:
core/error.h:
