/* Running normalisation of observations where each world has statistics of its own, as gymnasium's NormalizeObservation
 * inside of each environment (CleanRL's ppo_continuous_action): each step's observation joins its world's, from 1e-4
 * observations of mean 0 and variance 1 on. A world's numbers follow from that world alone, whatever ranks, shards and
 * threads there are. Used by observer.c; rewards with statistics a world are normalise.c's. */
#ifndef TRAINER_NORMALIZE_EACH_H
#define TRAINER_NORMALIZE_EACH_H
#include <stdint.h>

#include "core/device/arena.h"

typedef struct NormalizeEach {
  int worlds, features;
  double *moments;     /* [worlds][1 + 2 features] a record of each world as in normalise.h: a checkpoint's section */
  CoreDevice *device;  /* where these are, and the arrays of the functions below; NULL: on the host */
} NormalizeEach;

void normalize_each_register(NormalizeEach *each, int worlds, int features, CoreArena *arena);
/* No observations yet. */
void normalize_each_start(NormalizeEach *each);
/* The last observations of episodes, of worlds with done = 1; rows of other worlds are neither read nor written. */
typedef struct NormalizeLast {
  const uint8_t *dones;  /* [worlds] */
  const float *raw;      /* [worlds][features] */
  float *seen;           /* the same, normalised by the statistics of that moment; NULL: not wanted */
  int seen_stride;       /* of its rows */
} NormalizeLast;
/* x [worlds][features] has arrived, and before it `last`; NULL: there was none, or nobody told. */
void normalize_each_add(const NormalizeEach *each, const float *x, const NormalizeLast *last);
/* x [worlds][features] -> y, rows of y_stride numbers. */
void normalize_each_apply(const NormalizeEach *each, const float *x, float *y, int y_stride);

/* All ranks: the statistics of all observations of all worlds of the run -> pooled [1 + 2 features], on the host. The
 * same for any number of ranks. */
void normalize_each_pool(const NormalizeEach *each, int global_worlds, double *pooled);
/* The reverse for worlds that begin with what others have seen: records [worlds][1 + 2 features] that pool to it. Both
 * on the host. */
void normalize_each_spread(const double *pooled, int worlds, int features, double *records);

#endif
