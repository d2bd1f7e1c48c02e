/* Plays one episode with a checkpoint's policy, as evaluation does. Levels are drawn here; play_env.c handles
 * environments that render their own worlds. */
#include "trainer/tools/tools.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/command/options.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "sim/levels/level_set.h"
#include "sim/task/task.h"
#include "store/workspace/run_name.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/sim.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/picture/picture.h"
#include "trainer/tools/play_env.h"
#include "trainer/tools/player.h"

enum { PLAY_PIXELS = 400 };

typedef struct PlayOptions {
  const char *checkpoint, *level, *output, *root; /* level: NULL if not given */
  int64_t size, steps, seed;  /* steps, seed: -1 if not given */
  bool best;
} PlayOptions;

/* World of the episode, and its buffers. */
typedef struct Stage {
  SimBatch *batch;            /* one world */
  SimLevel level;
  float *observation;         /* [env->whole_length] */
  SimActionSpace space;
  PlayerAction action;
} Stage;

typedef struct Episode { int steps; bool done, solved; double total; } Episode;

/* ---- the world ------------------------------------------------------------------------------------------------- */

/* Finds the level that `text` names: the index of one of the run's levels, or any level that fits into their size. */
static int find_level(const char *text, const char *kinetix, const SimLevelSet *run_levels, SimLevel *level) {
  SimLevelSet named;
  int64_t index;

  if (core_text_to_int(text, &index)) {
    if (index < 0 || index >= run_levels->count)
      return core_error(CORE_USAGE, "--level %.40s is out of range: the run's levels are 0 to %d", text,
                        run_levels->count - 1);
    *level = run_levels->level[index];
    return CORE_OK;
  }

  TRY(levels_read(text, kinetix, &named));
  int count = named.count;
  *level = named.level[0];
  sim_level_set_free(&named);
  if (count > 1) return core_error(CORE_USAGE, "--level %.80s names %d levels; select one, such as %.80s/0",
                                               text, count, text);
  if (sim_level_expand(level, run_levels->size) != CORE_OK)
    return core_error_context(CORE_USAGE, "--level: the policy was trained on smaller levels");
  return CORE_OK;
}

/* Creates a world without auto-reset that has full observations: the omitted features depend on the levels of the run,
 * so player_act selects them. */
static int create_stage(const PlayOptions *options, const Player *player, Stage *stage) {
  SimLevelSet run_levels = {0};
  SimBatchOptions rules = env_sim_options(&player->config);

  TRY(env_sim_levels(&player->config, &run_levels, NULL));
  int code = find_level(options->level ? options->level : "0", player->config.env.level_folder, &run_levels,
                        &stage->level);
  SimLevelSet set = {&stage->level, 1, run_levels.size};
  sim_level_set_free(&run_levels);
  TRY(code);

  rules.auto_reset = false;
  rules.reset = SIM_RESET_SAME;
  stage->space = rules.actions;
  TRY(sim_batch_create(&rules, &set, &stage->batch));
  int length = sim_batch_observation_length(stage->batch);
  CORE_CHECK(length == (player->env->features ? player->env->whole_length : player->env->observation_length));
  stage->observation = core_memory_allocate((size_t)length * sizeof *stage->observation);
  return CORE_OK;
}

/* ---- the episode ----------------------------------------------------------------------------------------------- */

static int add_frame(const PlayOptions *options, const Stage *stage, const Episode *episode, bool is_last,
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
  return picture_add(picture, &sheet, is_last);
}

static uint64_t effective_seed(const PlayOptions *options, const Player *player) {
  return (uint64_t)(options->seed >= 0 ? options->seed : player->config.train.seed);
}

static int play_episode(const PlayOptions *options, Player *player, Stage *stage, Picture *picture, Episode *episode) {
  const uint64_t seed = effective_seed(options, player);
  int64_t limit = player->config.env.max_steps;
  if (options->steps >= 0 && options->steps < limit) limit = options->steps;
  bool is_last = limit == 0;

  sim_batch_reset_to(stage->batch, &(int32_t){0}, stage->observation);
  if (is_last || picture_is_video(picture)) TRY(add_frame(options, stage, episode, is_last, picture));

  while (!is_last) {
    float reward;
    uint8_t done, solved;
    player_act(player, stage->observation, seed, episode->steps, &stage->action);
    sim_batch_step(stage->batch, &stage->action, &(SimStepOut){.observations = stage->observation, .reward = &reward,
                                                              .done = &done, .solved = &solved});
    episode->steps++;
    episode->total += (double)reward;
    episode->done = done;
    episode->solved = solved;
    is_last = done || episode->steps >= limit;
    if (is_last || picture_is_video(picture)) TRY(add_frame(options, stage, episode, is_last, picture));
  }
  return picture_write(picture);
}

static int check_options(const PlayOptions *options) {
  if (!options->checkpoint)
    return core_error(CORE_USAGE, "missing --checkpoint; name a run (its id or first digits, SWEEP/INDEX, its "
                                  "directory) or runs/ab/<id>/ckpt/iteration-*.ckpt");
  TRY(picture_check_size(options->size));
  if (options->steps < -1) return core_error(CORE_USAGE, "--steps %lld: expected 0 or more", (long long)options->steps);
  if (options->seed < -1 || options->seed > UINT32_MAX)
    return core_error(CORE_USAGE, "--seed %lld: expected 0 to %u", (long long)options->seed, UINT32_MAX);
  return CORE_OK;
}

static int play_level(const PlayOptions *options, Player *player) {
  Stage stage = {.batch = NULL};
  Episode episode = {0};
  Picture *picture = NULL;
  int code = CORE_OK;

  TRY_GOTO(code, done, picture_create(options->output, PICTURE_DRAWINGS, SIM_DRAW_FRAME_CS / 100.0, &picture));
  TRY_GOTO(code, done, create_stage(options, player, &stage));
  TRY_GOTO(code, done, play_episode(options, player, &stage, picture, &episode));
  core_unicode_print(stdout, "%s: %s, %d steps, %s, return %.3f (run %s after iteration %" PRId64 ")\n",
                     options->output, stage.level.name, episode.steps,
                     episode.solved ? "solved" : episode.done ? "not solved" : "cut off", episode.total,
                     player->run_id, player->iteration);

done:
  picture_destroy(&picture);
  sim_batch_destroy(&stage.batch);
  free(stage.observation);
  return code;
}

static int play_task(const PlayOptions *options, Player *player) {
  if (player->env->picture == NULL)
    return core_error(CORE_USAGE, "env.task = %.60s cannot be rendered; trainer play supports levels and MuJoCo tasks",
                      player->config.env.task);
  if (options->level)
    return core_error(CORE_USAGE, "--level %.40s: %.60s has no levels; omit it", options->level,
                      player->config.env.task);
  return play_env(&(PlayEnv){.output = options->output, .pixels = options->size, .steps = options->steps,
                             .seed = effective_seed(options, player)}, player);
}

static int play(void *opts, const char **operands, size_t count) {
  const PlayOptions *options = opts;
  PlayOptions named = *options;
  char output[CORE_PATH_MAX];
  Player player;
  omp_set_num_threads(1); /* there is one world */
  TRY(check_options(options));
  int code = player_create(&(PlayerOptions){options->checkpoint, options->root, options->best, true}, &player);
  if (code == CORE_OK) code = player_output(&player, named.root, options->output, ".gif", output);
  named.output = output;
  if (code == CORE_OK)
    code = task_is_environment(player.config.env.task) ? play_task(&named, &player) : play_level(&named, &player);
  player_destroy(&player);
  return code;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

int trainer_play(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer play --checkpoint RUN|FILE [--level LEVEL] [-o FILE] [OPTIONS]",
    .about = "Plays one episode of a trained policy and records it, with one frame per environment step. Tasks with "
             "their own renderer (mujoco/...) are recorded at 25 to 50 frames per second, for the first 10 seconds "
             "unless --steps is given. " STORE_RUN_NAME_HELP "\n\n" LEVELS_HELP,
    .hint = "pass the level as --level LEVEL"};
  PlayOptions options = {.output = "play.gif", .size = PLAY_PIXELS, .steps = -1, .seed = -1};
  const CoreOption table[] = {
    {"checkpoint", 'c', CORE_OPTION_TEXT, &options.checkpoint, "RUN|FILE",
     "policy: a run (its newest checkpoint) or a checkpoint file in its run's directory"},
    {"best", 'b', CORE_OPTION_FLAG, &options.best, NULL, "play the run's best checkpoint (checkpoint.best)"},
    {"level", 'l', CORE_OPTION_TEXT, &options.level, "LEVEL",
     "index of one of the run's levels (default 0), or any LEVEL as described above"},
    {"output", 'o', CORE_OPTION_TEXT, &options.output, "FILE",
     "output file: .gif (default play.gif) or .mp4; .png, or .svg for a level, shows the last frame; in a directory, "
     "a .gif named after the run"},
    {"root", 'r', CORE_OPTION_TEXT, &options.root, "DIR",
     "workspace; default $SWEEP_ROOT, else the current directory"},
    {"steps", 'n', CORE_OPTION_INT, &options.steps, "N",
     "stop after N environment steps; default: the run's limit"},
    {"seed", 0, CORE_OPTION_INT, &options.seed, "N", "seed for sampling actions; default: the run's"},
    {"size", 0, CORE_OPTION_INT, &options.size, "PIXELS", "width and height of the drawing (default 400)"},
    {0}};

  return core_options_run(&manual, table, argc, argv, play, &options);
}
