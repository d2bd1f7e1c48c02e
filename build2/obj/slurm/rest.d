build2/obj/slurm/rest.o: slurm/rest.c core/banned.h core/files.h \
 core/text.h core/error.h core/http.h core/memory.h core/device.h \
 core/device_kernel.h core/terminal.h slurm/limits_internal.h \
 slurm/cluster.h slurm/settings.h slurm/settings.def \
 slurm/rest_internal.h
core/banned.h:
core/files.h:
core/text.h:
core/error.h:
core/http.h:
core/memory.h:
core/device.h:
core/device_kernel.h:
core/terminal.h:
slurm/limits_internal.h:
slurm/cluster.h:
slurm/settings.h:
slurm/settings.def:
slurm/rest_internal.h:
