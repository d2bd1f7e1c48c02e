/* Gathers rows of a rollout, in whichever form it stores them (rollout.h). */
#include "trainer/rollout/rollout.h"

void rollout_gather_observations(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows,
                                 float *observations) {
  if (rollout->is_compact) compact_gather(&rollout->compact, index, rows, observations);
  else if (rollout->frames.stack > 0) frames_gather(&rollout->frames, index, rows, observations);
  else if (rollout->halves) ops->gather_halves(ops, rollout->halves, index, observations, rows, rollout->features);
  else ops->gather_rows(ops, rollout->observations, index, observations, rows, rollout->features);
}

void rollout_gather_inputs(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, float *observations) {
  const bool are_floats = !rollout->is_compact && rollout->halves == NULL && rollout->frames.stack == 0;
  if (ops->gather_inputs && are_floats) {
    ops->gather_inputs(ops, rollout->observations, index, observations, rows, rollout->features);
    return;
  }
  rollout_gather_observations(rollout, ops, index, rows, observations);
  if (ops->gather_inputs) ops->gather_inputs(ops, observations, NULL, observations, rows, rollout->features);
}

void rollout_gather_actions(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, uint8_t *actions) {
  ops->gather_bytes(ops, rollout->actions, index, actions, rows, rollout->action_bytes);
}
