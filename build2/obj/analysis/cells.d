build2/obj/analysis/cells.o: analysis/cells.c core/banned.h \
 analysis/cells.h analysis/measures.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h core/memory.h core/device.h \
 core/device_kernel.h
core/banned.h:
analysis/cells.h:
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
core/memory.h:
core/device.h:
core/device_kernel.h:
