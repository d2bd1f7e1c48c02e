/* Whether a run fits the GPUs that it asks for: the trainer's estimate of a rank's device memory against a GPU's. */
#ifndef SWEEP_GPU_FIT_H
#define SWEEP_GPU_FIT_H
#include "core/config/config.h"
#include "core/text.h"
#include "slurm/settings.h"

typedef enum SweepGpuFit {
  SWEEP_GPU_FITS,
  SWEEP_GPU_UNKNOWN,   /* a GPU's memory is unknown; the message has what is needed */
  SWEEP_GPU_UNUSED,    /* GPUs are asked for and not used, all or some of them */
  SWEEP_GPU_TOO_SMALL,
} SweepGpuFit;

/* Returns the memory of one GPU in bytes: slurm.gpu_mem, else by slurm.gpu_type where its name says it (the smallest
 * that is sold by that name); 0: not known. */
double sweep_gpu_bytes(const SlurmSettings *settings);

/* Returns the bytes that a run takes of each of its GPUs. device_bytes: of one rank. */
double sweep_gpu_needed(const SlurmSettings *settings, double device_bytes);

/* Compares, and appends a message unless it fits. device_bytes 0: the run trains on processors. */
SweepGpuFit sweep_gpu_fit(const SlurmSettings *settings, const CoreConfig *config, double device_bytes,
                          CoreText *message);

#endif
