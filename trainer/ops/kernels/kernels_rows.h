/* Kernels of a minibatch's rows: a permutation, the rows of whole environments, and those of sequences. Kernels of the
 * agent's observations apart from normalization (trainer/wrappers/obs_pipeline.h): half precision, stored or only
 * rounded to, and the last column with the block of a row (SAPG). Kernels of SAPG's samples. */
#ifndef TRAINER_OPS_KERNELS_ROWS_H
#define TRAINER_OPS_KERNELS_ROWS_H
#include "core/device/device_kernel.h"
#include "core/random.h"
#include "trainer/math/sapg_layout.h"
#include "trainer/ops/row_half_internal.h"

/* ---- the permutation of core_random_permutation, all positions in parallel --------------------------------------- */

/* Step i = 0 .. n-1 of the shuffle swaps positions i and j(i) <= i, where j(i) is a random number. Position p is
 * written by step p and then by the steps i > p with j(i) = p, its writers, each of which stores i there. So position p
 * ends with its last writer or, if there is none, with the content of j(p) at step p: the last writer of j(p) before p
 * or, if there is none, the content of j(j(p)) at step j(p), and so on. A position has log(n/p) writers on average and
 * the chain is no longer than log n, so lists of writers, in any order, suffice: the first kernel builds them, the
 * second follows the chain from each position. The result does not depend on the order of threads. */

typedef struct OpsPermute {
  uint64_t seed;
  uint32_t purpose, a, b;      /* stream, as in core_random_permutation */
  uint32_t n;
  uint32_t *first, *next;      /* [n] lists: a position's first writer, a writer's next one; OPS_NONE: end */
  uint32_t *order;             /* [n] */
} OpsPermute;

enum { OPS_WORDS = 4 };        /* random numbers per thread */
#define OPS_NONE 0xffffffffu   /* n is less: minibatch.c */

CORE_KERNEL_FN uint32_t ops_swapped_with(const OpsPermute *a, uint32_t i) {
  const CoreRandom4 words = core_random_4(a->seed, a->purpose, a->a, a->b, i / OPS_WORDS);
  return core_random_below(words.v[i % OPS_WORDS], i + 1);
}

/* Each thread draws the random numbers of OPS_WORDS steps. */
CORE_KERNEL_FN void ops_list_writers(const CoreDeviceThread *at, const OpsPermute *a) {
  const size_t groups = ((size_t)a->n + OPS_WORDS - 1) / OPS_WORDS;
  for (size_t group = core_device_first(at); group < groups; group += core_device_stride(at)) {
    const CoreRandom4 words = core_random_4(a->seed, a->purpose, a->a, a->b, (uint32_t)group);
    for (uint32_t k = 0; k < OPS_WORDS; k++) {
      const size_t i = group * OPS_WORDS + k;
      if (i >= a->n) break;
      const uint32_t j = core_random_below(words.v[k], (uint32_t)i + 1);
      if (j != i) a->next[i] = core_device_atomic_exchange(&a->first[j], (uint32_t)i);
    }
  }
}

/* Returns the last writer of a position before step `before`, or OPS_NONE. */
CORE_KERNEL_FN uint32_t ops_last_writer(const OpsPermute *a, uint32_t position, uint32_t before) {
  uint32_t last = OPS_NONE;
  for (uint32_t i = a->first[position]; i != OPS_NONE; i = a->next[i])
    if (i < before && (last == OPS_NONE || i > last)) last = i;
  return last;
}

CORE_KERNEL_FN void ops_permute(const CoreDeviceThread *at, const OpsPermute *a) {
  for (size_t p = core_device_first(at); p < a->n; p += core_device_stride(at)) {
    uint32_t taker = (uint32_t)p, found = ops_last_writer(a, taker, OPS_NONE);
    while (found == OPS_NONE) {
      const uint32_t from = ops_swapped_with(a, taker);
      if (from == taker) found = taker;
      else found = ops_last_writer(a, from, taker);
      taker = from;
    }
    a->order[p] = found;
  }
}

/* ---- rows of whole environments ---------------------------------------------------------------------------------- */

/* Returns row i of the list. */
CORE_KERNEL_FN uint32_t ops_world_row(const uint32_t *world, uint32_t i, CoreDivisor32 steps, uint32_t worlds) {
  const CoreDivided32 place = core_divide_32(i, steps);
  return place.rest * worlds + world[place.whole];
}

/* rows[count * steps]: of each named world its steps one after the other, in a rollout [steps][worlds]. */
typedef struct OpsWorldRows {
  const uint32_t *world;
  size_t count;
  CoreDivisor32 steps;
  uint32_t worlds;
  uint32_t *rows;
} OpsWorldRows;
CORE_KERNEL_FN void ops_world_rows(const CoreDeviceThread *at, const OpsWorldRows *a) {
  for (size_t i = core_device_first(at); i < a->count * a->steps.number; i += core_device_stride(at))
    a->rows[i] = ops_world_row(a->world, (uint32_t)i, a->steps, a->worlds);
}

/* ---- a recurrent policy's sequences (trainer/rollout/states.h) --------------------------------------------------- */

/* The functions of one element are also called by the host. */

/* rows[n]: the rollout's rows of the sequences `order`, one sequence after the other. */
typedef struct OpsSequenceRows { SapgLayout layout; const uint32_t *order; uint32_t *rows; size_t n; } OpsSequenceRows;
CORE_DEVICE_FN void ops_sequence_row(const OpsSequenceRows *a, size_t i) {
  const size_t length = (size_t)a->layout.sequence;
  a->rows[i] = sapg_sample(&a->layout, a->order[i / length], (uint32_t)(i % length));
}
CORE_KERNEL_FN void ops_sequence_rows(const CoreDeviceThread *at, const OpsSequenceRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_sequence_row(a, i);
}

/* rows [sequences][length], one sequence after the other -> by_step [length][sequences], one step after the other. */
typedef struct OpsStepRows { const uint32_t *rows; uint32_t *by_step; size_t n, length; } OpsStepRows;
CORE_DEVICE_FN void ops_step_row(const OpsStepRows *a, size_t i) {
  const size_t sequences = a->n / a->length;
  a->by_step[i] = a->rows[i % sequences * a->length + i / sequences];
}
CORE_KERNEL_FN void ops_step_rows(const CoreDeviceThread *at, const OpsStepRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_step_row(a, i);
}

/* starts[n]: for sequences that begin with these rows of [steps][worlds], the rows of their states among [steps /
 * length][worlds]. */
typedef struct OpsStartRows { const uint32_t *rows; uint32_t *starts; size_t n; uint32_t worlds, length; } OpsStartRows;
CORE_DEVICE_FN void ops_start_row(const OpsStartRows *a, size_t i) {
  a->starts[i] = a->rows[i] / a->worlds / a->length * a->worlds + a->rows[i] % a->worlds;
}
CORE_KERNEL_FN void ops_start_rows(const CoreDeviceThread *at, const OpsStartRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_start_row(a, i);
}

/* Clears states [worlds][state_size] where done. */
typedef struct OpsEndStates { float *states; const uint8_t *done; size_t worlds; CoreDivisor state_size; } OpsEndStates;
CORE_DEVICE_FN void ops_end_state(const OpsEndStates *a, size_t i) {
  if (a->done[core_divide(i, a->state_size).whole]) a->states[i] = 0;
}
CORE_KERNEL_FN void ops_end_states(const CoreDeviceThread *at, const OpsEndStates *a) {
  const size_t n = a->worlds * a->state_size.number;
  for (size_t i = core_device_first(at); i < n; i += core_device_stride(at)) ops_end_state(a, i);
}

/* ---- half precision -------------------------------------------------------------------------------------------- */

typedef struct OpsRoundHalves { float *x; size_t n; } OpsRoundHalves;
CORE_KERNEL_FN void ops_round_halves(const CoreDeviceThread *at, const OpsRoundHalves *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = row_from_half(row_to_half(a->x[i]));
}

typedef struct OpsStoreHalves { const float *x; size_t n; uint16_t *halves; } OpsStoreHalves;
CORE_KERNEL_FN void ops_store_halves(const CoreDeviceThread *at, const OpsStoreHalves *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) a->halves[i] = row_to_half(a->x[i]);
}

/* Gathers the named rows. */
typedef struct OpsGatherHalves {
  const uint16_t *source;
  const uint32_t *index;  /* [rows] */
  float *target;
  size_t rows;
  CoreDivisor columns;
} OpsGatherHalves;
CORE_KERNEL_FN void ops_gather_halves(const CoreDeviceThread *at, const OpsGatherHalves *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    a->target[i] = row_from_half(a->source[(size_t)a->index[place.whole] * a->columns.number + place.rest]);
  }
}

/* ---- the column of blocks: the last of rows [rows][columns]; other columns are unchanged ------------------------- */

/* Returns the block of one of global_worlds worlds, which are divided evenly. */
CORE_DEVICE_FN float ops_block_of_world(int64_t world, int64_t blocks, int64_t global_worlds) {
  return (float)(world * blocks / global_worlds);
}

/* Row w is world first_world + w. */
typedef struct OpsMarkWorlds {
  float *x;
  size_t rows, columns;
  int64_t first_world, blocks, global_worlds;
} OpsMarkWorlds;
CORE_DEVICE_FN void ops_mark_world(const OpsMarkWorlds *a, size_t w) {
  a->x[(w + 1) * a->columns - 1] = ops_block_of_world(a->first_world + (int64_t)w, a->blocks, a->global_worlds);
}
CORE_KERNEL_FN void ops_mark_worlds(const CoreDeviceThread *at, const OpsMarkWorlds *a) {
  for (size_t w = core_device_first(at); w < a->rows; w += core_device_stride(at)) ops_mark_world(a, w);
}

/* Sets one block for all rows, or for those whose sample index is at least `from`. */
typedef struct OpsMarkRows {
  float *x;
  size_t rows, columns;
  const uint32_t *sample; /* [rows]; NULL: all rows */
  uint32_t from;
  float block;
} OpsMarkRows;
CORE_DEVICE_FN void ops_mark_row(const OpsMarkRows *a, size_t r) {
  if (a->sample == NULL || a->sample[r] >= a->from) a->x[(r + 1) * a->columns - 1] = a->block;
}
CORE_KERNEL_FN void ops_mark_rows(const CoreDeviceThread *at, const OpsMarkRows *a) {
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) ops_mark_row(a, r);
}

/* ---- SAPG's samples (trainer/learners/sapg_data.c) --------------------------------------------------------------- */

/* Their rows in the rollout, the states that the leader values, and the sampled followers' transitions. The functions
 * of one element are also called by the host. */

/* index[n]: the rollout's rows of these samples. */
typedef struct OpsSapgRows { SapgShare share; const uint32_t *sample; size_t n; uint32_t *index; } OpsSapgRows;
CORE_DEVICE_FN void ops_sapg_row(const OpsSapgRows *a, size_t i) { a->index[i] = sapg_row(&a->share, a->sample[i]); }
CORE_KERNEL_FN void ops_sapg_rows(const CoreDeviceThread *at, const OpsSapgRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_sapg_row(a, i);
}

/* Chunk of the states [steps + 1][end - from] of columns from .. end - 1: number `first` and the n - 1 after it.
 * index[n]: their rows of the rollout. */
typedef struct OpsSapgStates {
  SapgShare share;
  uint32_t from, end;
  size_t first, n;
  uint32_t *index;
} OpsSapgStates;
CORE_DEVICE_FN void ops_sapg_state(const OpsSapgStates *a, size_t i) {
  const size_t count = a->end - a->from, state = a->first + i;
  const uint32_t world = sapg_world_of_column(&a->share, a->from + (uint32_t)(state % count));
  a->index[i] = (uint32_t)(state / count) * a->share.worlds + world;
}
CORE_KERNEL_FN void ops_sapg_states(const CoreDeviceThread *at, const OpsSapgStates *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) ops_sapg_state(a, i);
}

/* Scatters a chunk's results to their positions in target [steps][columns]. */
typedef struct OpsSapgScatter {
  OpsSapgStates states;
  const float *source;       /* [n] */
  float *target;
} OpsSapgScatter;
CORE_DEVICE_FN void ops_sapg_scatter_one(const OpsSapgScatter *a, size_t i) {
  const OpsSapgStates *s = &a->states;
  const size_t count = s->end - s->from, state = s->first + i;
  a->target[state / count * s->share.columns + s->from + state % count] = a->source[i];
}
CORE_KERNEL_FN void ops_sapg_scatter(const CoreDeviceThread *at, const OpsSapgScatter *a) {
  for (size_t i = core_device_first(at); i < a->states.n; i += core_device_stride(at)) ops_sapg_scatter_one(a, i);
}

/* A rollout's data of the followers' transitions: rewards, dones, log-probs and, where truncated episodes are
 * bootstrapped, the truncations and the leader's values of last observations (else both NULL) from [steps][worlds] to
 * [steps][columns]; policies likewise with `logits` values each. One element per value of a policy. */
typedef struct OpsSapgTransitions {
  float *rewards, *logp, *policy;
  uint8_t *dones, *truncated;
  float *last_values;
} OpsSapgTransitions;
typedef struct OpsSapgFollowers {
  SapgShare share;
  CoreDivisor logits;
  OpsSapgTransitions from, to;
} OpsSapgFollowers;
CORE_DEVICE_FN void ops_sapg_follower(const OpsSapgFollowers *a, size_t i) {
  const CoreDivided place = core_divide(i, a->logits);
  const size_t sample = place.whole, k = place.rest;
  const size_t row = sapg_row(&a->share, (uint32_t)(sapg_local_on_policy(&a->share) + sample));
  a->to.policy[i] = a->from.policy[row * a->logits.number + k];
  if (k > 0) return;
  a->to.rewards[sample] = a->from.rewards[row];
  a->to.logp[sample] = a->from.logp[row];
  a->to.dones[sample] = a->from.dones[row];
  if (a->from.truncated == NULL) return;
  a->to.truncated[sample] = a->from.truncated[row];
  a->to.last_values[sample] = a->from.last_values[row];
}
CORE_KERNEL_FN void ops_sapg_followers(const CoreDeviceThread *at, const OpsSapgFollowers *a) {
  const size_t n = sapg_local_off_policy(&a->share) * a->logits.number;
  for (size_t i = core_device_first(at); i < n; i += core_device_stride(at)) ops_sapg_follower(a, i);
}

#endif
