build2/obj/analysis/figure_kl_profile.o: analysis/figure_kl_profile.c \
 core/banned.h analysis/curve.h analysis/figure.h analysis/group.h \
 analysis/select.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/files.h store/database.h store/run.h \
 analysis/palette.h analysis/plot.h analysis/axis.h core/options.h \
 analysis/csv.h core/memory.h core/device.h core/device_kernel.h \
 core/terminal.h store/paths.h
core/banned.h:
analysis/curve.h:
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
analysis/csv.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
store/paths.h:
