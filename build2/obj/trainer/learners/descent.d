build2/obj/trainer/learners/descent.o: trainer/learners/descent.c \
 core/banned.h trainer/learners/descent.h trainer/learners/learner.h \
 trainer/checkpoint.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/files.h trainer/kurtosis.h trainer/moments.h \
 core/device_kernel.h trainer/profile.h trainer/rollout.h trainer/agent.h \
 core/memory.h core/device.h trainer/encoder.h sim/observe_layout.h \
 sim/level.h sim/real.h trainer/ops/ops.h trainer/envs/env.h \
 trainer/network.h trainer/compact.h trainer/coverage.h trainer/shards.h \
 trainer/observer.h trainer/normalise.h trainer/normalise_rule.h \
 trainer/sections.h trainer/visited.h trainer/optimizer.h \
 trainer/ops/update.h trainer/estimators.h trainer/ranks.h
core/banned.h:
trainer/learners/descent.h:
trainer/learners/learner.h:
trainer/checkpoint.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/files.h:
trainer/kurtosis.h:
trainer/moments.h:
core/device_kernel.h:
trainer/profile.h:
trainer/rollout.h:
trainer/agent.h:
core/memory.h:
core/device.h:
trainer/encoder.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
trainer/ops/ops.h:
trainer/envs/env.h:
trainer/network.h:
trainer/compact.h:
trainer/coverage.h:
trainer/shards.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/sections.h:
trainer/visited.h:
trainer/optimizer.h:
trainer/ops/update.h:
trainer/estimators.h:
trainer/ranks.h:
