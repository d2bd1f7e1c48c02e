build2/obj/trainer/envs/sim.o: trainer/envs/sim.c core/banned.h \
 trainer/envs/sim.h sim/batch.h core/device.h core/device_kernel.h \
 sim/observe_layout.h sim/level.h core/error.h core/text.h sim/real.h \
 trainer/envs/env.h core/config.h core/ini.h core/config.def \
 trainer/ops/ops.h trainer/moments.h core/memory.h sim/filter.h \
 sim/generate.h sim/level_device.h sim/level_stream.h sim/observe.h \
 sim/model.h sim/world.h trainer/levels.h
core/banned.h:
trainer/envs/sim.h:
sim/batch.h:
core/device.h:
core/device_kernel.h:
sim/observe_layout.h:
sim/level.h:
core/error.h:
core/text.h:
sim/real.h:
trainer/envs/env.h:
core/config.h:
core/ini.h:
core/config.def:
trainer/ops/ops.h:
trainer/moments.h:
core/memory.h:
sim/filter.h:
sim/generate.h:
sim/level_device.h:
sim/level_stream.h:
sim/observe.h:
sim/model.h:
sim/world.h:
trainer/levels.h:
