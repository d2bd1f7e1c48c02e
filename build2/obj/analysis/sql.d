build2/obj/analysis/sql.o: analysis/sql.c core/banned.h analysis/sql.h \
 analysis/csv.h analysis/group.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h core/memory.h core/device.h \
 core/device_kernel.h core/options.h core/terminal.h store/query.h
core/banned.h:
analysis/sql.h:
analysis/csv.h:
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
core/memory.h:
core/device.h:
core/device_kernel.h:
core/options.h:
core/terminal.h:
store/query.h:
