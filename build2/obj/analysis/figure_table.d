build2/obj/analysis/figure_table.o: analysis/figure_table.c core/banned.h \
 analysis/csv.h analysis/group.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h analysis/figure.h analysis/palette.h \
 analysis/plot.h analysis/axis.h core/options.h analysis/scored.h \
 analysis/measures.h analysis/statistics.h analysis/stratified.h \
 analysis/draws.h analysis/scores.h analysis/tasks.h core/memory.h \
 core/device.h core/device_kernel.h core/terminal.h
core/banned.h:
analysis/csv.h:
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
analysis/figure.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
analysis/scored.h:
analysis/measures.h:
analysis/statistics.h:
analysis/stratified.h:
analysis/draws.h:
analysis/scores.h:
analysis/tasks.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
