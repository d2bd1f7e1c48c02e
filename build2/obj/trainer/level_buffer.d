build2/obj/trainer/level_buffer.o: trainer/level_buffer.c core/banned.h \
 trainer/level_buffer.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h
core/banned.h:
trainer/level_buffer.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
