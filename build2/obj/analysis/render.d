build2/obj/analysis/render.o: analysis/render.c core/banned.h \
 analysis/render.h analysis/plot.h analysis/axis.h core/text.h \
 core/error.h analysis/palette.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/config.def core/files.h store/database.h \
 store/run.h core/memory.h core/device.h core/device_kernel.h
core/banned.h:
analysis/render.h:
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
