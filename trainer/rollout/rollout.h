/* A rollout: K steps of N worlds under the present (behaviour) policy, with everything that the update needs.
 * Time-major: transition (t, world) is row t*N + world. Between the environment and the learner; it must not
 * change weights. */
#ifndef TRAINER_ROLLOUT_H
#define TRAINER_ROLLOUT_H
#include "core/device/arena.h"
#include "trainer/checkpoint/sections.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/shards.h"
#include "trainer/rollout/compact.h"
#include "trainer/rollout/coverage.h"
#include "trainer/rollout/frames.h"
#include "trainer/rollout/limits.h"
#include "trainer/rollout/states.h"
#include "trainer/rollout/visited.h"
#include "trainer/wrappers/obs_pipeline.h"

/* Episodes that ended during a rollout, in the worlds of all ranks. */
typedef struct RolloutEpisodes {
  int64_t count;
  double return_mean, length_mean;  /* NaN without episodes */
  double solve_rate;                /* mean over levels with an episode of solved / finished; NaN without, or goals */
  double goals;                     /* mean number an episode; NaN without episodes, or where goals are not counted */
  double environment_s;             /* time that the environment took, of the rollout's */
} RolloutEpisodes;

/* All buffers but those said to be the host's are on the ops' device. */
typedef struct Rollout {
  CoreDevice *device;    /* NULL: the host */
  int steps, worlds, features, levels;
  Shards shards;         /* which of the run's worlds these are */
  bool solves;           /* episodes have goals; else solve rates are NaN */
  bool counts_goals;     /* an episode may have several */
  bool begins_anew;      /* every rollout is preceded by rollout_start_on: no episode goes on into the next */
  OpsHead head;
  size_t action_bytes;   /* of one action */
  ObsPipeline pipeline;  /* between the environment and `observations` */
  RewardScale reward_scale; /* and between it and `rewards` */
  /* Row block `steps` of observations and values is the state after the last step; observations[steps] moves to
   * observations[0] at the next rollout. Where a time limit does not end the return, `limits` has what goes on. */
  float *observations;   /* [steps + 1][worlds][features]; with halves: [worlds][features], the block that came last */
  Frames frames;         /* where rows are stacked frames (frames_apply), and `observations` as with halves */
  Compact compact;       /* with train.observation_storage = state, and `observations` as with halves; else not used */
  bool is_compact;
  uint16_t *halves;      /* [steps + 1][worlds][features] in half precision (train.observation_storage), else NULL */
  float *values;         /* [steps + 1][worlds] */
  float *logits;         /* [steps][worlds][head.logits]: the behaviour policy, for the exact KL afterwards */
  float *logp;           /* [steps][worlds] of the action taken */
  float *rewards;        /* [steps][worlds] */
  uint8_t *dones;        /* [steps][worlds], the time limit's ends included */
  Limits limits;
  RolloutStates states;  /* of the policy's memory */
  uint8_t *actions;      /* [steps][worlds][action_bytes]: head.factors classes or floats */
  Coverage *coverage;    /* shown every state that is arrived in; NULL where this iteration is not measured */
  Visited *visited;      /* the same, where a sample of this iteration's states is kept */

  /* Carried from rollout to rollout, so part of a checkpoint (rollout_add_sections). */
  double *returns;       /* [worlds] reward so far of the episode that runs */

  uint8_t *before;       /* statistics as they were before the rollout, on the host; only of worlds outside */

  /* Of the present step and rollout. */
  uint8_t *solved;       /* [worlds] */
  uint8_t *ends;         /* [worlds] of episodes as they are counted (EnvStep.ends); NULL: dones */
  int32_t *level, *episode_steps; /* [worlds] */
  /* [levels of the environment], where the worlds are: the run's number of each level. A rank's environment has slots
   * for its own levels; episode statistics have one for each level of the run. NULL: the same numbers (one rank). */
  const int32_t *level_of_slot;
  int divided;           /* train.rollout_halves */
  uint64_t *clock;       /* on the device: the number of this rollout's first step in the run; NULL without one */
  CoreGraph *graph;      /* of all steps; NULL: not recorded */
  bool is_warm;          /* the steps were launched one by one before, so that libraries have made their plans */
  double epsilon;        /* of the agent that the graph was recorded with */
  float *bounded;        /* [worlds][factors] actions as the environment takes them */
  int64_t *attempts, *solutions; /* [levels], on the host */
  OpsEpisodes stats;     /* with the same on the device, where there is one */
  float *shown; /* [worlds][features] on the host, for coverage and visited; NULL without a device */
} Rollout;

/* For the worlds of this rank. */
void rollout_register(Rollout *rollout, const CoreConfig *config, const Env *env, const Shards *shards, int steps,
                      CoreArena *arena);
struct Communicator;
/* Before the first step, where ranks have devices: how statistics of the worlds come together. */
void rollout_connect(Rollout *rollout, struct Communicator *communicator);
/* Releases the rollout's graph and what its frames have of the heap. Call before the device is closed. */
void rollout_destroy(Rollout *rollout);
/* What the next rollout depends on, beside agent and environment. rollout_restored: after it has been read. */
/* After a checkpoint was restored, where episodes can not go on: new ones in all worlds, with the statistics as they
 * are. */
void rollout_begin_again(Rollout *rollout, Env *env);
void rollout_add_sections(Rollout *rollout, Sections *sections);
void rollout_restored(Rollout *rollout);

/* Ends that the learner goes on from by limits.values, [steps][worlds]; NULL: none. */
static inline const uint8_t *rollout_truncated(const Rollout *rollout) {
  return rollout->limits.values ? rollout->limits.truncated : NULL;
}
/* The state that the next rollout starts from: [worlds][features]. */
float *rollout_last_observations(const Rollout *rollout);
/* New episodes in every world; before, where the observer asks for it, steps of random actions. All ranks return the
 * same. CORE_REQUEUE: one of them was told to stop; CORE_FAIL: an environment failed. */
int rollout_start(Rollout *rollout, Env *env, uint64_t seed);
/* New episodes in every world w, all of them on level[w]. */
void rollout_start_on(Rollout *rollout, Env *env, const int32_t *level);

/* Collects one rollout; all ranks together. Actions are a function of (seed, the world's number in the run, step
 * since the run's start); `iteration` counts from 1. */
void rollout_collect(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, uint64_t seed, int64_t iteration,
                     RolloutEpisodes *episodes);

/* After a rollout that worlds outside (EnvOutside) did not finish: statistics are those before it, as a checkpoint of
 * the last iteration has them. Episodes begin anew all the same. */
void rollout_undo(Rollout *rollout);

/* Rows `index` of the observations -> observations [rows][features]. */
void rollout_gather_observations(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows,
                                 float *observations);
/* The same for chains alone to read, as their input (ops->gather_inputs). */
void rollout_gather_inputs(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, float *observations);
/* Rows `index` of the actions -> actions [rows][action_bytes]. */
void rollout_gather_actions(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, uint8_t *actions);

#endif
