build2/obj/analysis/maintain.o: analysis/maintain.c core/banned.h \
 analysis/commands.h analysis/select.h core/config.h core/ini.h \
 core/error.h core/text.h core/config.def core/files.h store/database.h \
 store/run.h core/memory.h core/device.h core/device_kernel.h \
 core/options.h core/terminal.h store/maintain.h
core/banned.h:
analysis/commands.h:
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
core/options.h:
core/terminal.h:
store/maintain.h:
