build2/obj/slurm/command.o: slurm/command.c core/banned.h core/memory.h \
 core/device.h core/device_kernel.h core/error.h \
 slurm/allowance_internal.h slurm/cluster.h slurm/settings.h core/text.h \
 slurm/settings.def slurm/limits_internal.h slurm/process_internal.h
core/banned.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/error.h:
slurm/allowance_internal.h:
slurm/cluster.h:
slurm/settings.h:
core/text.h:
slurm/settings.def:
slurm/limits_internal.h:
slurm/process_internal.h:
