build2/obj/trainer/learners/ppo.o: trainer/learners/ppo.c core/banned.h \
 trainer/learners/ppo.h trainer/advantage.h trainer/ops/ops.h \
 core/device.h core/device_kernel.h core/error.h trainer/moments.h \
 trainer/learners/queue.h trainer/agent.h core/config.h core/ini.h \
 core/text.h core/config.def core/memory.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/envs/env.h \
 trainer/network.h trainer/communicator.h trainer/gradient.h \
 trainer/shards.h trainer/learners/learner.h trainer/checkpoint.h \
 core/files.h trainer/kurtosis.h trainer/profile.h trainer/rollout.h \
 trainer/compact.h trainer/coverage.h trainer/observer.h \
 trainer/normalise.h trainer/normalise_rule.h trainer/sections.h \
 trainer/visited.h trainer/minibatch.h trainer/optimizer.h \
 trainer/ops/update.h core/random.h trainer/estimators.h \
 trainer/learners/descent.h trainer/learners/epochs.h trainer/ranks.h \
 trainer/reduce.h
core/banned.h:
trainer/learners/ppo.h:
trainer/advantage.h:
trainer/ops/ops.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/moments.h:
trainer/learners/queue.h:
trainer/agent.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/memory.h:
trainer/encoder.h:
sim/observe_layout.h:
sim/level.h:
sim/real.h:
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
core/random.h:
trainer/estimators.h:
trainer/learners/descent.h:
trainer/learners/epochs.h:
trainer/ranks.h:
trainer/reduce.h:
