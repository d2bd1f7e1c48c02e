build2/obj/trainer/kurtosis.o: trainer/kurtosis.c core/banned.h \
 trainer/kurtosis.h trainer/moments.h core/device_kernel.h
core/banned.h:
trainer/kurtosis.h:
trainer/moments.h:
core/device_kernel.h:
