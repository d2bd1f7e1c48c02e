/* Loads a run's policy from its newest checkpoint or from a file, and samples actions as evaluations do. Only reads the
 * run's directory, so it is safe to use while the run is training. */
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
  int64_t iteration;          /* iteration of the checkpoint */
  Env *env;                   /* environment that the policy was trained on */
  CoreArena *arena;
  Agent agent;
  Ops *ops;
  ObsPipeline pipeline;
  float *env_observation;     /* [env->observation_length] */
  float *observation;         /* [agent.inputs] input of the agent */
  float *states;              /* recurrent state for the next step */
  float *logits;              /* [agent.head.logits] */
} Player;

typedef union PlayerAction { uint8_t classes[OPS_FACTORS_MAX]; float values[OPS_FACTORS_MAX]; } PlayerAction;

typedef struct PlayerOptions {
  const char *checkpoint; /* a run's name or a file */
  const char *root;       /* workspace; NULL: the default */
  bool best;              /* the run's best checkpoint instead of its newest */
  bool needs_env;         /* the environment will be stepped, so it is created even where a record of its spaces would
                             do */
} PlayerOptions;

/* Loads a policy. Call player_destroy also on failure. Errors: as run_files_find; of the configuration; of the
 * checkpoint. */
int player_create(const PlayerOptions *opts, Player *player);
/* Makes the path of an output file. `given`: a file, or an existing directory, in which the file is named after the run
 * ("epsilon=0.1,seed=2-<id>.onnx", store_run_label). root: as in PlayerOptions. */
int player_output(const Player *player, const char *root, const char *given, const char *extension,
                  char path[CORE_PATH_MAX]);
/* Also loads the critic's weights, which acting does not need; Q networks have none. Errors: as
 * checkpoint_read_section. */
int player_read_critic(Player *player);
/* Computes the action for a full observation, [env->whole_length], at step `step` of an episode, from 0. Call it for
 * consecutive steps, since a recurrent policy continues from the previous call. */
void player_act(Player *player, const float *observation, uint64_t seed, int step, PlayerAction *action);
void player_destroy(Player *player);

#endif
