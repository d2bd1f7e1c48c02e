/* Steps worlds of levels without a policy and draws them into an image or video. The worlds continue past the end of an
 * episode, so that every cell of a sheet shows the same time step. */
#include "trainer/tools/tools.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/command/options.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/unicode.h"
#include "sim/batch/batch.h"
#include "sim/levels/level_set.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/picture/picture.h"
#include "trainer/tools/show_env.h"

enum {
  SINGLE_PIXELS = 500, CELL_PIXELS = 160,   /* defaults of --size for one level and for a sheet */
  AUTO_SIDE_MAX = 8, SHEET_SIDE_MAX = 64,   /* maximum rows and columns: default and --sheet */
  STEPS_MAX = 1000,
};

typedef struct ShowOptions {
  const char *levels, *output, *sheet, *kinetix; /* kinetix: directory of the kinetix_* level files */
  int64_t steps, size, from, seed;  /* steps, size: -1 if not given */
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

/* ---- levels and layout ----------------------------------------------------------------------------------------- */

/* Parses "8x6", columns and rows. */
static int parse_sheet(const char *text, int *columns, int *rows) {
  char *end = NULL;
  long first = strtol(text, &end, 10), second = 0;
  bool ok = end != text && *end == 'x';
  if (ok) {
    const char *tail = end + 1;
    second = strtol(tail, &end, 10);
    ok = end != tail && *end == '\0';
  }
  if (!ok || first < 1 || first > SHEET_SIDE_MAX || second < 1 || second > SHEET_SIDE_MAX)
    return core_error(CORE_USAGE, "--sheet %.40s: expected COLUMNSxROWS such as 8x6, 1 to %d of each", text,
                      SHEET_SIDE_MAX);
  *columns = (int)first;
  *rows = (int)second;
  return CORE_OK;
}

/* Sets up the sheet: a single level fills the image; without --sheet, several levels form a nearly square sheet. */
static int init_sheet(Show *show) {
  const ShowOptions *options = show->options;
  SimDrawSheet *sheet = &show->sheet;
  if (options->from >= show->set.count)
    return core_error(CORE_USAGE, "--from %lld is out of range: the levels are 0 to %d",
                                  (long long)options->from, show->set.count - 1);

  int remaining = show->set.count - (int)options->from;
  sheet->columns = sheet->rows = 1;
  while (!options->sheet && remaining > 1 && sheet->columns * sheet->rows < remaining && sheet->rows < AUTO_SIDE_MAX)
    if (sheet->columns == sheet->rows) sheet->columns++;
    else sheet->rows++;
  if (options->sheet) TRY(parse_sheet(options->sheet, &sheet->columns, &sheet->rows));

  sheet->labeled = options->sheet || remaining > 1;
  int capacity = sheet->columns * sheet->rows;
  sheet->count = remaining < capacity ? remaining : capacity;
  const int default_pixels = sheet->labeled ? CELL_PIXELS : SINGLE_PIXELS;
  sheet->pixels = options->size >= 0 ? (int)options->size : default_pixels;
  return sim_draw_sheet_check(sheet);
}

static int check_options(const ShowOptions *options) {
  if (options->steps < -1 || options->steps > STEPS_MAX)
    return core_error(CORE_USAGE, "--steps %lld: expected 0 to %d", (long long)options->steps, STEPS_MAX);
  if (options->size != -1) TRY(picture_check_size(options->size));
  if (options->from < 0) return core_error(CORE_USAGE, "--from %lld: expected 0 or more", (long long)options->from);
  if (options->seed < 0 || options->seed > UINT32_MAX)
    return core_error(CORE_USAGE, "--seed %lld: expected 0 to %u", (long long)options->seed, UINT32_MAX);
  return CORE_OK;
}

/* Creates a world per level shown, and the labels. */
static int create_worlds(Show *show) {
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

static void sample_actions(Show *show, int step) {
  for (int w = 0; w < show->sheet.count; w++) {
    CoreRandomStream stream = core_random_stream((uint64_t)show->options->seed, CORE_RANDOM_ACTION, (uint32_t)w,
                                                 (uint32_t)step);
    for (int i = 0; i < SIM_ACTIONS; i++)
      show->actions[w * SIM_ACTIONS + i] =
        (uint8_t)core_random_below(core_random_next(&stream), i < SIM_MOTOR_BINDINGS ? 3 : 2);
  }
}

/* Adds a frame. has_actions: draws flames for the last step's actions. */
static int add_frame(Show *show, bool has_actions, bool is_last) {
  for (int w = 0; w < show->sheet.count; w++) {
    SimLevel world;
    float thrust[SIM_THRUSTER_BINDINGS];
    for (int i = 0; i < SIM_THRUSTER_BINDINGS; i++)
      thrust[i] = show->actions[w * SIM_ACTIONS + SIM_MOTOR_BINDINGS + i];
    sim_batch_get_world(show->batch, w, &world);
    sim_draw_world(&world, has_actions ? thrust : NULL, &show->cell[w].drawing);
  }
  return picture_add(show->picture, &show->sheet, is_last);
}

static int add_frames(Show *show) {
  bool is_video = picture_is_video(show->picture);
  if (is_video || show->steps == 0) TRY(add_frame(show, is_video, show->steps == 0));
  for (int step = 1; step <= show->steps; step++) {
    if (show->options->random) sample_actions(show, step - 1);
    sim_batch_step(show->batch, show->actions, &(SimStepOut){0});
    if (is_video || step == show->steps) TRY(add_frame(show, true, step == show->steps));
  }
  return CORE_OK;
}

static int write_picture(Show *show) {
  const ShowOptions *options = show->options;
  TRY(picture_create(options->output, PICTURE_DRAWINGS, SIM_DRAW_FRAME_CS / 100.0, &show->picture));
  const int default_steps = picture_is_video(show->picture) ? SHOW_VIDEO_STEPS : 0;
  show->steps = options->steps >= 0 ? (int)options->steps : default_steps;
  TRY(levels_read(options->levels, options->kinetix, &show->set));
  TRY(init_sheet(show));
  TRY(create_worlds(show));
  TRY(add_frames(show));
  return picture_write(show->picture);
}

static int show_levels(const ShowOptions *options) {
  Show show = {.options = options};

  int code = write_picture(&show);
  if (code == CORE_OK) {
    core_unicode_print(stdout, "%s: %d x %d pixels", options->output, sim_draw_sheet_width(&show.sheet),
                       sim_draw_sheet_height(&show.sheet));
    if (show.set.count > 1) printf(", %d of %d levels", show.sheet.count, show.set.count);
    if (picture_is_video(show.picture)) printf(", %d frames", show.steps + 1);
    printf("\n");
  }

  picture_destroy(&show.picture);
  sim_batch_destroy(&show.batch);
  sim_level_set_free(&show.set);
  free(show.actions);
  free(show.cell);
  return code;
}

/* ---- tasks with their own renderer ------------------------------------------------------------------------------- */

static int show_task(const ShowOptions *options) {
  const char *level_option =
    options->sheet ? "--sheet" : options->from ? "--from" : *options->kinetix ? "--levels" : NULL;
  if (level_option)
    return core_error(CORE_USAGE, "%s applies to levels, but %.60s has none; omit it", level_option, options->levels);
  return show_env(&(ShowEnv){.task = options->levels, .output = options->output, .steps = options->steps,
                             .pixels = options->size >= 0 ? options->size : SINGLE_PIXELS, .seed = options->seed,
                             .random = options->random});
}

static int show(void *opts, const char **operands, size_t count) {
  ShowOptions *options = opts;
  options->levels = operands[0];
  omp_set_num_threads(1); /* there are few worlds */
  TRY(check_options(options));
  return task_is_environment(options->levels) ? show_task(options) : show_levels(options);
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

int trainer_show(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer show LEVEL|SET|TASK [-o FILE] [--sheet CxR] [OPTIONS]",
    .about = "Draws levels in Kinetix' colors: green must touch blue and avoid red; dark bodies are fixed; joints and "
             "flames have the color of their motor or thruster. Other tasks, such as mujoco/Ant-v5, are drawn by "
             "their own renderer (trainer tasks lists them).\n\n"
             LEVELS_HELP,
    .operands_min = 1, .operands = {"LEVEL|SET|TASK"}, .operands_max = 1,
    .hint = "name one level, set or task (see trainer show --help)"};

  ShowOptions options = {.output = picture_default_name(), .kinetix = "", .steps = -1, .size = -1};
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &options.output, "FILE",
     "output file: .png, .gif or .mp4 (video), or for levels .svg; default level.png"},
    {"sheet", 0, CORE_OPTION_TEXT, &options.sheet, "CxR",
     "columns and rows of a sheet; default: as needed, up to 8x8"},
    {"levels",
     0, CORE_OPTION_TEXT, &options.kinetix, "DIR", "directory of the files of kinetix_s, kinetix_m and kinetix_l"},
    {"from", 0, CORE_OPTION_INT, &options.from, "N", "first level on a sheet (default 0)"},
    {"steps", 'n', CORE_OPTION_INT, &options.steps, "N",
     "environment steps (1/30 s for levels) before the image (default 0) or in the video (default 90)"},
    {"random", 0, CORE_OPTION_FLAG, &options.random, NULL, "take random actions instead of none"},
    {"seed", 0, CORE_OPTION_INT, &options.seed, "N", "seed of --random and of a task's initial state (default 0)"},
    {"size",
     0, CORE_OPTION_INT, &options.size, "PIXELS", "width and height of each drawing (default 500; 160 on a sheet)"},
    {0}};

  return core_options_run(&manual, table, argc, argv, show, &options);
}
