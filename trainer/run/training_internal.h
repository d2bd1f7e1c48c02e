/* Parts of training.c: the device, its memory, bf16 on the CPU, and measurements. inherit.c and the player restore with
 * them. */
#ifndef TRAINER_RUN_TRAINING_INTERNAL_H
#define TRAINER_RUN_TRAINING_INTERNAL_H
#include "trainer/run/training.h"

/* ---- training_device.c ------------------------------------------------------------------------------------------- */

/* Training on a device: choice of the device, what cannot be trained there yet, and the copies of device memory that
 * checkpoints read and write. Called by training.c and inherit.c only. */

/* Chooses the device of train.device for this configuration, before buffers are registered. CORE_USAGE: cuda, where the
 * build, the machine or the configuration rule it out; auto then falls back to the CPU and stores the reason in
 * device_note. */
int training_device_open(Training *training);
/* Checks the environment once it is created, before buffers are registered. If it has no worlds on devices, cuda wraps
 * it (wrappers/host_env.h), and auto falls back to the CPU and stores the reason in device_note. */
int training_device_check_env(Training *training);
/* Connects the ranks' devices, if any (communicator.h), before the first gradient; called by all ranks. */
int training_device_connect(Training *training);
/* Returns the ops' precision for train.precision. */
OpsPrecision training_device_precision(const CoreConfig *config);
/* Creates ops on the device, or on the CPU. */
int training_device_create_ops(Training *training);
/* Replaces sections in device memory by copies on the host. */
void training_device_mirror(Training *training, Checkpoint *checkpoint);
void training_device_download(const Training *training);  /* before the sections are written */
void training_device_upload(const Training *training);    /* after they were read */
void training_device_close(Training *training);

/* ---- training_memory.c ------------------------------------------------------------------------------------------- */

/* Estimate of the device memory that training takes, before anything is allocated: every buffer by name, and the
 * setting that shrinks the largest ones. Called by training.c and training_device.c only. */

/* Returns the bytes on the device: buffers, worlds, memory of the ops, the matrix library's workspace and the CUDA
 * context. */
double training_memory_estimate(const Training *training, double worlds_bytes);
/* Fills in the plan's numbers of instances of the environment: those that train, that evaluate, and that exist while
 * the coverage box is played. */
void training_memory_count_worlds(Training *training);
/* Checks the plan against the device's memory. CORE_FAIL names both sizes, the largest tensors, and what to set. */
int training_memory_check(const Training *training);
/* Adds to the message of a failed allocation on the device what to set; returns `code`. */
int training_memory_suggest(const Training *training, int code);

/* ---- training_bf16.c --------------------------------------------------------------------------------------------- */

/* Choice of a run's bf16 methods on the CPU with train.precision = bf16 (trainer/ops/bf16.h): made at its start, saved
 * in its checkpoints, the same at all ranks. With other precisions these do nothing. */

#define TRAINING_BF16_SECTION "bf16"

void training_bf16_add_section(Training *training, Checkpoint *checkpoint);
/* Chooses, with ops and worlds; called by all ranks: all use the first one's choice. */
void training_bf16_start(Training *training);
/* Applies a restored choice, as far as this processor supports it, once the section is the same at all ranks; called by
 * all ranks. CORE_FAIL: the section holds no choice for these layers. */
int training_bf16_restored(Training *training);

/* ---- training_measure.c ------------------------------------------------------------------------------------------ */

/* Chooses the measurements of this iteration and prepares those of its rollout, for which the coverage box may have to
 * be played first. Errors as coverage_begin. */
int training_prepare_metrics(Training *training, uint64_t seed, int64_t iteration);
/* Begins those of the update. */
void training_begin_metrics(Training *training, uint64_t seed, int64_t iteration);
/* Measures the update, and finishes all measurements. */
void training_finish_metrics(Training *training, uint64_t seed, int64_t iteration, MetricsPolicyChange *change,
                             StoreIteration *row);

#endif
