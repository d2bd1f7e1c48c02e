build2/obj/trainer/heartbeat.o: trainer/heartbeat.c core/banned.h \
 trainer/heartbeat.h store/run.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/files.h core/log.h core/memory.h \
 core/device.h core/device_kernel.h core/terminal.h
core/banned.h:
trainer/heartbeat.h:
store/run.h:
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
core/terminal.h:
