build2/obj/trainer/metrics.o: trainer/metrics.c core/banned.h \
 trainer/metrics.h trainer/representation.h core/memory.h core/device.h \
 core/device_kernel.h core/error.h trainer/network.h trainer/ops/ops.h \
 trainer/moments.h trainer/rollout.h trainer/agent.h core/config.h \
 core/ini.h core/text.h core/config.def trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/envs/env.h \
 trainer/compact.h trainer/coverage.h trainer/shards.h trainer/observer.h \
 trainer/normalise.h trainer/normalise_rule.h trainer/sections.h \
 trainer/checkpoint.h core/files.h trainer/visited.h core/random.h \
 trainer/estimators.h trainer/ranks.h trainer/reduce.h
core/banned.h:
trainer/metrics.h:
trainer/representation.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/network.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/rollout.h:
trainer/agent.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
trainer/encoder.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/envs/env.h:
trainer/compact.h:
trainer/coverage.h:
trainer/shards.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/sections.h:
trainer/checkpoint.h:
core/files.h:
trainer/visited.h:
core/random.h:
trainer/estimators.h:
trainer/ranks.h:
trainer/reduce.h:
