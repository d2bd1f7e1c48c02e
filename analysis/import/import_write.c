/* Makes imported runs runs of the workspace (import.h): configurations, run logs, states, the sweep's files and
 * results.db.
 *
 * A run is one of a program whose command, "import:KIND", is never started. Its id follows from its settings and seed,
 * so that importing a file again finds the run, whose logs take what is new (sweep/program/logs.h). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "sweep/program/logs.h"

/* ---- configurations ---------------------------------------------------------------------------------------------- */

/* Whether a value may stand without quotes, as a number or one of two truth values. */
static bool is_plain(const ImportSetting *setting) {
  double number;
  const char *value = setting->value;
  if (setting->is_text) return false;
  if (strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0) return true;
  return *value && strspn(value, "0123456789.eE+-") == strlen(value) && core_text_to_real(value, &number);
}

static const ImportSetting *find_setting(const ImportRun *run, const char *name) {
  for (size_t i = 0; i < run->setting_count; i++)
    if (strcmp(run->settings[i].name, name) == 0) return &run->settings[i];
  return NULL;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const ImportSetting *)a)->name, ((const ImportSetting *)b)->name);
}

/* Makes the configuration of a run. CORE_USAGE: a setting is not valid; the message names the run. */
static int make_config(const ImportReader *reader, const Import *import, ImportRun *run, CoreConfig *config) {
  const ImportOptions *options = import->options;
  CoreText text = {0};
  core_text_append(&text, "[program]\nname = ");
  core_ini_append_quoted(&text, options->name ? options->name : options->sweep);
  core_text_appendf(&text, "\ncommand = \"import:%s\"\ncode = \"none\"\nstep = ", reader->kind);
  core_ini_append_quoted(&text, import->step);
  core_text_append(&text, "\n");
  if (*import->goal) {
    core_text_append(&text, "goal = ");
    core_ini_append_quoted(&text, import->goal);
    core_text_append(&text, "\n");
  }

  core_text_append(&text, "[settings]\n");
  qsort(run->settings, run->setting_count, sizeof *run->settings, by_name);
  for (size_t i = 0; i < run->setting_count; i++) {
    const ImportSetting *setting = &run->settings[i];
    if (strcmp(setting->name, options->seed) == 0) continue;
    const bool is_reserved = strcmp(setting->name, "seed") == 0; /* --seed names another one */
    core_text_appendf(&text, "%s%s = ", setting->name, is_reserved ? "_" : "");
    if (is_plain(setting)) core_text_append(&text, setting->value);
    else core_ini_append_quoted(&text, setting->value);
    core_text_append(&text, "\n");
  }

  core_text_append(&text, "[metric]\n");
  int code = CORE_OK;
  for (size_t i = 0; i < options->metric.count && code == CORE_OK; i++) {
    const char *pair = options->metric.items[i], *equals = strchr(pair, '=');
    if (!equals) code = core_error(CORE_USAGE, "--metric %s: expected COLUMN=METRIC", pair);
    if (code != CORE_OK) break;
    core_text_appendf(&text, "%.*s = ", (int)(equals - pair), pair);
    core_ini_append_quoted(&text, equals + 1);
    core_text_append(&text, "\n");
  }
  core_text_appendf(&text, "[train]\nseed = %" PRId64 "\n", run->seed);

  *config = core_config_default();
  if (code == CORE_OK) code = core_config_parse(run->label, core_text_string(&text), config);
  if (code == CORE_OK) core_config_id(config, run->id);
  core_text_free(&text);
  return code;
}

/* Whether two runs have the same settings; those of a run are sorted. */
static bool has_same_settings(const ImportRun *a, const ImportRun *b) {
  if (a->setting_count != b->setting_count) return false;
  for (size_t i = 0; i < a->setting_count; i++) {
    const ImportSetting *one = &a->settings[i], *other = &b->settings[i];
    if (strcmp(one->name, other->name) != 0 || strcmp(one->value, other->value) != 0) return false;
  }
  return true;
}

/* Gives each run its seed: its setting, or its number among the runs of the same settings. */
static int choose_seeds(Import *import) {
  for (size_t r = 0; r < import->count; r++) {
    ImportRun *run = &import->runs[r];
    const ImportSetting *seed = find_setting(run, import->options->seed);
    if (seed && !core_text_to_int(seed->value, &run->seed))
      return core_error(CORE_USAGE, "%s: the seed, %s, is '%s'; expected an integer (--seed names another setting, "
                        "--drop %s leaves it out)", run->label, seed->name, seed->value, seed->name);
    if (seed) continue;
    run->seed = 0;
    for (size_t other = 0; other < r; other++) run->seed += has_same_settings(run, &import->runs[other]);
  }
  return CORE_OK;
}

static int check_ids(const Import *import) {
  for (size_t r = 0; r < import->count; r++)
    for (size_t other = 0; other < r; other++)
      if (strcmp(import->runs[r].id, import->runs[other].id) == 0)
        return core_error(CORE_USAGE, "%s and %s have the same settings and seed; tell them apart by --path, --by or "
                          "--set, or leave one out", import->runs[other].label, import->runs[r].label);
  return CORE_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void append_record(void *context, ProgramSeries *series, const ProgramRecord *record) {
  program_logs_append(context, series, record);
}

static void forget_metric(void *context, const char *name) { program_logs_forget(context, name); }

static int write_state(const char *root, const ImportRun *run, const ImportReader *reader, const ProgramLogs *logs) {
  const double step = program_logs_step(logs);
  bool is_rate;
  StoreState state = {.status = run->status, .attempt = 1, .started_unix_s = run->started_unix_s,
                      .steps_per_second = NAN, .solve_rate = NAN, .episode_return = NAN};
  state.heartbeat_unix_s = state.finished_unix_s = run->started_unix_s > 0 ? run->started_unix_s : core_clock_unix_s();
  if (state.started_unix_s <= 0) state.started_unix_s = state.finished_unix_s;
  state.iteration = state.iterations = program_logs_rows(logs);
  if (isfinite(step) && step >= 0 && step < 9e15) state.transitions = state.transitions_total = (int64_t)step;

  const double score = program_logs_score(logs, &is_rate);
  *(is_rate ? &state.solve_rate : &state.episode_return) = score;
  if (run->status == STORE_FINISHED && program_logs_is_diverged(logs)) state.status = STORE_DIVERGED;
  snprintf(state.device, sizeof state.device, "imported (%s)", reader->kind);
  snprintf(state.message, sizeof state.message, "%s", run->message);
  return store_run_state_write(root, run->id, &state);
}

/* Passes the records of a run to its logs. */
static int write_logs(const char *root, const ImportReader *reader, const Import *import, const ImportRun *run,
                      const CoreConfig *config, ProgramSink *sink) {
  char home[CORE_PATH_MAX];
  ProgramLogs *logs;
  TRY(store_path_run(root, run->id, NULL, home));
  TRY(program_logs_open(root, run->id, 1, config, &logs));
  *sink = (ProgramSink){.on_record = append_record, .on_renamed = forget_metric, .context = logs};
  sink->record.names = &sink->names;
  program_logs_reserve(logs, &sink->names);

  int code = reader->read(import, run, home, sink);
  const int flushed = program_logs_end(logs);
  if (code == CORE_OK) code = flushed;
  if (code == CORE_OK) code = write_state(root, run, reader, logs);
  program_logs_close(&logs);
  return code;
}

/* Warns of values that are no numbers, of the first run that has some. */
static void describe_ignored(Import *import, const ImportRun *run, const ProgramSink *sink) {
  CoreText text = {0};
  program_logs_describe_ignored(sink, &text);
  if (text.length > 0 && !import->has_warned)
    core_warn("%s: %s%s", run->label, text.data, import->options->by ? "" : "; --by makes columns settings");
  import->has_warned |= text.length > 0;
  core_text_free(&text);
}

static int write_run(const char *root, const ImportReader *reader, Import *import, ImportRun *run,
                     const CoreConfig *config) {
  char id[CORE_RUN_ID];
  StoreLease *lease = NULL;
  ProgramSink sink = {0};
  TRY(store_run_prepare(root, config, id));
  TRY(store_run_acquire(root, id, &lease));
  const int code = write_logs(root, reader, import, run, config, &sink);
  if (code == CORE_OK) describe_ignored(import, run, &sink);
  import->damaged += sink.damaged;
  program_sink_free(&sink);
  store_run_release(&lease);
  return code;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* Reads the ids of an imported sweep. *count 0: it is new. CORE_USAGE: it is one of another kind. */
static int read_members(const char *root, const char *sweep, char (**ids)[CORE_RUN_ID], size_t *count) {
  char path[CORE_PATH_MAX], *text, *save = NULL;
  const char *id;
  size_t size;
  int64_t index;
  *ids = NULL;
  *count = 0;

  TRY(store_path_sweep(root, sweep, "sweep.ini", path));
  if (!core_files_exists(path)) return CORE_OK;
  if (!store_sweep_is_imported(root, sweep))
    return core_error(CORE_USAGE, "%s is a sweep of this workspace that was not imported; choose another name", sweep);

  TRY(store_path_sweep(root, sweep, "manifest.tsv", path));
  TRY(core_files_read(path, 0, &text, &size));
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (*line == '#' || !store_manifest_line(line, &index, &id)) continue;
    *ids = core_memory_resize(*ids, (*count + 1) * sizeof **ids);
    memcpy((*ids)[(*count)++], id, CORE_RUN_ID);
  }
  free(text);
  return CORE_OK;
}

static bool is_member(const char (*ids)[CORE_RUN_ID], size_t count, const char *id) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(ids[i], id) == 0) return true;
  return false;
}

static void append_ini(const ImportReader *reader, const Import *import, CoreText *ini) {
  core_text_appendf(ini, "; Runs of another tool, brought here by analyze import. They are read-only.\n\n[import]\n"
                    "kind = %s\nruns = %zu\n", reader->kind, import->count);
  core_text_append(ini, "first = ");
  core_ini_append_quoted(ini, import->runs[0].label);
  core_text_append(ini, "\n");
}

static int put_runs(StoreDatabase *database, const char *sweep, const char *ini, const CoreConfig *configs,
                    const Import *import, const char (*ids)[CORE_RUN_ID], size_t count) {
  TRY(store_database_begin(database));
  int code = store_database_put_sweep(database, sweep, ini);
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    const CoreConfig *config = NULL;
    for (size_t r = 0; r < import->count && !config; r++)
      if (strcmp(import->runs[r].id, ids[i]) == 0) config = &configs[r];
    code = store_database_put_run(database, sweep, (int64_t)i, config, ids[i]);
  }
  if (code == CORE_OK) return store_database_commit(database);
  store_database_rollback(database);
  return code;
}

/* Writes the sweep's files and its runs in results.db, and imports their logs. ids[count]: the members so far. */
static int write_sweep(const char *root, const ImportReader *reader, const Import *import, const CoreConfig *configs,
                       char (*ids)[CORE_RUN_ID], size_t count) {
  const char *sweep = import->options->sweep;
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport imported;
  CoreText ini = {0};
  append_ini(reader, import, &ini);

  TRY(store_path_sweep(root, sweep, NULL, path));
  TRY(core_files_make_directories(path));
  TRY(store_path_sweep(root, sweep, "sweep.ini", path));
  int code = core_files_write_atomic(path, core_text_string(&ini), ini.length);
  if (code == CORE_OK) code = store_manifest_write(root, sweep, (const char(*)[CORE_RUN_ID])ids, count);

  if (code == CORE_OK) code = store_path_database(root, path);
  if (code == CORE_OK) code = store_database_open(path, false, &database);
  if (code == CORE_OK) {
    code = put_runs(database, sweep, core_text_string(&ini), configs, import, (const char(*)[CORE_RUN_ID])ids, count);
    if (code == CORE_OK) code = store_import(database, root, sweep, true, &imported);
    store_database_close(&database);
  }
  core_text_free(&ini);
  return code;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static void print_json(const Import *import, size_t added) {
  json_t *runs = json_array();
  for (size_t r = 0; r < import->count; r++) {
    const ImportRun *run = &import->runs[r];
    json_array_append_new(runs, json_pack("{s:s, s:s, s:I, s:s}", "run", run->id, "path", run->path, "seed",
                                          (json_int_t)run->seed, "status", store_status_name(run->status)));
  }
  core_json_print(json_pack("{s:s, s:I, s:s, s:s, s:o}", "sweep", import->options->sweep, "new", (json_int_t)added,
                            "step", import->step, "goal", import->goal, "runs", runs));
}

static void print(const Import *import, size_t added) {
  const char *sweep = import->options->sweep;
  core_unicode_print(stdout, "%s: %zu runs, %zu of them new\n", sweep, import->count, added);
  core_unicode_print(stdout, "step %s, goal %s\n", import->step,
                     *import->goal ? import->goal : "none: name the score with --goal, one of");
  for (size_t i = 0; i < import->names.count && !*import->goal && i < 20; i++)
    core_unicode_print(stdout, "  %s\n", import->names.items[i]);
  core_unicode_print(stdout, "analyze curves --sweep %s draws them\n", sweep);
}

int import_write(const char *root, const ImportReader *reader, Import *import) {
  CoreConfig *configs = core_memory_zero_allocate(import->count + 1, sizeof *configs);
  char(*ids)[CORE_RUN_ID] = NULL, path[CORE_PATH_MAX];
  size_t count = 0, before = 0;
  int lock = -1;

  int code = choose_seeds(import);
  for (size_t r = 0; r < import->count && code == CORE_OK; r++)
    code = make_config(reader, import, &import->runs[r], &configs[r]);
  if (code == CORE_OK) code = check_ids(import);

  if (code == CORE_OK) code = store_path_sweep(root, import->options->sweep, NULL, path);
  if (code == CORE_OK) code = read_members(root, import->options->sweep, &ids, &count);
  if (code == CORE_OK) code = core_files_make_directories(path);
  if (code == CORE_OK) code = store_path_sweep(root, import->options->sweep, "manifest.lock", path);
  if (code == CORE_OK) code = core_files_lock(path, true, &lock);
  before = count;

  for (size_t r = 0; r < import->count && code == CORE_OK; r++) {
    code = write_run(root, reader, import, &import->runs[r], &configs[r]);
    if (code != CORE_OK || is_member((const char(*)[CORE_RUN_ID])ids, count, import->runs[r].id)) continue;
    ids = core_memory_resize(ids, (count + 1) * sizeof *ids);
    memcpy(ids[count++], import->runs[r].id, CORE_RUN_ID);
  }
  if (code == CORE_OK) code = write_sweep(root, reader, import, configs, ids, count);

  if (code == CORE_OK && import->damaged) core_warn("%" PRId64 " lines or records could not be read", import->damaged);
  if (code == CORE_OK) (import->options->json ? print_json : print)(import, count - before);
  if (lock >= 0) core_files_unlock(&lock);
  free(ids);
  free(configs);
  return code;
}
