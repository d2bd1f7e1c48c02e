build2/obj/trainer/minibatch.o: trainer/minibatch.c core/banned.h \
 trainer/minibatch.h trainer/rollout.h trainer/agent.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/memory.h \
 core/device.h core/device_kernel.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/ops/ops.h \
 trainer/moments.h trainer/envs/env.h trainer/network.h trainer/compact.h \
 trainer/coverage.h trainer/shards.h trainer/observer.h \
 trainer/normalise.h trainer/normalise_rule.h trainer/sections.h \
 trainer/checkpoint.h core/files.h trainer/visited.h core/random.h \
 trainer/minibatch_device.h trainer/ops/kernels_ranks.h \
 trainer/learners/sapg_layout.h trainer/ops/update.h trainer/kurtosis.h \
 trainer/reduce.h
core/banned.h:
trainer/minibatch.h:
trainer/rollout.h:
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
trainer/minibatch_device.h:
trainer/ops/kernels_ranks.h:
trainer/learners/sapg_layout.h:
trainer/ops/update.h:
trainer/kurtosis.h:
trainer/reduce.h:
