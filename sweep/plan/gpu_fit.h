/* Compares the trainer's estimate of a rank's device memory with the GPUs that a run requests. */
#ifndef SWEEP_GPU_FIT_H
#define SWEEP_GPU_FIT_H
#include "core/config/config.h"
#include "core/text.h"
#include "slurm/settings.h"

typedef enum SweepGpuFit {
  SWEEP_GPU_FITS,
  SWEEP_GPU_UNKNOWN, /* the GPU's memory is unknown; the message has the required memory */
  SWEEP_GPU_UNUSED,  /* some or all requested GPUs would not be used */
  SWEEP_GPU_TOO_SMALL,
} SweepGpuFit;

/* Returns the memory of one GPU in bytes: slurm.gpu_mem, else that of the smallest model named slurm.gpu_type; 0:
 * unknown. */
double sweep_gpu_bytes(const SlurmSettings *settings);

/* Returns the memory in bytes that a run needs on each of its GPUs. device_bytes: of one rank. */
double sweep_gpu_needed(const SlurmSettings *settings, double device_bytes);

/* Compares, and appends a message unless the run fits. device_bytes 0: it trains on processors. */
SweepGpuFit sweep_gpu_fit(const SlurmSettings *settings, const CoreConfig *config, double device_bytes,
                          CoreText *message);

/* Returns the rows that a rank with a GPU computes of each minibatch, relative to its own: above 1, because a random
 * number of rows is padded to its largest (minibatch_capacity of the trainer); 1: none are, as with ppo.shuffle =
 * blocks. */
double sweep_gpu_padding(const SlurmSettings *settings, const CoreConfig *config);

#endif
