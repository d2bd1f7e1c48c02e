build2/obj/analysis/scored.o: analysis/scored.c core/banned.h \
 analysis/scored.h analysis/figure.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h store/database.h store/run.h analysis/palette.h \
 analysis/plot.h analysis/axis.h core/options.h analysis/measures.h
core/banned.h:
analysis/scored.h:
analysis/figure.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
analysis/measures.h:
