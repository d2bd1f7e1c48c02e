build2/obj/trainer/inherit.o: trainer/inherit.c core/banned.h \
 trainer/inherit.h trainer/training.h store/runlog.h core/error.h \
 trainer/checkpoint.h core/config.h core/ini.h core/text.h \
 core/config.def core/files.h trainer/curriculum.h trainer/level_search.h \
 trainer/level_buffer.h core/memory.h core/device.h core/device_kernel.h \
 trainer/shards.h trainer/trial.h trainer/agent.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/ops/ops.h \
 trainer/moments.h trainer/envs/env.h trainer/network.h \
 trainer/observer.h trainer/normalise.h trainer/normalise_rule.h \
 trainer/rollout.h trainer/compact.h trainer/coverage.h \
 trainer/sections.h trainer/visited.h trainer/evaluation_sets.h \
 trainer/evaluate.h trainer/learners/learner.h trainer/kurtosis.h \
 trainer/profile.h trainer/learners/noisy_sgd.h core/schedule.h \
 trainer/metrics.h trainer/representation.h core/origin.h store/paths.h \
 trainer/training_device.h
core/banned.h:
trainer/inherit.h:
trainer/training.h:
store/runlog.h:
core/error.h:
trainer/checkpoint.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/files.h:
trainer/curriculum.h:
trainer/level_search.h:
trainer/level_buffer.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
trainer/shards.h:
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
trainer/rollout.h:
trainer/compact.h:
trainer/coverage.h:
trainer/sections.h:
trainer/visited.h:
trainer/evaluation_sets.h:
trainer/evaluate.h:
trainer/learners/learner.h:
trainer/kurtosis.h:
trainer/profile.h:
trainer/learners/noisy_sgd.h:
core/schedule.h:
trainer/metrics.h:
trainer/representation.h:
core/origin.h:
store/paths.h:
trainer/training_device.h:
