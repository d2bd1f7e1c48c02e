/* Trials: worlds in which the present policy acts without learning, for evaluations (evaluate.c) and searches of levels
 * (level_search.c). Holds the buffers of a step between environment, observer and policy. The caller resets the worlds
 * and counts results. */
#ifndef TRAINER_EVAL_ROLLOUT_H
#define TRAINER_EVAL_ROLLOUT_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/wrappers/obs_pipeline.h"

typedef struct EvalRollout {
  int worlds;
  bool acts_by_mean;     /* eval.actions; false: actions are sampled */
  int parts;             /* that go through the networks by themselves; eval_rollout_divide */
  const int *part_end;   /* [parts] */
  /* On the ops' device: */
  float *raw;            /* [worlds][features that the environment shows]; the caller's reset fills it */
  float *observations;   /* [worlds][features that the agent sees] */
  float *logits, *logp;
  uint8_t *actions;      /* [worlds][bytes of an action] */
  float *bounded;        /* [worlds][factors] actions as the environment takes them */
  EnvStep given;         /* what a step gives, where the environment is on a device */
  EnvStep now;           /* what the last step gave, wherever that is */
  /* The same for who counts, on the host: */
  float *rewards;
  uint8_t *dones, *solved;
  uint8_t *ends;         /* of episodes as they are counted (EnvStep.ends); NULL: dones */
  int32_t *episode_steps;
  int state_size;        /* of a state of the policy's memory; 0: it has none */
  float *states;         /* [worlds][state_size] that enter the next step, on the ops' device */
} EvalRollout;

/* The policy that plays, and its observer, whose statistics do not change. */
typedef struct EvalPlayer { const Agent *agent; const ObsPipeline *pipeline; Ops *ops; } EvalPlayer;

/* What the actions of a step follow from; first_world: the number of world 0. */
typedef struct EvalKey { uint64_t seed; uint32_t purpose, first_world, step; } EvalKey;

void eval_rollout_register(EvalRollout *eval_rollout, const CoreConfig *config, const Env *levels, int worlds,
                           CoreArena *arena);
/* The worlds first, up to end[0], then up to end[1] ... go through the networks in passes of their own, so that what a
 * part does does not depend on its neighbours (comm.deterministic). `end` [parts] is the caller's. At first all are
 * one. */
void eval_rollout_divide(EvalRollout *eval_rollout, const int *end, int parts);
/* After a reset of all worlds: no state yet. */
void eval_rollout_begin(const EvalRollout *eval_rollout, CoreDevice *device);
/* One step of all worlds of env, from raw to the next raw; `now` is then of it. */
void eval_rollout_step(EvalRollout *eval_rollout, Env *env, const EvalPlayer *player, const EvalKey *key);
/* The last step's rewards, dones, solved, ends and episode_steps on the host. */
void eval_rollout_download(EvalRollout *eval_rollout, const EvalPlayer *player);

#endif
