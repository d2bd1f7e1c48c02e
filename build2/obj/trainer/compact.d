build2/obj/trainer/compact.o: trainer/compact.c core/banned.h \
 trainer/compact.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h trainer/envs/env.h core/config.h core/ini.h core/text.h \
 core/config.def sim/observe_layout.h sim/level.h sim/real.h \
 trainer/ops/ops.h trainer/moments.h trainer/ops/kernels.h \
 trainer/ops/kernels.def trainer/ops/kernels_compact.h
core/banned.h:
trainer/compact.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/envs/env.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/ops/kernels.h:
trainer/ops/kernels.def:
trainer/ops/kernels_compact.h:
