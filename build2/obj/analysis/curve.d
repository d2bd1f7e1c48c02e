build2/obj/analysis/curve.o: analysis/curve.c core/banned.h \
 analysis/curve.h analysis/statistics.h core/memory.h core/device.h \
 core/device_kernel.h core/error.h
core/banned.h:
analysis/curve.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
