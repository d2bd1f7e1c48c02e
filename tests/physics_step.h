/* One physics step of a batch's world under given controls, for tests of the physics alone. */
#ifndef TESTS_PHYSICS_STEP_H
#define TESTS_PHYSICS_STEP_H
#include "sim/batch/batch_internal.h"
#include "sim/physics/step.h"

static inline void sim_batch_physics_step(SimBatch *batch, int w, const SimControl *control, SimScratch *scratch) {
  SimWorld *world = &batch->worlds[w];
  sim_step_begin_level(&batch->models[world->level], &scratch->geometry);
  sim_step(&batch->models[world->level], world, control, scratch);
}

#endif
