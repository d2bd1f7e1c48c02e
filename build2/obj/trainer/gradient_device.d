build2/obj/trainer/gradient_device.o: trainer/gradient_device.c \
 core/banned.h trainer/gradient_device.h trainer/gradient.h \
 trainer/agent.h core/config.h core/ini.h core/error.h core/text.h \
 core/config.def core/memory.h core/device.h core/device_kernel.h \
 trainer/encoder.h sim/observe_layout.h sim/level.h sim/real.h \
 trainer/ops/ops.h trainer/moments.h trainer/envs/env.h trainer/network.h \
 trainer/shards.h trainer/communicator.h trainer/ops/kernels.h \
 trainer/ops/kernels.def trainer/ops/kernels_ranks.h \
 trainer/learners/sapg_layout.h
core/banned.h:
trainer/gradient_device.h:
trainer/gradient.h:
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
trainer/shards.h:
trainer/communicator.h:
trainer/ops/kernels.h:
trainer/ops/kernels.def:
trainer/ops/kernels_ranks.h:
trainer/learners/sapg_layout.h:
