build2/obj/trainer/encoder.o: trainer/encoder.c core/banned.h \
 trainer/encoder_internal.h trainer/encoder.h core/memory.h core/device.h \
 core/device_kernel.h core/error.h sim/observe_layout.h sim/level.h \
 core/text.h sim/real.h trainer/ops/ops.h trainer/moments.h \
 trainer/ops/entity.h core/random.h trainer/network.h
core/banned.h:
trainer/encoder_internal.h:
trainer/encoder.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
sim/observe_layout.h:
sim/level.h:
core/text.h:
sim/real.h:
trainer/ops/ops.h:
trainer/moments.h:
trainer/ops/entity.h:
core/random.h:
trainer/network.h:
