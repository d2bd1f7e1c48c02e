build2/obj/sweep/ids.o: sweep/ids.c core/banned.h sweep/ids.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/memory.h core/device.h core/device_kernel.h
core/banned.h:
sweep/ids.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
