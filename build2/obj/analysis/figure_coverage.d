build2/obj/analysis/figure_coverage.o: analysis/figure_coverage.c \
 core/banned.h analysis/coverage.h core/files.h core/text.h core/error.h \
 analysis/csv.h analysis/group.h analysis/select.h core/config.h \
 core/ini.h core/config.def store/database.h store/run.h \
 analysis/figure.h analysis/palette.h analysis/plot.h analysis/axis.h \
 core/options.h analysis/statistics.h analysis/tasks.h analysis/scores.h \
 core/memory.h core/device.h core/device_kernel.h core/terminal.h \
 store/paths.h
core/banned.h:
analysis/coverage.h:
core/files.h:
core/text.h:
core/error.h:
analysis/csv.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/config.def:
store/database.h:
store/run.h:
analysis/figure.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
analysis/statistics.h:
analysis/tasks.h:
analysis/scores.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/paths.h:
