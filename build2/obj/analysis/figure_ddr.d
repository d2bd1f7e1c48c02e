build2/obj/analysis/figure_ddr.o: analysis/figure_ddr.c core/banned.h \
 analysis/ddr.h analysis/figure.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h store/database.h store/run.h analysis/palette.h \
 analysis/plot.h analysis/axis.h core/options.h analysis/statistics.h \
 analysis/csv.h analysis/render.h core/terminal.h
core/banned.h:
analysis/ddr.h:
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
analysis/statistics.h:
analysis/csv.h:
analysis/render.h:
core/terminal.h:
