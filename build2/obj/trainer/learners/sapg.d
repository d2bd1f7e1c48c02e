build2/obj/trainer/learners/sapg.o: trainer/learners/sapg.c core/banned.h \
 trainer/learners/sapg.h trainer/advantage.h trainer/ops/ops.h \
 core/device.h core/device_kernel.h core/error.h trainer/moments.h \
 trainer/gradient.h trainer/agent.h core/config.h core/ini.h core/text.h \
 core/config.def core/memory.h trainer/encoder.h sim/observe_layout.h \
 sim/level.h sim/real.h trainer/envs/env.h trainer/network.h \
 trainer/shards.h trainer/learners/learner.h trainer/checkpoint.h \
 core/files.h trainer/kurtosis.h trainer/profile.h trainer/rollout.h \
 trainer/compact.h trainer/coverage.h trainer/observer.h \
 trainer/normalise.h trainer/normalise_rule.h trainer/sections.h \
 trainer/visited.h trainer/learners/queue.h trainer/communicator.h \
 trainer/minibatch.h trainer/optimizer.h trainer/ops/update.h \
 trainer/learners/sapg_layout.h trainer/learners/descent.h \
 trainer/ranks.h trainer/reduce.h
core/banned.h:
trainer/learners/sapg.h:
trainer/advantage.h:
trainer/ops/ops.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/moments.h:
trainer/gradient.h:
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
trainer/learners/queue.h:
trainer/communicator.h:
trainer/minibatch.h:
trainer/optimizer.h:
trainer/ops/update.h:
trainer/learners/sapg_layout.h:
trainer/learners/descent.h:
trainer/ranks.h:
trainer/reduce.h:
