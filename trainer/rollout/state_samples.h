/* Sampled states of a rollout on a device, for coverage and for files of visited states. Which states are sampled is
 * known before the rollout, so each step gathers its own on the device, and the host reads all of them once, at the
 * end. */
#ifndef TRAINER_STATE_SAMPLES_H
#define TRAINER_STATE_SAMPLES_H
#include <stdint.h>

#include "core/device/arena.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/shards.h"

/* Sample of one rollout: a stratified one of the run's states (math/sample.h), of which each rank has those of its own
 * worlds. */
typedef struct StateSample {
  uint64_t seed;
  int64_t iteration, states, total; /* sampled states and all states, of all ranks */
} StateSample;

typedef struct StateSamples {
  int64_t count;               /* sampled states of this rank */
  size_t row;                  /* floats of a state */
  int64_t *first;              /* [steps + 1] first sampled state of each step */
  uint32_t *world, *number;    /* [count] world of this rank, number in the sample */
  uint32_t *world_on_device;   /* [count] */
  float *rows;                 /* [count][row] on the device; NULL: too large, states are copied step by step */
  float *copy;                 /* [count][row] on the host */
  int steps;
} StateSamples;

/* Logits of the sampled states alone, of the states that metrics.c samples. Each step gathers the same number of rows,
 * so that a graph of the steps fits all rollouts; those beyond the step's samples are of world 0. */
typedef struct LogitSamples {
  int steps, capacity;         /* rows of a step, at least its samples */
  uint32_t *world;             /* [steps][capacity] */
  uint32_t *world_on_device;
  uint32_t *place;             /* [states] row in `logits` of each sampled state of this rank, in their order */
  int *count;                  /* [steps] */
  float *logits;               /* [steps][capacity][logits], on the device */
} LogitSamples;

void logit_samples_register(LogitSamples *samples, int64_t states, int steps, size_t logits, CoreArena *arena);
/* Lists this rank's states of a sample. */
void logit_samples_choose(LogitSamples *samples, CoreDevice *device, const Shards *shards, const StateSample *sample);
/* Gathers those of step t from logits [worlds][columns]. */
void logit_samples_gather(const LogitSamples *samples, Ops *ops, int t, const float *logits, int columns);

/* Registers the buffers for samples of up to `states` states. Registers none without a device, or where they would take
 * more than 1 GiB. */
void state_samples_register(StateSamples *samples, int64_t states, int steps, size_t row, CoreArena *arena);
/* Lists this rank's states of a sample. */
void state_samples_choose(StateSamples *samples, CoreDevice *device, const Shards *shards, const StateSample *sample);
/* Gathers those of step t; shown: the states after it, [worlds][row]. */
void state_samples_gather(const StateSamples *samples, Ops *ops, int t, const float *shown);
/* Copies all to samples->copy. */
void state_samples_read(StateSamples *samples, CoreDevice *device);

#endif
