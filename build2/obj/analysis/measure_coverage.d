build2/obj/analysis/measure_coverage.o: analysis/measure_coverage.c \
 core/banned.h analysis/measure_coverage.h analysis/measures.h \
 analysis/select.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/files.h store/database.h store/run.h \
 analysis/tasks.h analysis/scores.h core/memory.h core/device.h \
 core/device_kernel.h store/query.h
core/banned.h:
analysis/measure_coverage.h:
analysis/measures.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/tasks.h:
analysis/scores.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/query.h:
