build2/obj/analysis/scores.o: analysis/scores.c core/banned.h \
 analysis/scores.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h
core/banned.h:
analysis/scores.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
