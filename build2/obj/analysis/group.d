build2/obj/analysis/group.o: analysis/group.c core/banned.h \
 analysis/group.h analysis/select.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/files.h store/database.h store/run.h \
 analysis/tasks.h analysis/scores.h core/memory.h core/device.h \
 core/device_kernel.h
core/banned.h:
analysis/group.h:
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
