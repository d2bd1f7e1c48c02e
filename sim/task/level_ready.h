/* Compilation of a level for a batch: its model for stepping and its observation template, on the host and the GPU. */
#ifndef SIM_LEVEL_READY_H
#define SIM_LEVEL_READY_H
#include "sim/physics/model_build.h"
#include "sim/task/observe_template.h"

typedef struct SimReadyRules {
  SimObservationKind observation;
  int length;                  /* length of a full observation */
  int pad_writes_zero;         /* env.pad_writes_zero */
} SimReadyRules;

/* Writes a level's template to row. */
SIM_FN void sim_ready_row(const SimLevel *level, SimObservationKind observation, float *row) {
  switch (observation) {
    case SIM_OBSERVATION_PADDED: sim_padded_make_template(level, row); break;
    case SIM_OBSERVATION_ENTITY: sim_entity_make_template(level, row); break;
    default: sim_observe_make_template(level, row);
  }
}

/* Writes model and row [rules->length], the template. Entity observations also list pairs whose overlap has no
 * effect. */
SIM_FN void sim_level_ready(const SimLevel *level, const SimReadyRules *rules, SimModel *model, float *row) {
  const SimPairRules pairs = {rules->pad_writes_zero != 0, rules->observation == SIM_OBSERVATION_ENTITY};
  sim_model_make(level, pairs, model);
  sim_ready_row(level, rules->observation, row);
}

#endif
