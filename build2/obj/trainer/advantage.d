build2/obj/trainer/advantage.o: trainer/advantage.c core/banned.h \
 trainer/advantage.h trainer/ops/ops.h core/device.h core/device_kernel.h \
 core/error.h trainer/moments.h trainer/ops/update.h trainer/kurtosis.h
core/banned.h:
trainer/advantage.h:
trainer/ops/ops.h:
core/device.h:
core/device_kernel.h:
core/error.h:
trainer/moments.h:
trainer/ops/update.h:
trainer/kurtosis.h:
