/* A run's policy from its newest checkpoint, or from a file, and what it does: actions are sampled, as in evaluations.
 * Reads the run's folder and never writes there, so a run that trains may be looked at. */
#ifndef TRAINER_PLAYER_H
#define TRAINER_PLAYER_H
#include "core/config/config.h"
#include "core/device/arena.h"
#include "core/files.h"
#include "trainer/envs/env.h"
#include "trainer/nets/agent.h"
#include "trainer/wrappers/obs_pipeline.h"

typedef struct Player {
  CoreConfig config;
  char run_id[CORE_RUN_ID], checkpoint[CORE_PATH_MAX];
  int64_t iteration;          /* after which the checkpoint was written */
  Env *env;                   /* what the policy was trained on: its observations, actions and size */
  CoreArena *arena;
  Agent agent;
  Ops *ops;
  ObsPipeline pipeline;
  float *shown;               /* [env->observation_length] */
  float *observation;         /* [agent.inputs]: as the agent sees it */
  float *states;              /* [numbers] of the policy's memory, which enter the next step */
  float *logits;              /* [agent.head.logits] */
} Player;

typedef union PlayerAction { uint8_t classes[OPS_FACTORS_MAX]; float values[OPS_FACTORS_MAX]; } PlayerAction;

/* checkpoint: a run's name or a file; root: the workspace, NULL: the usual one; plays: its environment is to be
 * stepped, so that the record of its observations and actions is not enough. On failure, too, player_destroy it.
 * Errors: those of run_files_find, of the configuration and of the checkpoint. */
int player_create(const char *checkpoint, const char *root, bool plays, Player *player);
/* Reads the critic's weights, too, which acting does not need. Q values have none. CORE_USAGE, CORE_FAIL as above. */
int player_read_critic(Player *player);
/* The action for a whole observation, [env->whole_length], at the step'th step of an episode, from 0, whose steps come
 * one after the other: a policy with memory goes on from the last call. */
void player_act(Player *player, const float *observation, uint64_t seed, int step, PlayerAction *action);
void player_destroy(Player *player);

#endif
