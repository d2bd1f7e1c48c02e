build2/obj/analysis/papers.o: analysis/papers.c core/banned.h \
 analysis/papers.h core/options.h core/error.h analysis/figure.h \
 analysis/group.h analysis/select.h core/config.h core/ini.h core/text.h \
 core/config.def core/files.h store/database.h store/run.h \
 analysis/palette.h analysis/plot.h analysis/axis.h core/memory.h \
 core/device.h core/device_kernel.h analysis/papers.def
core/banned.h:
analysis/papers.h:
core/options.h:
core/error.h:
analysis/figure.h:
analysis/group.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/palette.h:
analysis/plot.h:
analysis/axis.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
analysis/papers.def:
