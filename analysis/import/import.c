/* `analyze import`: the command, and what its readers share. A reader finds the runs, their settings and the names of
 * their metrics; the options choose among the metrics and change the settings; import_write.c then has the reader pass
 * on each run's records. */
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

/* Makes a valid name of a setting; "": `name` is empty. Adds a '_' to a taken name. */
static void make_name(const char *name, size_t length, char valid[CORE_SCRIPT_NAME]) {
  size_t n = 0;
  for (size_t i = 0; i < length && n + 2 < CORE_SCRIPT_NAME; i++) {
    const char c = name[i];
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    valid[n] = c;
    if (!is_word && !(n > 0 && (c == '.' || c == '-'))) valid[n] = '_';
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

/* Reads the setting {NAME} at *pattern from *text, and advances both. Its value ends where the text after the } begins;
 * without such text it is the whole rest. */
static int read_named(const ImportOptions *options, const char *path, const char **pattern, const char **text,
                      ImportRun *run) {
  const char *name = *pattern + 1, *close = strchr(name, '}');
  if (!close) return core_error(CORE_USAGE, "--path %s: a { has no }", options->pattern);
  const char *next = close + 1;
  char literal[256], value[256];

  snprintf(literal, sizeof literal, "%.*s", (int)strcspn(next, "{"), next);
  const char *end = *literal ? strstr(*text, literal) : *text + strlen(*text);
  if (!end) return core_error(CORE_USAGE, "--path %s: '%s' is not in %s", options->pattern, literal, path);

  snprintf(value, sizeof value, "%.*s", (int)(end - *text), *text);
  if (close > name) import_set(run, name, (size_t)(close - name), value, false);
  *text = end;
  *pattern = next;
  return CORE_OK;
}

int import_set_by_path(const ImportOptions *options, const char *path, const char *operand, ImportRun *run) {
  if (!options->pattern) return CORE_OK;
  const size_t length = strlen(operand);
  const char *text = strncmp(path, operand, length) == 0 && path[length] ? path + length : path;
  text += strspn(text, "/");
  const char *whole = text;

  for (const char *pattern = options->pattern; *pattern;) {
    if (*pattern == '{') TRY(read_named(options, whole, &pattern, &text, run));
    else if (*pattern++ != *text++)
      return core_error(CORE_USAGE, "--path %s: does not match %s; write the part below the given directory, with "
                        "{NAME} for a setting and {} for what is none", options->pattern, whole);
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

static int visit_file(Walk *w, const char *directory, const char *name) {
  char path[CORE_PATH_MAX];
  struct stat status;
  TRY(core_files_path(path, "%s/%s", directory, name));
  if (!has_ending(path, w->ending) || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return CORE_OK;
  w->found++;
  return w->visit(w->context, path);
}

static int walk(Walk *w, const char *directory, int depth);

/* Walks a directory of a directory. Does not follow links, such as W&B's latest-run. */
static int walk_below(Walk *w, const char *directory, const char *name, int depth) {
  char path[CORE_PATH_MAX];
  struct stat status;
  TRY(core_files_path(path, "%s/%s", directory, name));
  if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) || depth == DEPTH_MAX) return CORE_OK;
  return walk(w, path, depth + 1);
}

/* Walks a directory: first its files, then its directories. */
static int walk(Walk *w, const char *directory, int depth) {
  char **names;
  size_t count;
  int code = CORE_OK;
  TRY(core_files_list(directory, &names, &count));

  for (size_t i = 0; i < count && code == CORE_OK; i++) code = visit_file(w, directory, names[i]);
  for (size_t i = 0; i < count && code == CORE_OK; i++) code = walk_below(w, directory, names[i], depth);

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

int import_walk(const char *operand, const char *ending, const char *what,
                int (*visit)(void *context, const char *path), void *context) {
  struct stat status;
  if (stat(operand, &status) != 0) return core_error_errno(CORE_FAIL, "cannot read %s", operand);
  if (!S_ISDIR(status.st_mode)) return visit(context, operand);

  Walk w = {ending, visit, context, 0};
  TRY(walk(&w, operand, 0));
  return w.found ? CORE_OK : core_error(CORE_FAIL, "%s: contains no %s (%s)", operand, what, ending);
}

/* ---- the step and the goal --------------------------------------------------------------------------------------- */

/* Names that other tools use, the preferred ones first. */
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

  /* --goal may name the direction: "min loss", "max return". */
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

/* Applies --set and --drop to the settings of all runs. */
static int change_settings(Import *import) {
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

static const ImportReader *find_reader(const char *kind) {
  static const ImportReader *const readers[] = {&import_csv, &import_tensorboard, &import_wandb};
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(kind, readers[i]->kind) == 0) return readers[i];
  return NULL;
}

static int answer(void *given, const char **operands, size_t count) {
  const ImportOptions *options = given;
  const ImportReader *reader = find_reader(operands[0]);
  Import import = {.options = options};
  char root[CORE_PATH_MAX];
  bool is_new;

  if (!reader) return core_error(CORE_USAGE, "%s: expected wandb, tensorboard or csv", operands[0]);
  if (!options->sweep) return core_error(CORE_USAGE, "missing --sweep NAME: the sweep that the runs become");
  TRY(core_text_check_name(options->sweep, "sweep"));
  if (options->by && reader != &import_csv) return core_error(CORE_USAGE, "--by is for csv only");
  TRY(store_root_create(options->root_option, root, &is_new));

  int code = CORE_OK;
  for (size_t i = 1; i < count && code == CORE_OK; i++) code = reader->find(&import, operands[i]);
  if (code == CORE_OK && import.count == 0) code = core_error(CORE_FAIL, "no %s with a record", reader->source);
  if (code == CORE_OK) code = choose_metrics(&import);
  if (code == CORE_OK) code = change_settings(&import);
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
