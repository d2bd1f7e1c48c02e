/* What training takes of a device's memory, before anything is allocated: every buffer by name, and the setting that
 * makes the largest ones smaller. Only training.c and training_device.c call these. */
#ifndef TRAINER_TRAINING_MEMORY_H
#define TRAINER_TRAINING_MEMORY_H
#include "trainer/run/training.h"

/* Bytes on the device: buffers, worlds, what ops need beside them, the matrix library's workspace and
 * the CUDA context. */
double training_memory_estimate(const Training *training, double worlds_bytes);
/* Fills the plan's numbers of worlds that are objects of other code. */
void training_memory_count(Training *training);
/* CORE_FAIL when the plan exceeds the device's memory: both sizes, the largest tensors, and what to set. */
int training_memory_check(const Training *training);
/* Adds to the message of a failed allocation on the device what to set; returns `code`. */
int training_memory_suggest(const Training *training, int code);

#endif
