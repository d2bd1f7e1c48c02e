build2/obj/trainer/estimators.o: trainer/estimators.c \
 core/banned.h trainer/estimators.h trainer/moments.h \
 core/device_kernel.h
core/banned.h:
trainer/estimators.h:
trainer/moments.h:
core/device_kernel.h:
