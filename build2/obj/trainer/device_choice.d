build2/obj/trainer/device_choice.o: trainer/device_choice.c core/banned.h \
 trainer/device_choice.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/device.h core/device_kernel.h \
 core/memory.h trainer/ranks.h
core/banned.h:
trainer/device_choice.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/device.h:
core/device_kernel.h:
core/memory.h:
trainer/ranks.h:
