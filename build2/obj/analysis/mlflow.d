build2/obj/analysis/mlflow.o: analysis/mlflow.c core/banned.h \
 analysis/mlflow.h store/database.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/http.h core/memory.h core/device.h \
 core/device_kernel.h store/query.h store/runlog.h
core/banned.h:
analysis/mlflow.h:
store/database.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/http.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
store/query.h:
store/runlog.h:
