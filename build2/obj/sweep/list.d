build2/obj/sweep/list.o: sweep/list.c core/banned.h sweep/list.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/memory.h core/device.h core/device_kernel.h
core/banned.h:
sweep/list.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
