build2/obj/analysis/report_data.o: analysis/report_data.c core/banned.h \
 analysis/claims.h analysis/measures.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h analysis/statistics.h analysis/report.h \
 analysis/group.h analysis/stratified.h analysis/draws.h \
 analysis/scores.h core/memory.h core/device.h core/device_kernel.h \
 core/options.h core/terminal.h store/query.h
core/banned.h:
analysis/claims.h:
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
analysis/statistics.h:
analysis/report.h:
analysis/group.h:
analysis/stratified.h:
analysis/draws.h:
analysis/scores.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/options.h:
core/terminal.h:
store/query.h:
