/* The batch from inside, for its own two files and for tests that look at single worlds and physics steps. */
#ifndef SIM_BATCH_INTERNAL_H
#define SIM_BATCH_INTERNAL_H
#include "core/memory.h"
#include "sim/batch.h"
#include "sim/lanes.h"
#include "sim/observe.h"
#include "sim/task.h"

struct SimBatch {
  SimBatchOptions options;
  SimTaskRules rules;
  SimSize size;
  int level_count;
  int whole_length, observation_length; /* features of a whole observation, and of those given */
  CoreArena *arena;
  SimLevel *levels;       /* [level_count], as given */
  SimModel *models;       /* [level_count] */
  float *templates;       /* [level_count][whole_length] */
  int32_t *features;      /* [observation_length]: which of the whole ones are given */
  SimWorld *worlds;       /* [worlds] */
  const SimLanesKernels *kernels; /* NULL: one world after the other */
  int64_t nonfinite;
};

/* Puts world w at the start of `level`; its episode number and keeps_level stay. */
void sim_batch_start_world(SimBatch *batch, int w, int level);
/* One environment step of world w, without auto-reset. The scratch shows the last physics step's contacts. */
SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const uint8_t action[SIM_ACTIONS], SimScratch *scratch);
/* One physics step of world w under given controls. */
void sim_batch_physics_step(SimBatch *batch, int w, const SimControl *control, SimScratch *scratch);

#endif
