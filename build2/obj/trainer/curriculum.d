build2/obj/trainer/curriculum.o: trainer/curriculum.c core/banned.h \
 trainer/curriculum.h store/runlog.h core/error.h trainer/checkpoint.h \
 core/config.h core/ini.h core/text.h core/config.def core/files.h \
 trainer/level_search.h trainer/level_buffer.h core/memory.h \
 core/device.h core/device_kernel.h trainer/shards.h trainer/trial.h \
 trainer/agent.h trainer/encoder.h sim/observe_layout.h sim/level.h \
 sim/real.h trainer/ops/ops.h trainer/moments.h trainer/envs/env.h \
 trainer/network.h trainer/observer.h trainer/normalise.h \
 trainer/normalise_rule.h trainer/rollout.h trainer/compact.h \
 trainer/coverage.h trainer/sections.h trainer/visited.h core/random.h
core/banned.h:
trainer/curriculum.h:
store/runlog.h:
core/error.h:
trainer/checkpoint.h:
core/config.h:
core/ini.h:
core/text.h:
core/config.def:
core/files.h:
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
core/random.h:
