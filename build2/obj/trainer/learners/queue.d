build2/obj/trainer/learners/queue.o: trainer/learners/queue.c \
 core/banned.h trainer/learners/queue.h trainer/agent.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/memory.h \
 core/device.h core/device_kernel.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/ops/ops.h \
 trainer/moments.h trainer/envs/env.h trainer/network.h \
 trainer/communicator.h trainer/gradient.h trainer/shards.h \
 trainer/learners/learner.h trainer/checkpoint.h core/files.h \
 trainer/kurtosis.h trainer/profile.h trainer/rollout.h trainer/compact.h \
 trainer/coverage.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h trainer/sections.h trainer/visited.h \
 trainer/minibatch.h trainer/optimizer.h trainer/ops/update.h \
 trainer/ranks.h
core/banned.h:
trainer/learners/queue.h:
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
trainer/communicator.h:
trainer/gradient.h:
trainer/shards.h:
trainer/learners/learner.h:
trainer/checkpoint.h:
core/files.h:
trainer/kurtosis.h:
trainer/profile.h:
trainer/rollout.h:
trainer/compact.h:
trainer/coverage.h:
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/sections.h:
trainer/visited.h:
trainer/minibatch.h:
trainer/optimizer.h:
trainer/ops/update.h:
trainer/ranks.h:
