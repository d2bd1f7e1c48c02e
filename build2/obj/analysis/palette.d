build2/obj/analysis/palette.o: analysis/palette.c core/banned.h \
 analysis/palette.h analysis/group.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h core/memory.h core/device.h \
 core/device_kernel.h
core/banned.h:
analysis/palette.h:
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
core/memory.h:
core/device.h:
core/device_kernel.h:
