/* Observation pipeline from the environment to the agent. Observations are normalized (normalize.h). With SAPG the
 * index of the world's block is appended as a last column. Where rollouts store half precision
 * (train.observation_storage) they are rounded to it, so that the acting agent sees what the learner will see. Used by
 * rollouts, evaluations and play. */
#ifndef TRAINER_OBS_PIPELINE_H
#define TRAINER_OBS_PIPELINE_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/ranks/shards.h"
#include "trainer/wrappers/normalize.h"
#include "trainer/wrappers/normalize_each.h"

typedef struct ObsPipeline {
  CoreDevice *device;    /* device of these observations and the callers'; NULL: the host */
  bool active;           /* false: the agent sees the environment's observations, and nothing below is used */
  bool has_moments;      /* false: the same features, rounded at most; the normalizer is not used */
  bool is_half;          /* whether values are rounded to half precision */
  int shown, seen;       /* features of the environment, of the agent */
  int worlds, blocks;    /* worlds of the training; number of blocks, 0: no block column */
  int first_world;       /* index of world 0 among the training's: blocks divide all ranks' worlds */
  int first_reported;    /* first world whose episodes count: that of the leader's block; may be another rank's */
  int warm_up;           /* steps of random actions that initialize the statistics */
  Normalizer normalizer;
  bool is_each;          /* whether each world has separate statistics; the normalizer then has those of all of them
                          * together */
  NormalizeEach each;
  int global_worlds;     /* worlds of all ranks */
  float *all; /* [global_worlds][shown], since the statistics are of all worlds at every rank; NULL with one rank, and
               * on devices, which gather sums */
  float *raw;            /* [worlds][shown] current observations of the training's worlds: part of a checkpoint */
} ObsPipeline;

/* Checkpoint section of the statistics: normalizer.moments. */
#define OBS_SECTION "observation moments"
static inline size_t obs_section_bytes(const ObsPipeline *pipeline) {
  return normalize_moments(pipeline->shown) * sizeof(double);
}

/* Checkpoint section of the worlds' statistics with is_each, each->moments; the other section has them pooled. */
#define OBS_EACH_SECTION "moments of each world"
static inline size_t obs_each_section_bytes(const ObsPipeline *pipeline) {
  return (size_t)pipeline->worlds * obs_section_bytes(pipeline);
}

/* Last observations of the episodes that ended in a step. */
typedef struct ObsLast {
  const uint8_t *dones; /* [worlds] */
  const float *raw;     /* [worlds][shown]; rows where not done are undefined */
  float *seen;          /* [worlds][seen] as the agent sees them; NULL: not wanted */
} ObsLast;

/* Returns the features that the agent sees in this environment. */
int obs_features(const CoreConfig *config, const Env *env);
/* Returns the number of blocks of worlds of algo.name: 0 except for sapg. */
int obs_blocks(const CoreConfig *config);

void obs_register(ObsPipeline *pipeline, const CoreConfig *config, const Env *env, const Shards *shards,
                       CoreArena *arena);
void obs_start(ObsPipeline *pipeline);
/* Update the statistics: those that change with every step when the training worlds' raw observations have arrived,
 * those that change once per iteration when they are about to be acted on. Called by all ranks. last: see above; NULL
 * after a reset, or where the environment does not report it. With is_each it counts, too. */
void obs_count_arrived(ObsPipeline *pipeline, const ObsLast *last);
void obs_count_acted_on(ObsPipeline *pipeline);
/* Transforms the training worlds' observations to the agent's, [worlds][seen]. */
void obs_transform(const ObsPipeline *pipeline, float *seen);
/* Fills last->seen from the argument of obs_count_arrived; does not count. */
void obs_transform_last(const ObsPipeline *pipeline, const ObsLast *last);
/* Pools the statistics, so that other worlds are transformed with the current ones; before obs_transform_eval and
 * before a checkpoint. Called by all ranks. Does nothing unless is_each. */
void obs_pool_statistics(ObsPipeline *pipeline);
/* Transforms other worlds, raw [worlds][shown], all in the leader's block, the last. */
void obs_transform_eval(const ObsPipeline *pipeline, const float *raw, int worlds, float *seen);
/* Sets the block column of seen [worlds][seen] to the leader's block. Only with blocks. */
void obs_set_leader_block(const ObsPipeline *pipeline, float *seen, int worlds);
/* Applies statistics that change once per iteration, at its end. */
void obs_advance(ObsPipeline *pipeline);

#endif
