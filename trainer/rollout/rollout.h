/* Rollout: K steps of N worlds under the current (behavior) policy, with everything that the update needs. Time-major:
 * transition (t, world) is row t*N + world. Between the environment and the learner; it must not change weights. */
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
#include "trainer/rollout/state_samples.h"
#include "trainer/rollout/states.h"
#include "trainer/rollout/visited.h"
#include "trainer/wrappers/obs_pipeline.h"

/* Statistics of the episodes that ended during a rollout, in the worlds of all ranks. */
typedef struct RolloutEpisodes {
  int64_t count;
  double return_mean, length_mean;  /* NaN without episodes */
  double solve_rate;                /* mean over levels with an episode of solved / finished; NaN without episodes or
                                     * goals */
  double goals;                     /* mean number per episode; NaN without episodes, or where goals are not counted */
  double environment_s;             /* seconds of the rollout spent in the environment */
} RolloutEpisodes;

/* Longer rollouts are launched kernel by kernel: a node takes memory of the host and of the device, and time to make
 * ready, and rollouts of many pieces keep the device busy without a graph. */
enum { ROLLOUT_GRAPH_NODES_MAX = 50000 };

/* All buffers except those marked as host memory are on the ops' device. */
typedef struct Rollout {
  CoreDevice *device;    /* NULL: the host */
  int steps, worlds, features, levels;
  Shards shards;         /* part of the run's worlds */
  bool solves;           /* whether episodes have goals; else solve rates are NaN */
  bool counts_goals;     /* whether an episode may have several */
  bool begins_anew;      /* whether rollout_start_on precedes every rollout: no episode continues into the next */
  OpsHead head;
  size_t action_bytes;   /* bytes of one action */
  ObsPipeline pipeline;  /* between the environment and `observations` */
  RewardScale reward_scale; /* between the environment and `rewards` */
  /* Row block `steps` of observations and values is the state after the last step; observations[steps] becomes
   * observations[0] of the next rollout. Where a time limit does not end the return, `limits` has the continuation. */
  float *observations;   /* [steps + 1][worlds][features]; in other storage forms: [worlds][features], the latest
                          * block */
  Frames frames;         /* used for rows of stacked frames (frames_apply) */
  Compact compact;       /* with train.observation_storage = state; else not used */
  bool is_compact;
  uint16_t *halves;      /* [steps + 1][worlds][features] in half precision (train.observation_storage), else NULL */
  float *values;         /* [steps + 1][worlds] */
  /* [steps][worlds][head.logits]: the behavior policy, for the exact KL afterwards. With samples_logits only the latest
   * step's, [worlds][head.logits]; logit_samples has those of the `sampled_states` states that metrics.c samples. */
  float *logits;
  bool samples_logits;
  LogitSamples logit_samples;
  int64_t sampled_states;
  float *logp;           /* [steps][worlds] log-probs of the actions taken */
  float *rewards;        /* [steps][worlds] */
  uint8_t *dones;        /* [steps][worlds], including ends by the time limit */
  Limits limits;
  RolloutStates states;  /* states of a recurrent policy */
  uint8_t *actions;      /* [steps][worlds][action_bytes]: head.factors classes or floats */
  Coverage *coverage;    /* receives every state after a step; NULL where this iteration is not measured */
  Visited *visited;      /* likewise, where this iteration's states are sampled */

  /* Carried from rollout to rollout, hence part of a checkpoint (rollout_add_sections). */
  double *returns;       /* [worlds] reward so far of the running episode */

  uint8_t *before;       /* statistics before the rollout, on the host; only for worlds outside this process */

  /* Current step and rollout: */
  uint8_t *solved;       /* [worlds] */
  uint8_t *ends;         /* [worlds] ends of episodes for statistics (EnvStep.ends); NULL: dones */
  int32_t *level, *episode_steps; /* [worlds] */
  /* [levels of the environment], on the worlds' device: the run's number of each level. A rank's environment has slots
   * for its own levels; episode statistics have one for each level of the run. NULL: the same numbers (one rank). */
  const int32_t *level_of_slot;
  int divided;           /* train.rollout_halves */
  OpsClock *clock;       /* on the device: index in the run of this rollout's first step; NULL without one */
  CoreGraph *graph;      /* graph of all steps; NULL: not captured */
  uint64_t launches, max_launches; /* launches of a rollout kernel by kernel; their maximum for a graph */
  bool is_warm;          /* whether the steps were launched one by one before, so that libraries have made their
                          * plans */
  double epsilon;        /* the agent's epsilon when the graph was captured */
  float *bounded;        /* [worlds][factors] actions clamped to the environment's bounds */
  int64_t *attempts, *solutions; /* [levels], on the host */
  OpsEpisodes stats;     /* statistics on the device, where there is one */
  StateSamples coverage_samples, visited_samples; /* on a device */
  float *shown; /* [worlds][features] on the host, for samples that do not fit there; NULL without a device */
} Rollout;

/* Registers the buffers for this rank's worlds. */
void rollout_register(Rollout *rollout, const CoreConfig *config, const Env *env, const Shards *shards, int steps,
                      CoreArena *arena);
struct Communicator;
/* Sets the communicator that merges statistics of the worlds, where ranks have devices. Before the first step. */
void rollout_connect(Rollout *rollout, struct Communicator *communicator);
/* Releases the rollout's graph and its frames' heap memory. Call before the device is closed. */
void rollout_destroy(Rollout *rollout);
/* Starts new episodes in all worlds, keeping the statistics, after a checkpoint was restored whose episodes cannot
 * continue. */
void rollout_begin_again(Rollout *rollout, Env *env);
void rollout_add_sections(Rollout *rollout, Sections *sections);
void rollout_restored(Rollout *rollout);

/* Returns the truncations that the learner bootstraps over with limits.values, [steps][worlds]; NULL: none. */
static inline const uint8_t *rollout_truncated(const Rollout *rollout) {
  return rollout->limits.values ? rollout->limits.truncated : NULL;
}
/* Returns the state that the next rollout starts from: [worlds][features]. */
float *rollout_last_observations(const Rollout *rollout);
/* Starts new episodes in every world; before that, if the pipeline needs it, steps of random actions. All ranks return
 * the same. CORE_REQUEUE: one of them was asked to stop; CORE_FAIL: an environment failed. */
int rollout_start(Rollout *rollout, Env *env, uint64_t seed);
/* Starts a new episode in every world w, on level[w]. */
void rollout_start_on(Rollout *rollout, Env *env, const int32_t *level);

/* Collects one rollout; called by all ranks. Actions are a function of (seed, the world's index in the run, step since
 * the run's start); `iteration` counts from 1. */
void rollout_collect(Rollout *rollout, Env *env, Ops *ops, const Agent *agent, uint64_t seed, int64_t iteration,
                     RolloutEpisodes *episodes);

/* Restores the statistics from before a rollout that worlds outside this process (EnvRemote) did not finish, as a
 * checkpoint of the last iteration has them. Episodes start again nevertheless. */
void rollout_undo(Rollout *rollout);

/* Gathers rows `index` of the observations -> observations [rows][features]. */
void rollout_gather_observations(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows,
                                 float *observations);
/* Gathers observations that only chains read, as their input (ops->gather_inputs). */
void rollout_gather_inputs(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, float *observations);
/* Gathers rows `index` of the actions -> actions [rows][action_bytes]. */
void rollout_gather_actions(const Rollout *rollout, Ops *ops, const uint32_t *index, int rows, uint8_t *actions);

#endif
