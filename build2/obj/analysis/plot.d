build2/obj/analysis/plot.o: analysis/plot.c core/banned.h \
 analysis/plot_internal.h analysis/plot.h analysis/axis.h core/text.h \
 core/error.h analysis/palette.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/config.def core/files.h store/database.h \
 store/run.h core/memory.h core/device.h core/device_kernel.h
core/banned.h:
analysis/plot_internal.h:
analysis/plot.h:
analysis/axis.h:
core/text.h:
core/error.h:
analysis/palette.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
