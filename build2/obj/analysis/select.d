build2/obj/analysis/select.o: analysis/select.c core/banned.h \
 analysis/select.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/files.h store/database.h store/run.h \
 analysis/parents.h core/memory.h core/device.h core/device_kernel.h \
 store/paths.h store/query.h
core/banned.h:
analysis/select.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
store/database.h:
store/run.h:
analysis/parents.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/paths.h:
store/query.h:
