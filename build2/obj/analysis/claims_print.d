build2/obj/analysis/claims_print.o: analysis/claims_print.c core/banned.h \
 analysis/claims.h analysis/measures.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h analysis/statistics.h analysis/commands.h \
 analysis/figure.h analysis/group.h analysis/palette.h analysis/plot.h \
 analysis/axis.h core/options.h core/terminal.h
core/banned.h:
analysis/claims.h:
analysis/measures.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/statistics.h:
analysis/commands.h:
analysis/figure.h:
analysis/group.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
core/terminal.h:
