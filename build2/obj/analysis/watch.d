build2/obj/analysis/watch.o: analysis/watch.c core/banned.h \
 analysis/commands.h analysis/curve.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h store/database.h store/run.h analysis/statistics.h \
 core/memory.h core/device.h core/device_kernel.h core/options.h \
 core/terminal.h store/paths.h store/query.h
core/banned.h:
analysis/commands.h:
analysis/curve.h:
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
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/options.h:
core/terminal.h:
store/paths.h:
store/query.h:
