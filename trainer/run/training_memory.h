/* Estimate of the device memory that training takes, before anything is allocated: every buffer by name, and the
 * setting that shrinks the largest ones. Called by training.c and training_device.c only. */
#ifndef TRAINER_TRAINING_MEMORY_H
#define TRAINER_TRAINING_MEMORY_H
#include "trainer/run/training.h"

/* Returns the bytes on the device: buffers, worlds, memory of the ops, the matrix library's workspace and the CUDA
 * context. */
double training_memory_estimate(const Training *training, double worlds_bytes);
/* Fills the plan's numbers of worlds that are objects of foreign code. */
void training_memory_count(Training *training);
/* Checks the plan against the device's memory. CORE_FAIL names both sizes, the largest tensors, and what to set. */
int training_memory_check(const Training *training);
/* Adds to the message of a failed allocation on the device what to set; returns `code`. */
int training_memory_suggest(const Training *training, int code);

#endif
