build2/obj/slurm/cluster.o: slurm/cluster.c core/banned.h slurm/cluster.h \
 core/error.h slurm/settings.h core/text.h slurm/settings.def \
 core/memory.h core/device.h core/device_kernel.h
core/banned.h:
slurm/cluster.h:
core/error.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
core/memory.h:
core/device.h:
core/device_kernel.h:
