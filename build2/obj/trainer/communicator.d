build2/obj/trainer/communicator.o: trainer/communicator.c core/banned.h \
 trainer/communicator.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/device.h core/device_kernel.h core/memory.h \
 trainer/ranks.h
core/banned.h:
trainer/communicator.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/device.h:
core/device_kernel.h:
core/memory.h:
trainer/ranks.h:
