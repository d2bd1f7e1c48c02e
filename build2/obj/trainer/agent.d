build2/obj/trainer/agent.o: trainer/agent.c core/banned.h trainer/agent.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/memory.h core/device.h core/device_kernel.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/ops/ops.h \
 trainer/moments.h trainer/envs/env.h trainer/network.h core/random.h \
 trainer/action.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h trainer/shards.h
core/banned.h:
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
core/random.h:
trainer/action.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/shards.h:
