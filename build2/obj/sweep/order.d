build2/obj/sweep/order.o: sweep/order.c core/banned.h sweep/order.h \
 core/error.h core/memory.h core/device.h core/device_kernel.h
core/banned.h:
sweep/order.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
