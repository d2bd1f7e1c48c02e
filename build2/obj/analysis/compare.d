build2/obj/analysis/compare.o: analysis/compare.c core/banned.h \
 analysis/commands.h analysis/figure.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h store/database.h store/run.h analysis/palette.h \
 analysis/plot.h analysis/axis.h core/options.h analysis/measures.h \
 analysis/stratified.h analysis/draws.h analysis/scores.h \
 analysis/statistics.h core/memory.h core/device.h core/device_kernel.h \
 core/terminal.h
core/banned.h:
analysis/commands.h:
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
analysis/stratified.h:
analysis/draws.h:
analysis/scores.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
