build2/obj/trainer/lifeline.o: trainer/lifeline.c core/banned.h \
 trainer/lifeline.h core/log.h core/error.h core/memory.h core/device.h \
 core/device_kernel.h trainer/ranks.h
core/banned.h:
trainer/lifeline.h:
core/log.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
trainer/ranks.h:
