/* Levels -> worlds that step without a policy -> drawings -> a picture file. The worlds play on past the end of an
 * episode, so that each frame of a sheet shows the same moment of all of them. */
#include "trainer/tools/show.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/command/options.h"
#include "core/memory.h"
#include "core/random.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/picture/picture.h"
#include "trainer/tools/show_env.h"

enum {
  SINGLE_PIXELS = 500, CELL_PIXELS = 160,   /* unless --size says otherwise */
  AUTO_SIDE_MAX = 8, SHEET_SIDE_MAX = 64,   /* cells in a row of a sheet: chosen here, and at most */
  STEPS_MAX = 1000,
};

typedef struct ShowOptions {
  const char *levels, *output, *sheet, *kinetix; /* kinetix: folder of its level files */
  int64_t steps, size, from, seed;  /* steps, size: -1 when not given */
  bool random;
} ShowOptions;

typedef struct Show {
  const ShowOptions *options;
  SimLevelSet set;
  SimDrawSheet sheet;
  SimDrawCell *cell;        /* [sheet.count] */
  SimBatch *batch;          /* [sheet.count] worlds */
  uint8_t *actions;         /* [sheet.count][SIM_ACTIONS] */
  Picture *picture;
  int steps;
} Show;

/* ---- what to show ---------------------------------------------------------------------------------------------- */

/* "8x6": columns and rows. */
static int parse_sheet(const char *text, int *columns, int *rows) {
  char *end = NULL;
  long first = strtol(text, &end, 10), second = 0;
  bool good = end != text && *end == 'x';
  if (good) {
    const char *rest = end + 1;
    second = strtol(rest, &end, 10);
    good = end != rest && *end == '\0';
  }
  if (!good || first < 1 || first > SHEET_SIDE_MAX || second < 1 || second > SHEET_SIDE_MAX)
    return core_error(CORE_USAGE, "--sheet %.40s: must be columns x rows such as 8x6, 1 to %d of each", text,
                      SHEET_SIDE_MAX);
  *columns = (int)first;
  *rows = (int)second;
  return CORE_OK;
}

/* One level fills the picture; several without --sheet make a sheet that is nearly square. */
static int choose_sheet(Show *show) {
  const ShowOptions *options = show->options;
  SimDrawSheet *sheet = &show->sheet;
  if (options->from >= show->set.count)
    return core_error(CORE_USAGE, "--from %lld: the levels are 0 to %d", (long long)options->from, show->set.count - 1);
  int left = show->set.count - (int)options->from;
  sheet->columns = sheet->rows = 1;
  while (!options->sheet && left > 1 && sheet->columns * sheet->rows < left && sheet->rows < AUTO_SIDE_MAX)
    if (sheet->columns == sheet->rows) sheet->columns++;
    else sheet->rows++;
  if (options->sheet) TRY(parse_sheet(options->sheet, &sheet->columns, &sheet->rows));
  sheet->labelled = options->sheet || left > 1;
  int room = sheet->columns * sheet->rows;
  sheet->count = left < room ? left : room;
  sheet->pixels = (int)(options->size >= 0 ? options->size : sheet->labelled ? CELL_PIXELS : SINGLE_PIXELS);
  return sim_draw_sheet_check(sheet);
}

static int check_options(const ShowOptions *options) {
  if (options->steps < -1 || options->steps > STEPS_MAX)
    return core_error(CORE_USAGE, "--steps %lld: must be 0 to %d", (long long)options->steps, STEPS_MAX);
  if (options->size != -1) TRY(picture_check_size(options->size));
  if (options->from < 0) return core_error(CORE_USAGE, "--from %lld: must be 0 or more", (long long)options->from);
  if (options->seed < 0 || options->seed > UINT32_MAX)
    return core_error(CORE_USAGE, "--seed %lld: must be 0 to %u", (long long)options->seed, UINT32_MAX);
  return CORE_OK;
}

/* Worlds of the levels shown, each on its own. */
static int make_worlds(Show *show) {
  size_t count = (size_t)show->sheet.count;
  SimLevelSet shown = {show->set.level + show->options->from, show->sheet.count, show->set.size};
  SimBatchOptions batch_options = sim_batch_options_default();
  batch_options.worlds = show->sheet.count;
  batch_options.auto_reset = false;
  TRY(sim_batch_create(&batch_options, &shown, &show->batch));
  int32_t *level = core_memory_allocate(count * sizeof *level);
  for (size_t w = 0; w < count; w++) level[w] = (int32_t)w;
  sim_batch_reset_to(show->batch, level, NULL);
  free(level);
  show->actions = core_memory_zero_allocate(count, SIM_ACTIONS);
  show->sheet.cell = show->cell = core_memory_zero_allocate(count, sizeof *show->cell);
  for (size_t w = 0; w < count; w++) {
    const SimLevel *shown_level = &shown.level[w];
    if (show->set.count == 1) snprintf(show->cell[w].label, SIM_DRAW_LABEL, "%.63s", shown_level->name);
    else snprintf(show->cell[w].label, SIM_DRAW_LABEL, "%lld %.63s", (long long)show->options->from + (long long)w,
                  shown_level->name);
  }
  return CORE_OK;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static void draw_actions(Show *show, int step) {
  for (int w = 0; w < show->sheet.count; w++) {
    CoreRandomStream stream = core_random_stream((uint64_t)show->options->seed, CORE_RANDOM_ACTION, (uint32_t)w,
                                                 (uint32_t)step);
    for (int i = 0; i < SIM_ACTIONS; i++)
      show->actions[w * SIM_ACTIONS + i] =
        (uint8_t)core_random_below(core_random_next(&stream), i < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
}

/* `moved`: flames show the last step's actions. */
static int add_frame(Show *show, bool moved, bool last) {
  for (int w = 0; w < show->sheet.count; w++) {
    SimLevel world;
    float thrust[SIM_THRUSTER_BINDINGS];
    for (int i = 0; i < SIM_THRUSTER_BINDINGS; i++)
      thrust[i] = show->actions[w * SIM_ACTIONS + SIM_MOTOR_BINDINGS + i];
    sim_batch_get_world(show->batch, w, &world);
    sim_draw_world(&world, moved ? thrust : NULL, &show->cell[w].drawing);
  }
  return picture_add(show->picture, &show->sheet, last);
}

static int make_frames(Show *show) {
  bool moves = picture_moves(show->picture);
  if (moves || show->steps == 0) TRY(add_frame(show, moves, show->steps == 0));
  for (int step = 1; step <= show->steps; step++) {
    if (show->options->random) draw_actions(show, step - 1);
    sim_batch_step(show->batch, show->actions, &(SimStepOut){0});
    if (moves || step == show->steps) TRY(add_frame(show, true, step == show->steps));
  }
  return CORE_OK;
}

static int make_picture(Show *show) {
  const ShowOptions *options = show->options;
  TRY(picture_create(options->output, true, SIM_DRAW_FRAME_CS / 100.0, &show->picture));
  show->steps = (int)(options->steps >= 0 ? options->steps : picture_moves(show->picture) ? SHOW_MOVING_STEPS : 0);
  TRY(levels_read(options->levels, options->kinetix, &show->set));
  TRY(choose_sheet(show));
  TRY(make_worlds(show));
  TRY(make_frames(show));
  return picture_write(show->picture);
}

static int show_levels(const ShowOptions *options) {
  Show show = {.options = options};
  int code = make_picture(&show);
  if (code == CORE_OK) {
    printf("%s: %d x %d pixels", options->output, sim_draw_sheet_width(&show.sheet),
           sim_draw_sheet_height(&show.sheet));
    if (show.set.count > 1) printf(", %d of %d levels", show.sheet.count, show.set.count);
    if (picture_moves(show.picture)) printf(", %d frames", show.steps + 1);
    printf("\n");
  }
  picture_destroy(&show.picture);
  sim_batch_destroy(&show.batch);
  sim_level_set_free(&show.set);
  free(show.actions);
  free(show.cell);
  return code;
}

/* ---- tasks with worlds of their own ------------------------------------------------------------------------------ */

static int show_task(const ShowOptions *options) {
  const char *of_levels = options->sheet ? "--sheet" : options->from ? "--from" : *options->kinetix ? "--levels" : NULL;
  if (of_levels)
    return core_error(CORE_USAGE, "%s is for levels, and %.60s has none; leave it out", of_levels, options->levels);
  return show_env(&(ShowEnv){.task = options->levels, .output = options->output, .steps = options->steps,
                             .pixels = options->size >= 0 ? options->size : SINGLE_PIXELS, .seed = options->seed,
                             .random = options->random});
}

static int show(void *given, const char **operands, size_t count) {
  ShowOptions *options = given;
  options->levels = operands[0];
  omp_set_num_threads(1); /* the worlds are few */
  TRY(check_options(options));
  return task_is_environment(options->levels) ? show_task(options) : show_levels(options);
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

int trainer_show(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer show LEVEL|SET|TASK [-o FILE] [--sheet CxR] [OPTIONS]",
    .about = "Draws levels in Kinetix's colours: green must touch blue and keep off red; dark bodies are fixed in "
             "place; joints and flames have the colour of their motor's or thruster's number. A task with worlds of "
             "its own, such as mujoco/Ant-v5, is drawn by its own renderer (trainer tasks lists them).\n\n"
             LEVELS_HELP,
    .least = 1, .most = 1,
    .hint = "name one level, set or task (trainer show --help lists how)"};
  ShowOptions options = {.output = picture_default_name(), .kinetix = "", .steps = -1, .size = -1};
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &options.output, "FILE",
     "where to draw: .png, .gif or .mp4 (moving), or of levels .svg; default level.png"},
    {"sheet", 0, CORE_OPTION_TEXT, &options.sheet, "CxR",
     "columns and rows of a sheet; default as many as needed, to 8x8"},
    {"levels", 0, CORE_OPTION_TEXT, &options.kinetix, "DIR", "where the files of kinetix_s, kinetix_m, kinetix_l are"},
    {"from", 0, CORE_OPTION_INT, &options.from, "N", "the first level on a sheet (default 0)"},
    {"steps", 'n', CORE_OPTION_INT, &options.steps, "N",
     "environment steps (of 1/30 s with levels) before the picture (default 0), or of the film (default 90)"},
    {"random", 0, CORE_OPTION_FLAG, &options.random, NULL, "act at random instead of not at all"},
    {"seed", 0, CORE_OPTION_INT, &options.seed, "N", "seed of --random, and of a task's start (default 0)"},
    {"size", 0, CORE_OPTION_INT, &options.size, "PIXELS", "side of each drawing (default 500, on a sheet 160)"},
    {0}};
  return core_options_answer(&manual, table, argc, argv, show, &options);
}
