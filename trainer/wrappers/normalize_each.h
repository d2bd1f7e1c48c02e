/* Running normalization of observations with separate statistics per world, like gymnasium's NormalizeObservation
 * inside each environment (CleanRL's ppo_continuous_action): each step's observation updates its world's statistics,
 * starting from 1e-4 observations of mean 0 and variance 1. A world's values depend on that world alone, whatever
 * ranks, shards and threads there are. Used by obs_pipeline.c; rewards with statistics per world are in normalize.c. */
#ifndef TRAINER_NORMALIZE_EACH_H
#define TRAINER_NORMALIZE_EACH_H
#include <stdint.h>

#include "core/device/arena.h"

typedef struct NormalizeEach {
  int worlds, features;
  double *moments;     /* [worlds][1 + 2 features] a record of each world as in normalize.h: a checkpoint's section */
  CoreDevice *device;  /* device of these, and of the arrays below; NULL: on the host */
} NormalizeEach;

void normalize_each_register(NormalizeEach *each, int worlds, int features, CoreArena *arena);
/* Resets the statistics. */
void normalize_each_start(NormalizeEach *each);
/* Last observations of episodes, of worlds with done = 1; rows of other worlds are neither read nor written. */
typedef struct NormalizeLast {
  const uint8_t *dones;  /* [worlds] */
  const float *raw;      /* [worlds][features] */
  float *seen;           /* the same, normalized by the statistics at that point; NULL: not wanted */
  int seen_stride;       /* stride of its rows */
} NormalizeLast;
/* Adds x [worlds][features], preceded by `last`; NULL: there was none, or it is not reported. */
void normalize_each_add(const NormalizeEach *each, const float *x, const NormalizeLast *last);
/* Normalizes x [worlds][features] -> y, rows of y_stride floats. */
void normalize_each_apply(const NormalizeEach *each, const float *x, float *y, int y_stride);

/* Pools the statistics of all worlds of the run -> pooled [1 + 2 features], on the host; called by all ranks. The same
 * for any number of ranks. */
void normalize_each_pool(const NormalizeEach *each, int global_worlds, double *pooled);
/* Initializes records [worlds][1 + 2 features] that pool to `pooled`, for worlds that start with other worlds'
 * statistics. Both on the host. */
void normalize_each_spread(const double *pooled, int worlds, int features, double *records);

#endif
