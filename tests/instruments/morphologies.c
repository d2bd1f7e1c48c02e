/* `instruments morphologies`: a table of the locomotion morphologies by family and difficulty; with --search, the
 * acceptance rules (docs/simulator.md#families) that generate sim/levels/morphology_attempts.h. The rules play complete
 * episodes, which is too slow for every start of a run, so that table stores the accepted attempts. */
#include "tests/instruments/morphologies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/command/options.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/terminal.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"

enum { EPISODE_STEPS = 256, NOOP_STEPS = 128, SETTLE_STEPS = 30, TRIAL_EPISODES = 32, OBSERVED_WORLDS = 8 };
static const float SPEED_MAX = 15, MOVE_MIN = 0.05f, SOLVE_MAX = 0.2f;

/* ---- random play ----------------------------------------------------------------------------------------------- */

static void random_actions(uint64_t seed, int worlds, int step, uint8_t *actions) {
  for (int w = 0; w < worlds; w++) {
    CoreRandom4 random = core_random_4(seed, CORE_RANDOM_ACTION, (uint32_t)w, (uint32_t)step, 0);
    uint8_t *action = actions + (size_t)w * SIM_ACTIONS;
    for (int i = 0; i < SIM_MOTOR_BINDINGS; i++) action[i] = (uint8_t)core_random_below(random.v[i], 3);
    /* the low bits, which core_random_below hardly uses */
    for (int i = 0; i < SIM_THRUSTER_BINDINGS; i++) action[SIM_MOTOR_BINDINGS + i] = random.v[i] & 1;
  }
}

/* First episodes of all worlds of a batch. */
typedef struct Play {
  SimBatch *batch;
  int worlds;
  uint8_t *actions, *done, *solved; /* [worlds] last step */
  bool *has_ended, *is_solved;      /* [worlds] first episode */
} Play;

/* Creates `episodes` worlds per level: world w starts on level w / episodes. */
static int play_create(const SimLevelSet *set, int episodes, Play *play) {
  SimBatchOptions options = sim_batch_options_default();
  size_t worlds = (size_t)set->count * (size_t)episodes;
  *play = (Play){.worlds = options.worlds = (int)worlds};
  TRY(sim_batch_create(&options, set, &play->batch));
  play->actions = core_memory_zero_allocate(worlds, SIM_ACTIONS);
  play->done = core_memory_zero_allocate(worlds, 1);
  play->solved = core_memory_zero_allocate(worlds, 1);
  play->has_ended = core_memory_zero_allocate(worlds, sizeof *play->has_ended);
  play->is_solved = core_memory_zero_allocate(worlds, sizeof *play->is_solved);
  int32_t *level = core_memory_allocate(worlds * sizeof *level);
  for (size_t w = 0; w < worlds; w++) level[w] = (int32_t)(w / (size_t)episodes);
  sim_batch_reset_to(play->batch, level, NULL);
  free(level);
  return CORE_OK;
}

static void play_destroy(Play *play) {
  sim_batch_destroy(&play->batch);
  free(play->actions);
  free(play->done);
  free(play->solved);
  free(play->has_ended);
  free(play->is_solved);
}

/* Steps all worlds. Returns the number of first episodes that have not ended. */
static int play_step(Play *play) {
  int running = 0;
  sim_batch_step(play->batch, play->actions, &(SimStepOut){.done = play->done, .solved = play->solved});
  for (int w = 0; w < play->worlds; w++) {
    if (!play->has_ended[w]) play->is_solved[w] = play->solved[w];
    play->has_ended[w] |= play->done[w];
    running += !play->has_ended[w];
  }
  return running;
}

int morphologies_play_randomly(const SimLevelSet *set, int episodes, uint64_t seed, float *solve_rate) {
  Play play;
  TRY(play_create(set, episodes, &play));
  for (int step = 0, running = 1; step < EPISODE_STEPS && running; step++) {
    random_actions(seed, play.worlds, step, play.actions);
    running = play_step(&play);
  }
  for (int i = 0; i < set->count; i++) {
    int solved = 0;
    for (int e = 0; e < episodes; e++) solved += play.is_solved[i * episodes + e];
    solve_rate[i] = (float)solved / (float)episodes;
  }
  play_destroy(&play);
  return CORE_OK;
}

/* ---- acceptance by playing (sim_morphology_fits checks the rest) ------------------------------------------------ */

static float max_speed(const SimLevel *world) {
  float speed = 0;
  for (int i = 0; i < world->size.polygons; i++)
    if (world->polygon[i].active) speed = fmaxf(speed, hypotf(world->polygon[i].vx, world->polygon[i].vy));
  for (int i = 0; i < world->size.circles; i++)
    if (world->circle[i].active) speed = fmaxf(speed, hypotf(world->circle[i].vx, world->circle[i].vy));
  return speed;
}

/* Checks that without actions the body settles and does not reach the goal. *reason stays NULL if the level passes. */
static int check_noop(const SimLevelSet *one, const char **reason) {
  Play play;
  SimLevel world;
  TRY(play_create(one, 1, &play));
  for (int step = 1; step <= NOOP_STEPS && !*reason; step++) {
    play_step(&play);
    sim_batch_get_world(play.batch, 0, &world);
    if (play.is_solved[0]) *reason = "solved by doing nothing";
    else if (play.has_ended[0] || sim_batch_nonfinite(play.batch)) *reason = "not finite";
    else if (step > SETTLE_STEPS && max_speed(&world) >= SPEED_MAX) *reason = "does not settle";
  }
  play_destroy(&play);
  return CORE_OK;
}

static const SimShape *green_body(const SimLevel *level) {
  for (int i = SIM_STATIC_POLYGONS; i < level->size.polygons; i++)
    if (level->polygon[i].active && level->polygon[i].role == SIM_ROLE_GREEN) return &level->polygon[i];
  CORE_CHECK(!"a morphology without a green body");
  return NULL;
}

/* Checks that random actions move the body, but rarely solve the level. */
static int check_random(const SimLevelSet *one, const char **reason) {
  const SimShape *start = green_body(&one->level[0]);
  float moved = 0;
  int solved = 0;
  Play play;

  TRY(play_create(one, TRIAL_EPISODES, &play));
  for (int step = 0, running = 1; step < EPISODE_STEPS && running; step++) {
    random_actions(SIM_MORPHOLOGY_SEED, play.worlds, step, play.actions);
    running = play_step(&play);
    for (int w = 0; w < OBSERVED_WORLDS; w++) {
      SimLevel world;
      if (play.has_ended[w]) continue;
      sim_batch_get_world(play.batch, w, &world);
      const SimShape *body = green_body(&world);
      moved = fmaxf(moved, hypotf(body->x - start->x, body->y - start->y));
    }
  }

  for (int w = 0; w < play.worlds; w++) solved += play.is_solved[w];
  if (sim_batch_nonfinite(play.batch)) *reason = "not finite under random actions";
  else if (solved > (int)(SOLVE_MAX * TRIAL_EPISODES)) *reason = "solved by random actions";
  else if (moved < MOVE_MIN && solved == 0) *reason = "random actions do not move it";

  play_destroy(&play);
  return CORE_OK;
}

static int try_candidate(SimLevel *candidate, const char **reason) {
  SimLevelSet one = {candidate, 1, candidate->size};
  *reason = NULL;
  TRY(sim_level_check(candidate));
  if (!sim_morphology_fits(candidate, reason)) return CORE_OK;
  TRY(check_noop(&one, reason));
  return *reason ? CORE_OK : check_random(&one, reason);
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

/* Numbers of rejected candidates by reason. */
typedef struct Rejections { const char *reason[16]; int count[16]; } Rejections;

static void count_rejection(Rejections *rejections, const char *reason) {
  int i = 0;
  while (i < 15 && rejections->reason[i] && strcmp(rejections->reason[i], reason) != 0) i++;
  rejections->reason[i] = reason;
  rejections->count[i]++;
}

static int search_level(int index, Rejections *rejections, uint32_t *attempt) {
  const char *reason = NULL;
  for (*attempt = 0; *attempt < SIM_MORPHOLOGY_ATTEMPTS; ++*attempt) {
    SimLevel candidate = sim_morphology_candidate(index, *attempt);
    TRY(try_candidate(&candidate, &reason));
    if (!reason) return CORE_OK;
    count_rejection(rejections, reason);
  }
  return core_error(CORE_FAIL, "level %d (%s): none of %d candidates was accepted; last reason: %s", index,
                    SIM_MORPHOLOGY_NAME[sim_morphology_family(index)], SIM_MORPHOLOGY_ATTEMPTS, reason);
}

static void write_table(const uint32_t *attempts, CoreText *text) {
  core_text_append(text,
    "/* Generated by `instruments morphologies --search`; do not edit. Accepted attempt of each of the 512 levels of\n"
    " * the loco512 families (docs/simulator.md#families), level 0 first. Included only by morphology.c. */\n"
    "#define SIM_MORPHOLOGY_ATTEMPT_TABLE");
  for (int i = 0; i < SIM_MORPHOLOGY_LEVELS; i++)
    core_text_appendf(text, "%s%s%u", i > 0 ? "," : "", i % 32 ? " " : " \\\n  ", attempts[i]);
  core_text_append(text, "\n");
}

static int search(const char *output) {
  uint32_t attempts[SIM_MORPHOLOGY_LEVELS];
  Rejections rejections = {{NULL}, {0}};
  CoreLive live = {.plain_every_s = 10};
  CoreText text = {0};
  const int levels = SIM_MORPHOLOGY_LEVELS;
  int redrawn = 0;

  for (int i = 0; i < levels; i++) {
    char bar[256], line[320];
    TRY(search_level(i, &rejections, &attempts[i]));
    redrawn += (int)attempts[i];
    snprintf(line, sizeof line, "%s level %d of %d, %d candidates rejected\n",
             core_terminal_bar((double)(i + 1) / levels, 30, bar), i + 1, levels, redrawn);
    core_live_draw(&live, line, i == levels - 1);
  }

  for (int i = 0; i < 16 && rejections.reason[i]; i++) printf("%6d  %s\n", rejections.count[i], rejections.reason[i]);
  write_table(attempts, &text);
  int code = core_files_write_atomic(output, text.data, text.length);
  core_text_free(&text);
  if (code == CORE_OK) printf("wrote %s; rebuild to use it\n", output);
  return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static int add_row(CoreTable *table, const char *name, const char *class, const SimLevelSet *set, int episodes) {
  double sum = 0, solved = 0;
  float min_distance = INFINITY, max_distance = 0;
  float *rate = core_memory_zero_allocate((size_t)set->count, sizeof *rate);
  int code = episodes ? morphologies_play_randomly(set, episodes, SIM_MORPHOLOGY_SEED + 1, rate) : CORE_OK;

  for (int i = 0; i < set->count; i++) {
    float distance = sim_morphology_distance(&set->level[i]);
    sum += (double)distance;
    solved += (double)rate[i];
    min_distance = fminf(min_distance, distance);
    max_distance = fmaxf(max_distance, distance);
  }

  free(rate);
  TRY(code);
  core_table_cell(table, "%s", name);
  core_table_cell(table, "%s", class);
  core_table_cell(table, "%d", set->count);
  core_table_cell(table, "%.2f", sum / set->count);
  core_table_cell(table, "%.2f", (double)min_distance);
  core_table_cell(table, "%.2f", (double)max_distance);
  if (episodes) core_table_cell(table, "%.3f", solved / set->count);
  else core_table_cell(table, "-");
  return CORE_OK;
}

static int add_set(CoreTable *table, const char *morphologies, const char *difficulty, int episodes) {
  SimLevelSet set;
  TRY(sim_morphology_set(morphologies, difficulty, SIM_MORPHOLOGY_LEVELS, &set));
  int code = add_row(table, morphologies, difficulty, &set, episodes);
  sim_level_set_free(&set);
  return code;
}

static int print_table(int episodes) {
  static const char *const headers[] = {"morphologies", "difficulty", "levels", "distance m", "min", "max",
                                        "random solves"};
  static const char *const classes[SIM_MORPHOLOGY_CLASSES] = {"0", "1", "2", "3"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof headers[0]);
  int code = add_set(table, "public", "all", episodes);
  for (int f = 0; f < SIM_MORPHOLOGY_FAMILIES; f++) {
    for (int c = 0; c < SIM_MORPHOLOGY_CLASSES; c++) {
      if (code != CORE_OK) break;
      code = add_set(table, SIM_MORPHOLOGY_NAME[f], classes[c], episodes);
    }
  }
  if (code == CORE_OK) core_table_print(table, stdout);
  core_table_destroy(&table);
  return code;
}

typedef struct Request { const char *output; int64_t episodes; bool search, stats; } Request;

static int run(void *opts, const char **operands, size_t count) {
  const Request *request = opts;
  if (request->episodes < 0 || request->episodes > 4096)
    return core_error(CORE_USAGE, "--episodes %lld: expected 0 to 4096", (long long)request->episodes);
  if (request->search && request->stats)
    return core_error(CORE_USAGE, "--search and --stats are mutually exclusive");
  return request->search ? search(request->output) : print_table((int)request->episodes);
}

int instrument_morphologies(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "instruments morphologies [--episodes N] | --search [--output FILE]",
    .about = "Prints the locomotion morphologies of env.task = loco512 by family and difficulty: number of levels, "
             "distance to the goal, and solve rate of random actions."};

  Request request = {.output = "sim/levels/morphology_attempts.h", .episodes = 8};
  const CoreOption options[] = {
    {"stats", 0, CORE_OPTION_FLAG, &request.stats, NULL,
     "print the table of all morphologies (default)"},
    {"episodes", 'n', CORE_OPTION_INT, &request.episodes, "N",
     "random episodes per level for the solve rate; 0 omits it (default 8)"},
    {"search", 0, CORE_OPTION_FLAG, &request.search, NULL,
     "find each level's first acceptable attempt and write the table that the generator is built with"},
    {"output", 'o', CORE_OPTION_TEXT, &request.output, "FILE",
     "output of --search (default sim/levels/morphology_attempts.h)"},
    {0}};

  return core_options_run(&manual, options, argc, argv, run, &request);
}
