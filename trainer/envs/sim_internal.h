/* Declarations shared by the simulator's adapter: sim.c (core, observations, devices, rendering), sim_levels.c (levels
 * and their generator) and sim_config.c (settings). */
#ifndef TRAINER_ENVS_SIM_INTERNAL_H
#define TRAINER_ENVS_SIM_INTERNAL_H
#include "sim/batch/level_stream.h"
#include "trainer/envs/sim.h"

enum { ENV_SIM_GENERATED_MAX = 64 * SIM_STREAM_GROUP }; /* levels generated at a time */

typedef struct SimEnv {
  SimBatch *batch;
  SimBatchOptions options; /* clones differ in worlds, seed and backend only; features: borrowed from the batch */
  SimLevelSet levels;      /* levels for clones */
  SimEntityLayout entities; /* layout of entity observations */
  SimLevelStream *stream;  /* NULL: fixed levels, or levels generated on a device */
  SimLevel *generated;     /* [ENV_SIM_GENERATED_MAX] levels to be copied into the batch */
} SimEnv;

static inline SimEnv *env_sim_state(const Env *env) { return env->state; }

/* Returns the options for another batch. */
SimBatchOptions env_sim_batch_options(const Env *env, const EnvBatch *batch);
/* Creates the environment. Takes ownership of the levels, also on failure. */
int env_sim_create_batch(const SimBatchOptions *options, SimLevelSet *levels, Env **env);

extern const EnvLevels env_sim_levels_table;
extern const EnvGenerator env_sim_generator_table;

#endif
