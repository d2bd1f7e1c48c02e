/* From the environment's observations to the agent's. They are normalised (normalise.h). With SAPG the number of the
 * world's block is appended as a last column. Where rollouts store half precision (train.observation_storage) they are
 * rounded to it, so that the acting agent sees what the learner will see. Used by rollouts, evaluations and play. */
#ifndef TRAINER_OBS_PIPELINE_H
#define TRAINER_OBS_PIPELINE_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/ranks/shards.h"
#include "trainer/wrappers/normalize.h"
#include "trainer/wrappers/normalize_each.h"

typedef struct ObsPipeline {
  CoreDevice *device;    /* where observations are, these and the callers'; NULL: the host */
  bool active;           /* false: the agent sees what the environment shows, and nothing below is used */
  bool has_moments;      /* false: as many numbers, at most rounded; the normaliser is not used */
  bool is_half;          /* numbers are rounded to half precision */
  int shown, seen;       /* features of the environment, of the agent */
  int worlds, blocks;    /* of the training; blocks 0: no such column */
  int first_world;       /* of the training's, which world 0 is: blocks are of all ranks' worlds */
  int first_reported;    /* world from which on episodes count: the leader's block; may be another rank's */
  int warm_up;           /* steps of random actions that the statistics begin with */
  Normalizer normalizer;
  bool is_each;          /* each world has its own statistics, and the normaliser has those of all of them together */
  NormalizeEach each;
  int global_worlds;     /* of all ranks */
  float *all; /* [global_worlds][shown]: the statistics are of all worlds at every rank; NULL with one rank, and on
               * devices, which gather sums */
  float *raw;            /* [worlds][shown] of the training's worlds as they stand: part of a checkpoint */
} ObsPipeline;

/* Its statistics in a checkpoint: normaliser.moments. */
#define OBS_SECTION "observation moments"
static inline size_t obs_section_bytes(const ObsPipeline *pipeline) {
  return normalize_moments(pipeline->shown) * sizeof(double);
}

/* With is_each those of the worlds, each->moments; the other section has them together. */
#define OBS_EACH_SECTION "moments of each world"
static inline size_t obs_each_section_bytes(const ObsPipeline *pipeline) {
  return (size_t)pipeline->worlds * obs_section_bytes(pipeline);
}

/* The last observations of the episodes that ended in a step. */
typedef struct ObsLast {
  const uint8_t *dones; /* [worlds] */
  const float *raw;     /* [worlds][shown]; rows where not done mean nothing */
  float *seen;          /* [worlds][seen] as the agent sees them; NULL: not wanted */
} ObsLast;

/* Features that the agent sees in this environment. */
int obs_features(const CoreConfig *config, const Env *env);
/* Blocks of worlds that algo.name works with: 0 but for sapg. */
int obs_blocks(const CoreConfig *config);

void obs_register(ObsPipeline *pipeline, const CoreConfig *config, const Env *env, const Shards *shards,
                       CoreArena *arena);
void obs_start(ObsPipeline *pipeline);
/* When the training worlds' raw observations have arrived, and when they are about to be acted on: statistics that
 * change with every step count them at the one moment, those that change once an iteration at the other. All ranks.
 * last: see above; NULL after a reset, or where the environment does not tell. With is_each they count, too. */
void obs_count_arrived(ObsPipeline *pipeline, const ObsLast *last);
void obs_count_acted_on(ObsPipeline *pipeline);
/* The training worlds as the agent sees them, [worlds][seen]. */
void obs_transform(const ObsPipeline *pipeline, float *seen);
/* Fills last->seen of what obs_count_arrived was given; it does not count. */
void obs_transform_last(const ObsPipeline *pipeline, const ObsLast *last);
/* All ranks, before obs_transform_eval and before a checkpoint: other worlds are seen by the statistics of now. Does
 * nothing but with is_each. */
void obs_pool_statistics(ObsPipeline *pipeline);
/* Other worlds, raw [worlds][shown], all in the last block, the leader's. */
void obs_transform_eval(const ObsPipeline *pipeline, const float *raw, int worlds, float *seen);
/* What the agent saw, seen [worlds][seen], as if these worlds were the leader's. Only with blocks. */
void obs_set_leader_block(const ObsPipeline *pipeline, float *seen, int worlds);
/* At an iteration's end: statistics that change once an iteration change now. */
void obs_advance(ObsPipeline *pipeline);

#endif
