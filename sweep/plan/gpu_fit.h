/* Compares the trainer's estimate of a rank's device memory with the GPUs that a run requests. */
#ifndef SWEEP_GPU_FIT_H
#define SWEEP_GPU_FIT_H
#include <stdbool.h>

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

/* Whether a minibatch is a slice of neighboring environments (ppo.shuffle = none), which few of several ranks have. */
bool sweep_has_slices(const CoreConfig *config);
/* Returns the rows of each minibatch that a rank computes or waits for, relative to an equal share. Above 1 for slices,
 * and on GPUs because a random number of rows is padded to its largest (minibatch_capacity of the trainer). 1: one
 * rank, or ppo.shuffle = blocks. */
double sweep_gpu_padding(const SlurmSettings *settings, const CoreConfig *config);

#endif
