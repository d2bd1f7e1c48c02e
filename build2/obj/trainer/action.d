build2/obj/trainer/action.o: trainer/action.c core/banned.h \
 trainer/action.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def trainer/envs/env.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/ops/ops.h core/device.h core/device_kernel.h \
 trainer/moments.h core/random.h
core/banned.h:
trainer/action.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
trainer/envs/env.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
core/device.h:
core/device_kernel.h:
trainer/moments.h:
core/random.h:
