/* What the simulator's files as an environment know of each other: sim.c (core, observations, devices), sim_levels.c
 * (levels and their generator), sim_picture.c, sim_config.c (what settings mean). */
#ifndef TRAINER_ENVS_SIM_INTERNAL_H
#define TRAINER_ENVS_SIM_INTERNAL_H
#include "sim/batch/level_stream.h"
#include "trainer/envs/sim.h"

enum { ENV_SIM_DRAWN = 64 * SIM_STREAM_GROUP }; /* levels drawn at once */

typedef struct SimEnv {
  SimBatch *batch;
  SimBatchOptions options; /* siblings differ in worlds, seed and backend only; its features are the batch's */
  SimLevelSet levels;      /* kept for siblings */
  SimEntityLayout entities; /* of entity observations */
  SimLevelStream *stream;  /* NULL: a batch whose levels stay, or are drawn on a device */
  SimLevel *drawn;         /* [ENV_SIM_DRAWN] on their way from the stream to the batch */
} SimEnv;

static inline SimEnv *env_sim_of(const Env *env) { return env->state; }

/* The options' rules for another batch. */
SimBatchOptions env_sim_batch_options(const Env *env, const EnvBatch *batch);
/* Takes the levels, also when it fails. */
int env_sim_make(const SimBatchOptions *options, SimLevelSet *levels, Env **env);

extern const EnvLevels env_sim_levels_table;
extern const EnvGenerator env_sim_generator_table;
extern const EnvPicture env_sim_picture_table;

#endif
