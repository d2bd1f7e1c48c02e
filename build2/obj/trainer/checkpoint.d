build2/obj/trainer/checkpoint.o: trainer/checkpoint.c core/banned.h \
 trainer/checkpoint.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/files.h core/log.h core/memory.h core/device.h \
 core/device_kernel.h
core/banned.h:
trainer/checkpoint.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
core/log.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
