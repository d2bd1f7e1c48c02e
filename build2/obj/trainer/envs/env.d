build2/obj/trainer/envs/env.o: trainer/envs/env.c core/banned.h \
 trainer/envs/env.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def sim/observe_layout.h sim/level.h sim/real.h \
 trainer/ops/ops.h core/device.h core/device_kernel.h trainer/moments.h \
 trainer/levels.h
core/banned.h:
trainer/envs/env.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
core/device.h:
core/device_kernel.h:
trainer/moments.h:
trainer/levels.h:
