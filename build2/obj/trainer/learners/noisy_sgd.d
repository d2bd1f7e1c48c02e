build2/obj/trainer/learners/noisy_sgd.o: trainer/learners/noisy_sgd.c \
 core/banned.h trainer/learners/noisy_sgd.h core/config.h core/ini.h \
 core/error.h core/text.h core/config.def core/memory.h core/device.h \
 core/device_kernel.h core/schedule.h store/runlog.h core/random.h
core/banned.h:
trainer/learners/noisy_sgd.h:
core/config.h:
core/ini.h:
core/error.h:
core/text.h:
core/config.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/schedule.h:
store/runlog.h:
core/random.h:
