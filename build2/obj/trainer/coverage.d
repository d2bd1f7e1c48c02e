build2/obj/trainer/coverage.o: trainer/coverage.c core/banned.h \
 trainer/coverage.h core/memory.h core/device.h core/device_kernel.h \
 core/error.h trainer/envs/env.h core/config.h core/ini.h core/text.h \
 core/config.def sim/observe_layout.h sim/level.h sim/real.h \
 trainer/ops/ops.h trainer/moments.h trainer/shards.h core/random.h \
 trainer/action.h trainer/metrics.h trainer/representation.h \
 trainer/network.h trainer/rollout.h trainer/agent.h trainer/encoder.h \
 trainer/compact.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h trainer/sections.h trainer/checkpoint.h \
 core/files.h trainer/visited.h trainer/ranks.h
core/banned.h:
trainer/coverage.h:
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
trainer/shards.h:
core/random.h:
trainer/action.h:
trainer/metrics.h:
trainer/representation.h:
trainer/network.h:
trainer/rollout.h:
trainer/agent.h:
trainer/encoder.h:
trainer/compact.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/sections.h:
trainer/checkpoint.h:
core/files.h:
trainer/visited.h:
trainer/ranks.h:
