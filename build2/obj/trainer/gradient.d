build2/obj/trainer/gradient.o: trainer/gradient.c core/banned.h \
 trainer/gradient.h trainer/agent.h core/config.h core/ini.h core/error.h \
 core/text.h core/config.def core/memory.h core/device.h \
 core/device_kernel.h trainer/encoder.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/ops/ops.h trainer/moments.h trainer/envs/env.h \
 trainer/network.h trainer/shards.h trainer/gradient_device.h \
 trainer/ranks.h trainer/reduce.h
core/banned.h:
trainer/gradient.h:
trainer/agent.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
trainer/encoder.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/envs/env.h:
trainer/network.h:
trainer/shards.h:
trainer/gradient_device.h:
trainer/ranks.h:
trainer/reduce.h:
