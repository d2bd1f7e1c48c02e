build2/obj/trainer/evaluate.o: trainer/evaluate.c core/banned.h \
 trainer/evaluate.h store/runlog.h core/error.h trainer/trial.h \
 trainer/agent.h core/config.h core/ini.h core/text.h core/config.def \
 core/memory.h core/device.h core/device_kernel.h trainer/encoder.h \
 sim/observe_layout.h sim/level.h sim/real.h trainer/ops/ops.h \
 trainer/moments.h trainer/envs/env.h trainer/network.h \
 trainer/observer.h trainer/normalise.h trainer/normalise_rule.h \
 trainer/shards.h core/random.h trainer/ranks.h
core/banned.h:
trainer/evaluate.h:
store/runlog.h:
core/error.h:
trainer/trial.h:
trainer/agent.h:
core/config.h:
core/ini.h:
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
trainer/observer.h:
trainer/normalise.h:
trainer/normalise_rule.h:
trainer/shards.h:
core/random.h:
trainer/ranks.h:
