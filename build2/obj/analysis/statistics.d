build2/obj/analysis/statistics.o: analysis/statistics.c core/banned.h \
 analysis/statistics.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h core/random.h
core/banned.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
core/random.h:
