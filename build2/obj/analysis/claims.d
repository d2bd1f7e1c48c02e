build2/obj/analysis/claims.o: analysis/claims.c core/banned.h \
 analysis/claims.h analysis/measures.h analysis/select.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/files.h \
 store/database.h store/run.h analysis/statistics.h analysis/cells.h \
 analysis/stratified.h analysis/draws.h analysis/scores.h core/memory.h \
 core/device.h core/device_kernel.h analysis/claims.def
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
analysis/cells.h:
analysis/stratified.h:
analysis/draws.h:
analysis/scores.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
analysis/claims.def:
