build2/obj/analysis/measures.o: analysis/measures.c core/banned.h \
 analysis/measures.h analysis/select.h core/config.h core/ini.h \
 core/error.h core/text.h core/config.def core/files.h store/database.h \
 store/run.h analysis/measure_coverage.h core/memory.h core/device.h \
 core/device_kernel.h store/query.h
core/banned.h:
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
analysis/measure_coverage.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/query.h:
