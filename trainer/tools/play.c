/* A checkpoint's policy plays one level, as evaluation does: actions are sampled, the episode ends at the goal, at lava
 * or at the time limit. Reads the run's folder and never writes there, so a run that trains may be looked at. */
#include "trainer/tools/play.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/command/options.h"
#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/levels/level_set.h"
#include "sim/task/task.h"
#include "store/workspace/run_name.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/sim.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/nets/agent.h"
#include "trainer/run/run_files.h"
#include "trainer/tools/picture.h"
#include "trainer/wrappers/action.h"
#include "trainer/wrappers/observer.h"

enum { PLAY_PIXELS = 400 };

typedef struct PlayOptions {
  const char *checkpoint, *level, *output, *root;
  int64_t size, steps, seed;  /* steps, seed: -1 when not given */
} PlayOptions;

/* Who plays. */
typedef struct Player {
  CoreConfig config;
  char run_id[CORE_RUN_ID];
  int64_t iteration;
  Env *env;                   /* what the policy was trained on: its observations, actions and size */
  CoreArena *arena;
  Agent agent;
  Ops *ops;
  Observer observer;
  float *shown;               /* [env->observation_length] */
  float *observation;         /* [agent.inputs]: as the agent sees it */
  float *logits;              /* [agent.head.logits] */
} Player;

/* Where. */
typedef struct Stage {
  SimBatch *batch;            /* one world */
  SimLevel level;
  float *observation;         /* whole: [env->whole_length] */
  SimActionSpace space;
  union StageAction { uint8_t classes[OPS_FACTORS_MAX]; float values[OPS_FACTORS_MAX]; } action;
} Stage;

typedef struct Episode { int steps; bool done, solved; double total; } Episode;

/* ---- the policy ------------------------------------------------------------------------------------------------ */

static int load_observer(Player *player, const char *checkpoint) {
  Observer *observer = &player->observer;
  if (!observer->has_moments) return CORE_OK;
  TRY(checkpoint_read_section(checkpoint, player->run_id, OBSERVER_SECTION, observer->normaliser.moments,
                              observer_section_bytes(observer), &player->iteration));
  normalise_restored(&observer->normaliser);
  return CORE_OK;
}

static int load_policy(Player *player, const char *checkpoint) {
  AgentNetwork *actor = &player->agent.actor;
  player->arena = core_arena_create("player");
  agent_register(&player->agent, &player->config, player->env, 1, player->arena);
  const Shards alone = shards_alone(1);
  observer_register(&player->observer, &player->config, player->env, &alone, player->arena);
  CORE_ARENA(player->arena, player->shown, (size_t)player->env->observation_length, "shown [features]");
  CORE_ARENA(player->arena, player->observation, (size_t)player->agent.inputs, "observation [features]");
  CORE_ARENA(player->arena, player->logits, (size_t)player->agent.head.logits, "logits [logits]");
  TRY(core_arena_commit(player->arena));
  agent_place(&player->agent);
  TRY(agent_create_ops(&player->agent, &player->config, 1, &player->ops));
  TRY(load_observer(player, checkpoint));
  return checkpoint_read_section(checkpoint, player->run_id, "actor", actor->theta, actor->n * sizeof *actor->theta,
                                 &player->iteration);
}

static int make_player(const PlayOptions *options, Player *player) {
  RunFiles files;
  TRY(run_files_find(options->checkpoint, options->root, &files));
  player->config = core_config_default();
  TRY(core_config_read(files.config, &player->config));
  TRY(core_config_check(&player->config));
  TRY(agent_check(&player->config));
  core_config_id(&player->config, player->run_id);
  TRY(env_create(&player->config, 1, 0, &player->env));
  return load_policy(player, files.checkpoint);
}

static void destroy_player(Player *player) {
  ops_destroy(&player->ops);
  core_arena_destroy(&player->arena);
  env_destroy(&player->env);
}

/* ---- the world ------------------------------------------------------------------------------------------------- */

/* `text`: the number of one of the run's own levels, or any level that fits into their size. */
static int choose_level(const char *text, const char *kinetix, const SimLevelSet *own, SimLevel *level) {
  SimLevelSet named;
  int64_t number;
  if (core_text_to_int(text, &number)) {
    if (number < 0 || number >= own->count)
      return core_error(CORE_USAGE, "--level %.40s: the run's levels are 0 to %d", text, own->count - 1);
    *level = own->level[number];
    return CORE_OK;
  }
  TRY(levels_read(text, kinetix, &named));
  int count = named.count;
  *level = named.level[0];
  sim_level_set_free(&named);
  if (count > 1) return core_error(CORE_USAGE, "--level %.80s: %d levels; choose one: %.80s/0", text, count, text);
  if (sim_level_expand(level, own->size) != CORE_OK)
    return core_error_context(CORE_USAGE, "--level: the policy was trained on smaller levels");
  return CORE_OK;
}

/* A world that stays where its episode ended, and is observed whole: which features are left out depends on the levels
 * of the run, so the player picks its own. */
static int make_stage(const PlayOptions *options, const Player *player, Stage *stage) {
  SimLevelSet own = {0};
  SimBatchOptions rules = env_sim_options(&player->config);
  TRY(env_sim_levels(&player->config, &own, NULL));
  int code = choose_level(options->level, player->config.env.level_folder, &own, &stage->level);
  SimLevelSet one = {&stage->level, 1, own.size};
  sim_level_set_free(&own);
  TRY(code);
  rules.auto_reset = false;
  rules.reset = SIM_RESET_SAME;
  stage->space = rules.actions;
  TRY(sim_batch_create(&rules, &one, &stage->batch));
  int length = sim_batch_observation_length(stage->batch);
  CORE_CHECK(length == (player->env->features ? player->env->whole_length : player->env->observation_length));
  stage->observation = core_memory_allocate((size_t)length * sizeof *stage->observation);
  return CORE_OK;
}

/* ---- the episode ----------------------------------------------------------------------------------------------- */

static void act(Player *player, uint64_t seed, int step, Stage *stage) {
  const Env *env = player->env;
  const Agent *agent = &player->agent;
  union StageAction drawn = {{0}};
  float logp, bounded[OPS_FACTORS_MAX] = {0};
  for (int i = 0; i < env->observation_length; i++)
    player->shown[i] = stage->observation[env->features ? env->features[i] : i];
  observer_look(&player->observer, player->shown, 1, player->observation);
  agent_policy(agent, player->ops, agent->actor.theta, player->observation, 1, player->logits);
  player->ops->policy_sample(player->ops, &agent->head, player->logits, 1, seed, CORE_RANDOM_EVALUATE, 0,
                             (uint32_t)step, &drawn, &logp);
  memcpy(&stage->action, action_for_env(NULL, &agent->head, &drawn, 1, bounded), sizeof stage->action);
}

static int add_frame(const PlayOptions *options, const Stage *stage, const Episode *episode, bool last,
                     Picture *picture) {
  SimDrawCell cell;
  SimLevel world;
  float thrust[SIM_THRUSTER_BINDINGS];
  SimDrawSheet sheet = {1, 1, (int)options->size, true, 1, &cell};
  const SimCommand command = sim_task_command(stage->space, &stage->action, 0);
  for (int i = 0; i < SIM_THRUSTER_BINDINGS; i++) thrust[i] = command.of[SIM_MOTOR_BINDINGS + i];
  sim_batch_get_world(stage->batch, 0, &world);
  sim_draw_world(&world, thrust, &cell.drawing);
  snprintf(cell.label, sizeof cell.label, "%.60s  step %d%s", stage->level.name, episode->steps,
           episode->solved ? "  solved" : "");
  return picture_add(picture, &sheet, last);
}

static int play_episode(const PlayOptions *options, Player *player, Stage *stage, Picture *picture, Episode *episode) {
  uint64_t seed = (uint64_t)(options->seed >= 0 ? options->seed : player->config.train.seed);
  int64_t limit = player->config.env.max_steps;
  if (options->steps >= 0 && options->steps < limit) limit = options->steps;
  bool last = limit == 0;
  sim_batch_reset_to(stage->batch, &(int32_t){0}, stage->observation);
  if (last || picture_moves(picture)) TRY(add_frame(options, stage, episode, last, picture));
  while (!last) {
    float reward;
    uint8_t done, solved;
    act(player, seed, episode->steps, stage);
    sim_batch_step(stage->batch, &stage->action, &(SimStepOut){.observations = stage->observation, .reward = &reward,
                                                              .done = &done, .solved = &solved});
    episode->steps++;
    episode->total += (double)reward;
    episode->done = done;
    episode->solved = solved;
    last = done || episode->steps >= limit;
    if (last || picture_moves(picture)) TRY(add_frame(options, stage, episode, last, picture));
  }
  return picture_write(picture);
}

static int check_options(const PlayOptions *options) {
  if (!options->checkpoint)
    return core_error(CORE_USAGE, "whose policy? --checkpoint takes a run (its id or first digits, SWEEP/INDEX, its "
                                  "folder) or runs/ab/<id>/ckpt/iteration-*.ckpt");
  TRY(picture_check_size(options->size));
  if (options->steps < -1) return core_error(CORE_USAGE, "--steps %lld: must be 0 or more", (long long)options->steps);
  if (options->seed < -1 || options->seed > UINT32_MAX)
    return core_error(CORE_USAGE, "--seed %lld: must be 0 to %u", (long long)options->seed, UINT32_MAX);
  return CORE_OK;
}

static int play(void *given, const char **operands, size_t count) {
  const PlayOptions *options = given;
  Player player = {.iteration = -1};
  Stage stage = {.batch = NULL};
  Episode episode = {0};
  Picture *picture = NULL;
  int code = CORE_OK;
  omp_set_num_threads(1); /* there is one world */
  TRY(check_options(options));
  TRY_GOTO(code, done, picture_create(options->output, &picture));
  TRY_GOTO(code, done, make_player(options, &player));
  TRY_GOTO(code, done, make_stage(options, &player, &stage));
  TRY_GOTO(code, done, play_episode(options, &player, &stage, picture, &episode));
  printf("%s: %s, %d steps, %s, return %.3f (run %s after iteration %" PRId64 ")\n", options->output, stage.level.name,
         episode.steps, episode.solved ? "solved" : episode.done ? "not solved" : "cut off", episode.total,
         player.run_id, player.iteration);
done:
  picture_destroy(&picture);
  sim_batch_destroy(&stage.batch);
  free(stage.observation);
  destroy_player(&player);
  return code;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

int trainer_play(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer play --checkpoint RUN|FILE [--level LEVEL] [-o FILE] [OPTIONS]",
    .about = "Plays one episode of a trained policy and draws it, one frame an environment step. "
             STORE_RUN_NAME_HELP "\n\n" LEVELS_HELP,
    .hint = "the level goes as --level LEVEL"};
  PlayOptions options = {.level = "0", .output = "play.gif", .size = PLAY_PIXELS, .steps = -1, .seed = -1};
  const CoreOption table[] = {
    {"checkpoint", 'c', CORE_OPTION_TEXT, &options.checkpoint, "RUN|FILE",
     "whose policy: a run (its newest checkpoint) or a checkpoint file in its run's folder"},
    {"level", 'l', CORE_OPTION_TEXT, &options.level, "LEVEL",
     "the number of one of the run's own levels (default 0), or any LEVEL as below"},
    {"output", 'o', CORE_OPTION_TEXT, &options.output, "FILE",
     "where to draw: .gif (default play.gif), or .png and .svg for the last moment"},
    {"root", 'r', CORE_OPTION_TEXT, &options.root, "DIR",
     "the workspace; default $SWEEP_ROOT, else the current folder"},
    {"steps", 'n', CORE_OPTION_INT, &options.steps, "N",
     "stop after so many environment steps; default the run's limit"},
    {"seed", 0, CORE_OPTION_INT, &options.seed, "N", "seed of the actions' sampling; default the run's"},
    {"size", 0, CORE_OPTION_INT, &options.size, "PIXELS", "side of the drawing (default 400)"},
    {0}};
  return core_options_answer(&manual, table, argc, argv, play, &options);
}
