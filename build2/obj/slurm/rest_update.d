build2/obj/slurm/rest_update.o: slurm/rest_update.c core/banned.h \
 core/memory.h core/device.h core/device_kernel.h core/error.h \
 slurm/rest_internal.h slurm/cluster.h slurm/settings.h core/text.h \
 slurm/settings.def
core/banned.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
slurm/rest_internal.h:
slurm/cluster.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
