build2/obj/analysis/report.o: analysis/report.c core/banned.h \
 analysis/report.h analysis/group.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h analysis/measures.h analysis/commands.h \
 analysis/figure.h analysis/palette.h analysis/plot.h analysis/axis.h \
 core/options.h core/memory.h core/device.h core/device_kernel.h
core/banned.h:
analysis/report.h:
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
analysis/measures.h:
analysis/commands.h:
analysis/figure.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/options.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
