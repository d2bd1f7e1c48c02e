build2/obj/analysis/draws.o: analysis/draws.c core/banned.h \
 analysis/draws.h analysis/stratified.h analysis/scores.h \
 analysis/statistics.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h
core/banned.h:
analysis/draws.h:
analysis/stratified.h:
analysis/scores.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
