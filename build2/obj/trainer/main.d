build2/obj/trainer/main.o: trainer/main.c core/banned.h core/config.h \
 core/ini.h core/error.h core/text.h core/config.def core/device.h \
 core/device_kernel.h core/options.h trainer/check_level.h \
 trainer/checkpoint.h core/files.h trainer/machine.h \
 trainer/morphologies.h sim/level.h trainer/ops/ops.h trainer/moments.h \
 trainer/play.h trainer/ranks.h trainer/run.h trainer/scaling.h \
 trainer/gradient.h trainer/agent.h core/memory.h trainer/encoder.h \
 sim/observe_layout.h sim/real.h trainer/envs/env.h trainer/network.h \
 trainer/shards.h trainer/show.h
core/banned.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/device.h:
core/device_kernel.h:
core/options.h:
trainer/check_level.h:
trainer/checkpoint.h:
core/files.h:
trainer/machine.h:
trainer/morphologies.h:
sim/level.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/play.h:
trainer/ranks.h:
trainer/run.h:
trainer/scaling.h:
trainer/gradient.h:
trainer/agent.h:
core/memory.h:
trainer/encoder.h:
sim/observe_layout.h:
sim/real.h:
trainer/envs/env.h:
trainer/network.h:
trainer/shards.h:
trainer/show.h:
