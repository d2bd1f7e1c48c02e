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
  SimSize size, new_size;
  int level_count;        /* of the set; models and templates of new levels follow, one for each world */
  int whole_length, observation_length; /* features of a whole observation, and of those given */
  CoreArena *arena;
  SimLevel *levels;       /* [level_count], as given */
  SimModel *models;       /* [level_count + worlds of new levels] */
  float *templates;       /* [level_count + worlds of new levels][whole_length] */
  int32_t *features;      /* [observation_length]: which of the whole ones are given */
  SimWorld *worlds;       /* [worlds] */
  const SimLanesKernels *kernels; /* NULL: one world after the other */
  int64_t nonfinite;
};

/* Are the worlds' levels new ones, each with a place for its constants? */
static inline bool sim_batch_has_new_levels(const SimBatch *batch) { return batch->options.reset >= SIM_RESET_NEW; }
/* Can the set's levels be simulated together, and new levels be drawn? */
int sim_batch_check_levels(const SimBatchOptions *options, const SimLevelSet *levels);
/* Copies checked levels into the batch's memory, from place `first` on, and makes them ready. */
void sim_batch_take_levels(SimBatch *batch, int first, const SimLevelSet *levels);
/* Which features are given, from the options and the levels taken. CORE_USAGE: those of the options do not show all. */
int sim_batch_choose_features(SimBatch *batch);
/* The new level of world w's present episode: a function of (seed, global world number, episode). */
void sim_batch_draw_new(const SimBatch *batch, int w, SimLevel *level);
/* Draws and makes it ready; gives the number of its model. */
int sim_batch_prepare_new(SimBatch *batch, int w);

/* Puts world w at the start of `level`; its episode number and keeps_level stay. */
void sim_batch_start_world(SimBatch *batch, int w, int level);
/* One environment step of world w, without auto-reset. The scratch shows the last physics step's contacts. */
SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const SimCommand *command, SimScratch *scratch);
/* One physics step of world w under given controls. */
void sim_batch_physics_step(SimBatch *batch, int w, const SimControl *control, SimScratch *scratch);

#endif
