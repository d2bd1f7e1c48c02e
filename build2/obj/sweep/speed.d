build2/obj/sweep/speed.o: sweep/speed.c core/banned.h sweep/speed.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h core/memory.h core/device.h core/device_kernel.h \
 store/database.h store/paths.h store/query.h
core/banned.h:
sweep/speed.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/database.h:
store/paths.h:
store/query.h:
