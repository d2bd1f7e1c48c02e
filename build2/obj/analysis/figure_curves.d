build2/obj/analysis/figure_curves.o: analysis/figure_curves.c \
 core/banned.h analysis/curve_set.h analysis/columns.h core/text.h \
 core/error.h analysis/curve.h analysis/figure.h analysis/group.h \
 analysis/select.h core/config.h core/ini.h core/config.def core/files.h \
 store/database.h store/run.h analysis/palette.h analysis/plot.h \
 analysis/axis.h core/options.h analysis/scores.h analysis/csv.h \
 core/memory.h core/device.h core/device_kernel.h core/terminal.h
core/banned.h:
analysis/curve_set.h:
analysis/columns.h:
core/text.h:
core/error.h:
analysis/curve.h:
analysis/figure.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
analysis/scores.h:
analysis/csv.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
