build2/obj/trainer/level_search.o: trainer/level_search.c core/banned.h \
 trainer/level_search.h trainer/level_buffer.h core/memory.h \
 core/device.h core/device_kernel.h core/error.h trainer/shards.h \
 core/config.h core/ini.h core/text.h core/config.def trainer/trial.h \
 trainer/agent.h trainer/encoder.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/ops/ops.h trainer/moments.h trainer/envs/env.h \
 trainer/network.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h core/random.h trainer/ranks.h
core/banned.h:
trainer/level_search.h:
trainer/level_buffer.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/shards.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
trainer/trial.h:
trainer/agent.h:
trainer/encoder.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/envs/env.h:
trainer/network.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
core/random.h:
trainer/ranks.h:
