build2/obj/slurm/process.o: slurm/process.c core/banned.h core/files.h \
 core/text.h core/error.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h slurm/process_internal.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
slurm/process_internal.h:
