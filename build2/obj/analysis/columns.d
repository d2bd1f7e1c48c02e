build2/obj/analysis/columns.o: analysis/columns.c core/banned.h \
 analysis/columns.h core/text.h core/error.h store/runlog.h
core/banned.h:
analysis/columns.h:
core/text.h:
core/error.h:
store/runlog.h:
