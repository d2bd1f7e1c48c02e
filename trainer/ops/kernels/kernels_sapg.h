/* Kernels of SAPG's samples (trainer/learners/sapg_data.c): their rows in the rollout, the states that the leader
 * values, and the sampled followers' transitions. The functions of one element are also called by the host. */
#ifndef TRAINER_OPS_KERNELS_SAPG_H
#define TRAINER_OPS_KERNELS_SAPG_H
#include "trainer/math/sapg_layout.h"

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
