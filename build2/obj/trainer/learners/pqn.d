build2/obj/trainer/learners/pqn.o: trainer/learners/pqn.c core/banned.h \
 trainer/learners/pqn.h trainer/learners/learner.h trainer/checkpoint.h \
 core/config.h core/ini.h core/error.h core/text.h core/config.def \
 core/files.h trainer/kurtosis.h trainer/moments.h core/device_kernel.h \
 trainer/profile.h trainer/rollout.h trainer/agent.h core/memory.h \
 core/device.h trainer/encoder.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/ops/ops.h trainer/envs/env.h trainer/network.h \
 trainer/compact.h trainer/coverage.h trainer/shards.h trainer/observer.h \
 trainer/normalise.h trainer/normalise_rule.h trainer/sections.h \
 trainer/visited.h trainer/advantage.h trainer/estimators.h \
 trainer/gradient.h trainer/learners/descent.h trainer/optimizer.h \
 trainer/ops/update.h trainer/learners/epochs.h trainer/learners/queue.h \
 trainer/communicator.h trainer/minibatch.h trainer/ranks.h \
 trainer/reduce.h
core/banned.h:
trainer/learners/pqn.h:
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
trainer/advantage.h:
trainer/estimators.h:
trainer/gradient.h:
trainer/learners/descent.h:
trainer/optimizer.h:
trainer/ops/update.h:
trainer/learners/epochs.h:
trainer/learners/queue.h:
trainer/communicator.h:
trainer/minibatch.h:
trainer/ranks.h:
trainer/reduce.h:
