/* An environment as the trainer sees it: a table of functions over a batch of worlds that step together. The simulator
 * (sim.c) is the first implementation; others plug in here without a change in rollouts or learners.
 *
 * Every buffer is [worlds] or [worlds][columns], row-major, and belongs to the caller. Nothing is allocated in a step.
 * What happens in a world depends on the seed, the world's number and its episode only, never on threads. */
#ifndef TRAINER_ENVS_ENV_H
#define TRAINER_ENVS_ENV_H
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "sim/task/observe_layout.h"
#include "trainer/ops/ops.h"

/* What a step gives. The flags speak of the step that ended; `level` of the level it was played on. Every end of an
 * episode, the time limit included, is a termination (spec ppo.md 1.2). */
typedef struct EnvStep {
  float *observations;    /* [worlds][observation_length], after auto-reset */
  float *rewards;
  uint8_t *dones, *solved;
  int32_t *levels;        /* 0 for all where levels are new and so in no set: their episodes count together (-1 on a
                             device, where counting takes it for 0) */
  int32_t *episode_steps; /* the episode's length where done */
} EnvStep;

/* Where levels' constants stand, on the worlds' device, as long as levels stay as they are. */
typedef struct EnvConstants {
  const float *rows;        /* [levels][length] of whole observations */
  size_t length;
  const int32_t *features;  /* [observation_length] of a whole one */
  const int32_t *level; /* the row of the level that world 0 is on now; the next world's is `stride` bytes further */
  size_t stride;
  const uint32_t *number; /* [worlds] where every episode is on a new level: which of its world's sequence; else NULL */
} EnvConstants;

typedef struct Env Env;
struct Env {
  const char *name;       /* "kinetix" */
  CoreDevice *device; /* where siblings that are made from now on have their worlds, and their buffers; NULL: host */
  int worlds, observation_length;
  /* The observation is part of a whole one of `whole_length` features, the others being always 0: [observation_length]
   * numbers, borrowed; NULL: it is the whole one. Networks are initialised as if they saw the whole one. */
  const int32_t *features;
  int whole_length;
  const SimEntityLayout *entities; /* where things are in an entity observation; NULL: it is another kind; borrowed */
  int levels;             /* in the set; a level's number is 0..levels-1 */
  int max_steps;          /* of an episode */
  OpsHead head;           /* an action of classes: one a factor, as uint8_t [worlds][head.factors] */
  int action_values;      /* an action of so many real numbers, as float [worlds][action_values]; 0: of classes */

  /* Episode 0 of every world, each on a level drawn from the set. */
  void (*reset)(Env *env, float *observations);
  /* Puts world w on level[w] and keeps it there at every auto-reset. */
  void (*reset_to)(Env *env, const int32_t *level, float *observations);
  void (*step)(Env *env, const void *actions, const EnvStep *out); /* actions: of classes or values, see above */
  /* Nothing goes on beside the steps any more, and the next one begins as the first after a rest does: before a graph
   * of steps begins or is launched, and before it ends (sim_batch_synchronise). NULL: nothing ever does. */
  void (*rest)(Env *env);
  /* The same of worlds first .. first + count - 1, the arrays being those of all; NULL: all step together. */
  void (*step_part)(Env *env, int first, int count, const void *actions, const EnvStep *out);

  /* Everything that later steps depend on, for checkpoints: a head that is the same for any part of a run's worlds,
   * then one record of world_bytes a world, in order. load: CORE_USAGE when the bytes are not this batch's. */
  size_t world_bytes;
  size_t (*state_bytes)(const Env *env);
  void (*save)(const Env *env, void *state);
  int (*load)(Env *env, const void *state, size_t bytes);

  size_t (*bytes)(const Env *env);          /* memory held */
  /* Of a device's memory that such an environment of so many worlds takes there beside them; NULL: nothing. */
  size_t (*beside_bytes)(const Env *env, const CoreDevice *device, int64_t worlds);
  /* What each sibling on this device that draws levels through a filter takes to try them, whatever its worlds. */
  size_t (*filter_bytes)(const Env *env, const CoreDevice *device);
  int64_t (*nonfinite)(const Env *env);     /* worlds whose physics reached NaN or infinity so far */
  /* Another batch of `worlds` worlds on the same levels, with its own state; the run's number of the first one. */
  int (*sibling)(const Env *env, int worlds, uint32_t first_world, uint64_t seed, Env **sibling);
  /* For curricula; NULL where the environment has no levels but its set. A level is known by a key, which names an
   * endless sequence of random levels, and its number there.
   *
   * Another batch of `worlds` worlds whose set is `places` levels, to be filled by the other two before reset_to is
   * called. They only replace levels: worlds must be reset afterwards. */
  int (*with_places)(const Env *env, int worlds, int places, uint64_t seed, Env **made);
  /* Puts the `count` levels from the first'th of the sequence on into places place, place + 1, ... and tells their
   * numbers, [count]. Which level is the i'th is a function of (key, i): any ranges fit together. */
  void (*draw_levels)(Env *env, uint64_t key, int64_t first, int count, int place, uint32_t *numbers);
  /* Puts levels of known numbers there again. */
  void (*recall_levels)(Env *env, uint64_t key, const uint32_t *numbers, int count, int place);
  /* For who keeps many observations: an observation is a row of its level's constants with some places replaced.
   *
   * Which places: changes[observation_length], 0 or 1; drawn: on any level that may be drawn, else on those of the set.
   * Their count; NULL, or 0 of them: observations are not of that kind. */
  int (*changing)(const Env *env, bool drawn, uint8_t *changes);
  EnvConstants (*constants)(const Env *env);
  /* Constants of levels that are gone: sim/batch/batch.h, sim_batch_show_again. Where EnvConstants.number is not NULL.
   * */
  void (*show_again)(const Env *env, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                     float *observations);
  void (*destroy)(Env *env);
  void *state;            /* the implementation's own */
};

enum { ENV_SET_NAME = 64 };

/* The simulator with config.env's levels. CORE_USAGE: no such level or a level that can not be simulated. */
int env_sim_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);
int env_sim_create_evaluation(const CoreConfig *config, const Env *trained, int set, int worlds, uint64_t seed,
                              Env **env, char name[ENV_SET_NAME]);

/* The environment that config.env.task asks for. */
int env_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);
void env_destroy(Env **env);
/* Sets that eval.levels names, evaluated beside the training levels. CORE_USAGE: an impossible list. */
int env_evaluation_sets(const CoreConfig *config, int *count);
/* The environment `trained` with set 0, 1, ... of these for its levels, shown and acted on alike; name: for logs.
 * CORE_USAGE: no such levels, or larger ones than those trained on. */
int env_create_evaluation(const CoreConfig *config, const Env *trained, int set, int worlds, uint64_t seed, Env **env,
                          char name[ENV_SET_NAME]);

/* Memory that a sibling of `worlds` worlds would hold, from the slope between two small ones. */
int env_estimate_bytes(const Env *env, int64_t worlds, double *bytes);

#endif
