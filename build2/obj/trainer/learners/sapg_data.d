build2/obj/trainer/learners/sapg_data.o: trainer/learners/sapg_data.c \
 core/banned.h core/random.h trainer/estimators.h trainer/moments.h \
 core/device_kernel.h trainer/learners/sapg.h trainer/advantage.h \
 trainer/ops/ops.h core/device.h core/error.h trainer/gradient.h \
 trainer/agent.h core/config.h core/ini.h core/text.h core/config.def \
 core/memory.h trainer/encoder.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/envs/env.h trainer/network.h trainer/shards.h \
 trainer/learners/learner.h trainer/checkpoint.h core/files.h \
 trainer/kurtosis.h trainer/profile.h trainer/rollout.h trainer/compact.h \
 trainer/coverage.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h trainer/sections.h trainer/visited.h \
 trainer/learners/queue.h trainer/communicator.h trainer/minibatch.h \
 trainer/optimizer.h trainer/ops/update.h trainer/learners/sapg_layout.h \
 trainer/minibatch_device.h trainer/ops/kernels_ranks.h \
 trainer/ops/kernels_each.h trainer/ops/kernels.h trainer/ops/kernels.def \
 trainer/ops/kernels_observe.h trainer/ops/row_half_internal.h \
 trainer/ops/fast_math_internal.h trainer/ops/kernels_sapg.h \
 trainer/reduce.h
core/banned.h:
core/random.h:
trainer/estimators.h:
trainer/moments.h:
core/device_kernel.h:
trainer/learners/sapg.h:
trainer/advantage.h:
trainer/ops/ops.h:
core/device.h:
core/error.h:
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
trainer/minibatch_device.h:
trainer/ops/kernels_ranks.h:
trainer/ops/kernels_each.h:
trainer/ops/kernels.h:
trainer/ops/kernels.def:
trainer/ops/kernels_observe.h:
trainer/ops/row_half_internal.h:
trainer/ops/fast_math_internal.h:
trainer/ops/kernels_sapg.h:
trainer/reduce.h:
