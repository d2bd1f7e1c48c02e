/* Evaluation rollouts: worlds in which the current policy acts without learning, for evaluations (evaluate.c) and
 * searches of levels (level_search.c). Holds the buffers of a step between environment, observation pipeline and
 * policy. The caller resets the worlds and counts results. */
#ifndef TRAINER_EVAL_ROLLOUT_H
#define TRAINER_EVAL_ROLLOUT_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/wrappers/obs_pipeline.h"

typedef struct EvalRollout {
  int worlds;
  bool acts_by_mean;     /* eval.actions; false: actions are sampled */
  int parts;             /* number of parts that go through the networks separately; eval_rollout_divide */
  const int *part_end;   /* [parts] */
  /* On the ops' device: */
  float *raw;            /* [worlds][features of the environment]; filled by the caller's reset */
  float *observations;   /* [worlds][features of the agent] */
  float *logits, *logp;
  uint8_t *actions;      /* [worlds][bytes of an action] */
  float *bounded;        /* [worlds][factors] actions clamped to the environment's bounds */
  EnvStep given;         /* outputs of a step, where the environment is on a device */
  EnvStep now;           /* outputs of the last step, wherever they are */
  /* Host copies for counting: */
  float *rewards;
  uint8_t *dones, *solved;
  uint8_t *ends;         /* ends of episodes for statistics (EnvStep.ends); NULL: dones */
  int32_t *episode_steps;
  int state_size;        /* floats of a recurrent state; 0: not recurrent */
  float *states;         /* [worlds][state_size] states that enter the next step, on the ops' device */
} EvalRollout;

/* Policy that plays, and its observation pipeline, whose statistics do not change. */
typedef struct EvalPlayer { const Agent *agent; const ObsPipeline *pipeline; Ops *ops; } EvalPlayer;

/* Key of a step's actions; first_world: index of world 0. clock: on the device, added to first_world and step; NULL:
 * none. */
typedef struct EvalKey {
  uint64_t seed;
  uint32_t purpose, first_world, step;
  const OpsClock *clock;
} EvalKey;

void eval_rollout_register(EvalRollout *eval_rollout, const CoreConfig *config, const Env *levels, int worlds,
                           CoreArena *arena);
/* Makes worlds 0 .. end[0] - 1, then up to end[1] ..., go through the networks in separate passes, so that a part's
 * results do not depend on its neighbors (comm.deterministic). `end` [parts] is the caller's. The default is one
 * part. */
void eval_rollout_divide(EvalRollout *eval_rollout, const int *end, int parts);
/* Clears the recurrent states, after a reset of all worlds. */
void eval_rollout_begin(const EvalRollout *eval_rollout, CoreDevice *device);
/* Runs one step of all worlds of env, from raw to the next raw; sets `now`. */
void eval_rollout_step(EvalRollout *eval_rollout, Env *env, const EvalPlayer *player, const EvalKey *key);
/* Copies the last step's rewards, dones, solved, ends and episode_steps to the host. */
void eval_rollout_download(EvalRollout *eval_rollout, const EvalPlayer *player);

#endif
