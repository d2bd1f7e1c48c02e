/* Measurements of an iteration. Called by training.c only. */
#ifndef TRAINER_TRAINING_MEASURE_H
#define TRAINER_TRAINING_MEASURE_H
#include "trainer/run/training.h"

/* Sets up the measurements of this iteration, before its rollout. */
int training_choose_metrics(Training *training, uint64_t seed, int64_t iteration);
/* Begins those of the update. */
void training_begin_metrics(Training *training, uint64_t seed, int64_t iteration);
/* Measures the update, and finishes all measurements. */
void training_finish_metrics(Training *training, uint64_t seed, int64_t iteration, MetricsPolicyChange *change,
                             StoreIteration *row);

#endif
