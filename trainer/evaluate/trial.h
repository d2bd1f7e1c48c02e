/* Trials: worlds in which the present policy acts without learning, for evaluations (evaluate.c) and searches of levels
 * (level_search.c). Holds the buffers of a step between environment, observer and policy. The caller resets the worlds
 * and counts results. */
#ifndef TRAINER_TRIAL_H
#define TRAINER_TRIAL_H
#include "core/device/arena.h"
#include "trainer/nets/agent.h"
#include "trainer/wrappers/observer.h"

typedef struct Trial {
  int worlds;
  bool acts_by_mean;     /* eval.actions; false: actions are sampled */
  int parts;             /* that go through the networks by themselves; trial_divide */
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
  int numbers;           /* of a state of the policy's memory; 0: it has none */
  float *states;         /* [worlds][numbers] that enter the next step, on the ops' device */
} Trial;

/* The policy that plays, and its observer, whose statistics do not change. */
typedef struct TrialPlayer { const Agent *agent; const Observer *observer; Ops *ops; } TrialPlayer;

/* What the actions of a step follow from; first_world: the number of world 0. */
typedef struct TrialKey { uint64_t seed; uint32_t purpose, first_world, step; } TrialKey;

void trial_register(Trial *trial, const CoreConfig *config, const Env *levels, int worlds, CoreArena *arena);
/* The worlds first, up to end[0], then up to end[1] ... go through the networks in passes of their own, so that what a
 * part does does not depend on its neighbours (comm.deterministic). `end` [parts] is the caller's. At first all are
 * one. */
void trial_divide(Trial *trial, const int *end, int parts);
/* After a reset of all worlds: no state yet. */
void trial_begin(const Trial *trial, CoreDevice *device);
/* One step of all worlds of env, from raw to the next raw; `now` is then of it. */
void trial_step(Trial *trial, Env *env, const TrialPlayer *player, const TrialKey *key);
/* The last step's rewards, dones, solved, ends and episode_steps on the host. */
void trial_fetch(Trial *trial, const TrialPlayer *player);

#endif
