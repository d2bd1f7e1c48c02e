build2/obj/analysis/export.o: analysis/export.c core/banned.h \
 analysis/commands.h analysis/csv.h analysis/group.h analysis/select.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h store/database.h store/run.h analysis/mlflow.h \
 core/memory.h core/device.h core/device_kernel.h core/options.h \
 store/query.h store/runlog.h store/schema.h
core/banned.h:
analysis/commands.h:
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
analysis/mlflow.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/options.h:
store/query.h:
store/runlog.h:
store/schema.h:
