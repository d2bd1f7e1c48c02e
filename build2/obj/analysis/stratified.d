build2/obj/analysis/stratified.o: analysis/stratified.c core/banned.h \
 analysis/stratified.h analysis/draws.h analysis/scores.h \
 analysis/statistics.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h core/random.h
core/banned.h:
analysis/stratified.h:
analysis/draws.h:
analysis/scores.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
core/random.h:
