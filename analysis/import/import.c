/* `analyze import`: the command, and what its readers share. */
#include "analysis/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "store/workspace/paths.h"

enum { DEPTH_MAX = 8 };

/* ---- runs and settings ------------------------------------------------------------------------------------------- */

/* Makes a text fit for one line of a file or message. */
static void make_line(char *text) {
  core_unicode_mask(text);
  for (; *text; text++)
    if ((unsigned char)*text < 0x20) *text = ' ';
}

ImportRun *import_add_run(Import *import, const char *path, const char *label) {
  if (import->count == import->capacity) {
    import->capacity = import->capacity ? 2 * import->capacity : 16;
    import->runs = core_memory_resize(import->runs, import->capacity * sizeof *import->runs);
  }
  ImportRun *run = &import->runs[import->count++];
  *run = (ImportRun){.path = core_text_duplicate(path), .label = core_text_duplicate(label), .status = STORE_FINISHED};
  make_line(run->label);
  return run;
}

/* Makes a valid name of a setting; "": none is left. */
static void make_name(const char *name, size_t length, char valid[CORE_SCRIPT_NAME]) {
  size_t n = 0;
  for (size_t i = 0; i < length && n + 2 < CORE_SCRIPT_NAME; i++) {
    const char c = name[i];
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    valid[n] = c;
    if (!is_letter && !(n > 0 && (c == '.' || c == '-'))) valid[n] = '_';
    n++;
  }
  valid[n] = '\0';

  if (!core_script_is_taken(valid)) return;
  valid[n] = '_';
  valid[n + 1] = '\0';
}

static bool is_dropped(const ImportOptions *options, const char *name) {
  for (size_t i = 0; i < options->drop.count; i++)
    if (strcmp(options->drop.items[i], name) == 0) return true;
  return false;
}

void import_set(ImportRun *run, const char *name, size_t name_length, const char *value, bool is_text) {
  enum { VALUE_MAX = 200 };
  char valid[CORE_SCRIPT_NAME], shown[VALUE_MAX];
  make_name(name, name_length, valid);
  if (!*valid) return;
  snprintf(shown, sizeof shown, "%s", value);
  make_line(shown);

  size_t i = 0;
  while (i < run->setting_count && strcmp(run->settings[i].name, valid) != 0) i++;
  if (i == run->setting_count) {
    run->settings = core_memory_resize(run->settings, (i + 1) * sizeof *run->settings);
    run->settings[run->setting_count++] = (ImportSetting){.name = core_text_duplicate(valid)};
  }
  free(run->settings[i].value);
  run->settings[i].value = core_text_duplicate(shown);
  run->settings[i].is_text = is_text;
}

static void remove_setting(ImportRun *run, size_t i) {
  free(run->settings[i].name);
  free(run->settings[i].value);
  run->settings[i] = run->settings[--run->setting_count];
}

int import_set_by_path(const ImportOptions *options, const char *path, const char *root, ImportRun *run) {
  if (!options->pattern) return CORE_OK;
  const size_t root_length = strlen(root);
  const char *text = strncmp(path, root, root_length) == 0 && path[root_length] ? path + root_length : path;
  text += strspn(text, "/");
  const char *whole = text;

  for (const char *c = options->pattern; *c;) {
    if (*c != '{') {
      if (*c++ != *text++)
        return core_error(CORE_USAGE, "--path %s: does not match %s; write the part below the given directory, with "
                          "{NAME} for a setting and {} for what is none", options->pattern, whole);
      continue;
    }

    const char *close = strchr(c, '}');
    if (!close) return core_error(CORE_USAGE, "--path %s: a { has no }", options->pattern);
    char literal[256] = "";
    const char *next = close + 1;
    snprintf(literal, sizeof literal, "%.*s", (int)strcspn(next, "{"), next);
    const char *end = *literal ? strstr(text, literal) : text + strlen(text);
    if (!*next && end) end = text + strlen(text);
    if (!end) return core_error(CORE_USAGE, "--path %s: '%s' is not in %s", options->pattern, literal, whole);

    char value[256];
    snprintf(value, sizeof value, "%.*s", (int)(end - text), text);
    if (close > c + 1) import_set(run, c + 1, (size_t)(close - c - 1), value, false);
    text = end;
    c = next;
  }

  if (!*text) return CORE_OK;
  return core_error(CORE_USAGE, "--path %s: %s continues with '%s'; end the pattern with {}", options->pattern, whole,
                    text);
}

void import_free(Import *import) {
  for (size_t r = 0; r < import->count; r++) {
    ImportRun *run = &import->runs[r];
    while (run->setting_count > 0) remove_setting(run, run->setting_count - 1);
    free(run->settings);
    free(run->lines);
    free(run->path);
    free(run->label);
  }
  free(import->runs);
  program_names_free(&import->names);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Walk {
  const char *ending;
  int (*visit)(void *context, const char *path);
  void *context;
  size_t found;
} Walk;

static bool has_ending(const char *path, const char *ending) {
  const size_t length = strlen(path), end = strlen(ending);
  return length >= end && strcmp(path + length - end, ending) == 0;
}

static int walk(Walk *w, const char *directory, int depth);

/* Visits a file, or walks a directory if `is_directory`; passes over the other kind. */
static int walk_entry(Walk *w, const char *path, bool is_directory, int depth) {
  struct stat status;
  if (lstat(path, &status) != 0) return CORE_OK;
  if (is_directory) return S_ISDIR(status.st_mode) && depth < DEPTH_MAX ? walk(w, path, depth + 1) : CORE_OK;
  if (!has_ending(path, w->ending) || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return CORE_OK;
  w->found++;
  return w->visit(w->context, path);
}

/* Walks a directory: first its files, then its directories. Links to directories are not followed, such as W&B's
 * latest-run. */
static int walk(Walk *w, const char *directory, int depth) {
  char **names, path[CORE_PATH_MAX];
  size_t count;
  int code = CORE_OK;
  TRY(core_files_list(directory, &names, &count));

  for (size_t i = 0; i < 2 * count; i++) {
    if (code == CORE_OK) code = core_files_path(path, "%s/%s", directory, names[i % count]);
    if (code == CORE_OK) code = walk_entry(w, path, i >= count, depth);
  }

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

int import_walk(const char *root, const char *ending, const char *what, int (*visit)(void *context, const char *path),
                void *context) {
  struct stat status;
  if (stat(root, &status) != 0) return core_error_errno(CORE_FAIL, "cannot read %s", root);
  if (!S_ISDIR(status.st_mode)) return visit(context, root);

  Walk w = {ending, visit, context, 0};
  TRY(walk(&w, root, 0));
  return w.found ? CORE_OK : core_error(CORE_FAIL, "%s: contains no %s (%s)", root, what, ending);
}

/* ---- the step and the goal --------------------------------------------------------------------------------------- */

static const char *const steps[] = {"step", "global_step", "_step", "time/total_timesteps", "total_timesteps",
                                    "timesteps", "env_step", "frames", "iteration", NULL};
static const char *const goals[] = {"solve_rate", "episode_return", "charts/episodic_return", "episodic_return",
                                    "rollout/ep_rew_mean", "ep_rew_mean", "eval/mean_reward", "episode_reward",
                                    "return", "reward", "r", NULL};

static const char *first_of(const Import *import, const char *const *candidates) {
  for (; *candidates; candidates++)
    if (program_names_find(&import->names, *candidates) != SIZE_MAX) return *candidates;
  return NULL;
}

static int unknown_metric(const Import *import, const char *option, const char *name) {
  const char *near = core_text_nearest(name, (const char *const *)import->names.items, import->names.count);
  return core_error(CORE_USAGE, "%s %s: the runs have no such metric%s%s%s", option, name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Chooses the metric that counts progress, and the score, by options or by the names that other tools use. */
static int choose_metrics(Import *import) {
  const ImportOptions *options = import->options;
  const char *step = options->step ? options->step : first_of(import, steps);
  const char *goal = options->goal ? options->goal : first_of(import, goals);
  const bool is_min = options->goal && strncmp(goal, "min ", 4) == 0;
  if (goal && (is_min || strncmp(goal, "max ", 4) == 0)) goal += 4;

  if (options->step && program_names_find(&import->names, step) == SIZE_MAX)
    return unknown_metric(import, "--step", step);
  if (options->goal && program_names_find(&import->names, goal) == SIZE_MAX)
    return unknown_metric(import, "--goal", goal);
  snprintf(import->step, sizeof import->step, "%s", step ? step : "step");
  if (goal) snprintf(import->goal, sizeof import->goal, "%s %.64s", is_min ? "min" : "max", goal);
  return CORE_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int apply_options(Import *import) {
  const ImportOptions *options = import->options;
  for (size_t r = 0; r < import->count; r++) {
    ImportRun *run = &import->runs[r];
    for (size_t i = 0; i < options->set.count; i++) {
      const char *equals = strchr(options->set.items[i], '=');
      if (!equals) return core_error(CORE_USAGE, "--set %s: expected NAME=VALUE", options->set.items[i]);
      import_set(run, options->set.items[i], (size_t)(equals - options->set.items[i]), equals + 1, false);
    }
    for (size_t i = run->setting_count; i-- > 0;)
      if (is_dropped(options, run->settings[i].name)) remove_setting(run, i);
  }
  return CORE_OK;
}

static int answer(void *given, const char **operands, size_t count) {
  static const ImportReader *const readers[] = {&import_csv, &import_tensorboard, &import_wandb};
  const ImportOptions *options = given;
  const ImportReader *reader = NULL;
  Import import = {.options = options};
  char root[CORE_PATH_MAX];
  bool is_new;

  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(operands[0], readers[i]->kind) == 0) reader = readers[i];
  if (!reader) return core_error(CORE_USAGE, "%s: expected wandb, tensorboard or csv", operands[0]);
  if (!options->sweep) return core_error(CORE_USAGE, "missing --sweep NAME: the sweep that the runs become");
  TRY(core_text_check_name(options->sweep, "sweep"));
  if (options->by && reader != &import_csv) return core_error(CORE_USAGE, "--by is for csv only");
  TRY(store_root_create(options->root_option, root, &is_new));

  int code = CORE_OK;
  for (size_t i = 1; i < count && code == CORE_OK; i++) code = reader->find(&import, operands[i]);
  if (code == CORE_OK && import.count == 0) code = core_error(CORE_FAIL, "no %s with a record", reader->source);
  if (code == CORE_OK) code = choose_metrics(&import);
  if (code == CORE_OK) code = apply_options(&import);
  if (code == CORE_OK) code = import_write(root, reader, &import);
  import_free(&import);
  return code;
}

static const CoreManual manual = {
  .usage = "analyze import csv|tensorboard|wandb PATH... --sweep NAME [options]",
  .about = "Brings runs of other tools into a workspace, where every figure, table and test takes them like its own. "
           "Their files are read, and never changed. The runs are read-only: they are never started again. Importing "
           "the same files again adds what is new.\n\n"
           "  csv          tables with a line of names: a run each, or with --by several\n"
           "  tensorboard  a run for each directory with event files; settings of its hyperparameters\n"
           "  wandb        .wandb files of local and offline runs, as in wandb/run-*; settings of their config\n\n"
           "A run's seed is its setting \"seed\"; runs without one are numbered. The x axis is --step and the score "
           "--goal; without them, the names that CleanRL, Stable-Baselines3 and others use are looked for.",
  .operands = {"KIND", "FILE"}, .operands_min = 2, .operands_max = SIZE_MAX,
  .hint = "expected csv, tensorboard or wandb, and the runs' files or directories"};

int analysis_import(int argc, char **argv) {
  ImportOptions options = {.seed = "seed"};
  const CoreOption table[] = {
    {"sweep", 0, CORE_OPTION_TEXT, &options.sweep, "NAME", "the sweep that the runs become, new or imported before"},
    {"root", 'r', CORE_OPTION_TEXT, &options.root_option, "DIR",
     "workspace (default: $SWEEP_ROOT, else the current directory)"},
    {"name", 0, CORE_OPTION_TEXT, &options.name, "NAME",
     "algorithm of the runs in figures (default: the sweep's name)"},
    {"by", 0, CORE_OPTION_TEXT, &options.by, "COLUMN[,COLUMN]",
     "csv: a run for each combination of these columns' values, which become its settings"},
    {"path", 0, CORE_OPTION_TEXT, &options.pattern, "PATTERN",
     "settings in the runs' paths below PATH, such as {env}__{seed}; {} is none"},
    {"set", 's', CORE_OPTION_LIST, &options.set, "NAME=VALUE", "a setting of all runs"},
    {"drop", 0, CORE_OPTION_LIST, &options.drop, "NAME", "leave a setting out, such as the time of the run"},
    {"seed", 0, CORE_OPTION_TEXT, &options.seed, "NAME", "the setting that is the seed (default: seed)"},
    {"step", 0, CORE_OPTION_TEXT, &options.step, "METRIC", "what counts progress: the x axis of figures"},
    {"goal", 0, CORE_OPTION_TEXT, &options.goal, "max|min METRIC", "the score"},
    {"metric", 'm', CORE_OPTION_LIST, &options.metric, "COLUMN=METRIC",
     "a metric that is a column of results.db: kl=losses/approx_kl"},
    {"json", 0, CORE_OPTION_FLAG, &options.json, NULL, "print the runs as JSON"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer, &options);
}
