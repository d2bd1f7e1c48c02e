build2/obj/analysis/coverage.o: analysis/coverage.c core/banned.h \
 analysis/coverage.h core/files.h core/text.h core/error.h \
 analysis/statistics.h core/memory.h core/device.h core/device_kernel.h
core/banned.h:
analysis/coverage.h:
core/files.h:
core/text.h:
core/error.h:
analysis/statistics.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
