/* Format of batch files (batch.h). launch.c writes them; every task of an array reads its own, and job_map.c reads all
 * that hold a current run. */
#include "sweep/cluster/batch.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/config/config.h"
#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"

enum {
  BATCH_VERSION = 1,
  BATCHES_PER_DIRECTORY = 9, /* with OUTPUTS_MAX each: at most 909 entries */
  OUTPUTS_MAX = 100       /* per batch: a directory of a thousand files would be slow on a shared file system */
};
static const char kind[] = "batch"; /* kind of a record in the user's list (store/code/trust.h) */
static const size_t batch_max_bytes = (size_t)1 << 30;

/* Returns the directory of a batch and its arrays' outputs: batches/ for the first eight, then one per nine batches
 * (batches/1 has 9 to 17), so that a sweep with many submissions does not fill a directory. Batches that an older
 * version wrote directly into batches/ stay there. */
static int batch_directory(const char *root, const char *name, int64_t number, char directory[CORE_PATH_MAX]) {
  char inner[64], flat[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "batches", directory));
  if (number < BATCHES_PER_DIRECTORY) return CORE_OK;
  TRY(core_files_path(flat, "%s/%06lld.tsv", directory, (long long)number));
  if (core_files_exists(flat)) return CORE_OK;
  snprintf(inner, sizeof inner, "batches/%lld", (long long)number / BATCHES_PER_DIRECTORY);
  return store_path_sweep(root, name, inner, directory);
}

static int batch_path(const char *root, const char *name, int64_t number, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  TRY(batch_directory(root, name, number, directory));
  return core_files_path(path, "%s/%06lld.tsv", directory, (long long)number);
}

int sweep_batch_output(const char *root, const char *name, int64_t number, int64_t array, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  TRY(batch_directory(root, name, number, directory));
  return core_files_path(path, "%s/%06lld.%lld.log", directory, (long long)number, (long long)(array % OUTPUTS_MAX));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Prefix of the settings of a trainer run in a batch that has a program. */
#define NO_PROGRAM "program=no"

/* Whether a run of a program has this setting. Everything else follows from [program]. */
static bool applies_to_programs(const CoreConfigRow *row) {
  return row->is_program || strcmp(row->name, "train.seed") == 0 || strcmp(row->name, "train.threads") == 0;
}

/* Appends each setting of `config` that differs from `base`, between `prefix` and `end`. */
static void append_differences(const CoreConfig *base, const CoreConfig *config, const char *prefix, const char *end,
                               CoreText *text) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  CoreText value = {0};
  for (size_t i = 0; i < count; i++) {
    if (config->program && !applies_to_programs(&rows[i])) continue;
    if (core_config_value_equals(base, config, &rows[i])) continue;
    core_text_clear(&value);
    core_text_appendf(text, "%s%s=%s%s", prefix, rows[i].name, core_config_get(config, &rows[i], &value), end);
  }
  core_text_free(&value);
}

/* Appends [program], [settings] and [metric] as INI, each line after "program". */
static void append_program(const CoreScript *program, CoreText *text) {
  CoreText ini = {0};
  char *save = NULL;
  if (!program) return;
  core_script_to_ini(program, &ini);
  for (char *line = strtok_r(ini.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
    core_text_appendf(text, "program\t%s\n", line);
  core_text_free(&ini);
}

void sweep_batch_append_head(const char *root, const char *name, int64_t number, const SlurmSettings *settings,
                             bool force,
                       const CoreConfig *base, CoreText *text) {
  const CoreConfig defaults = core_config_default();
  CoreText lines = {0};
  core_text_appendf(text, "# batch %d %s %lld\n", BATCH_VERSION, name, (long long)number);
  core_text_appendf(text, "root\t%.*s\n", (int)strcspn(root, "\n"), root);
  if (force) core_text_append(text, "set\tforce=yes\n");
  slurm_settings_print(settings, "=", "\n", &lines);
  char *save = NULL;
  for (char *line = lines.data ? strtok_r(lines.data, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
    core_text_appendf(text, "set\t%s\n", line);
  core_text_free(&lines);
  append_program(base->program, text);
  append_differences(&defaults, base, "base\t", "\n", text);
  core_text_append(text, "index\trun\tsettings\n");
}

void sweep_batch_append_run(const CoreConfig *base, int64_t index, const char *id, const CoreConfig *config,
                            CoreText *text) {
  const CoreConfig defaults = core_config_default();
  const bool lacks_program = base->program && !config->program;
  core_text_appendf(text, "%lld\t%s%s", (long long)index, id, lacks_program ? "\t" NO_PROGRAM : "");
  append_differences(lacks_program ? &defaults : base, config, "\t", "", text);
  core_text_append(text, "\n");
}

static void hash_bytes(const char *bytes, size_t length, char hash[SWEEP_HASH]) {
  unsigned char digest[16];
  crypto_generichash(digest, sizeof digest, (const unsigned char *)bytes, length, NULL, 0);
  sodium_bin2hex(hash, SWEEP_HASH, digest, (SWEEP_HASH - 1) / 2);
}

void sweep_batch_hash(const CoreText *text, char hash[SWEEP_HASH]) { hash_bytes(text->data, text->length, hash); }

int sweep_batch_write(const char *root, const char *name, int64_t number, const CoreText *text) {
  char path[CORE_PATH_MAX];
  TRY(batch_directory(root, name, number, path));
  TRY(core_files_make_directories(path));
  TRY(batch_path(root, name, number, path));
  TRY(store_trust_grant_record(kind, name, text->data, text->length));
  return core_files_write_atomic(path, text->data, text->length);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int damaged(const char *path, size_t line, const char *problem) {
  return core_error(CORE_FAIL, "%s:%zu: damaged: %s; restore the file, or run sweep submit again", path,
                    line, problem);
}

static int read_setting(SweepBatch *batch, const char *pair) {
  char key[64];
  const char *equals = strchr(pair, '=');
  if (!equals || (size_t)(equals - pair) >= sizeof key) return core_error(CORE_FAIL, "'%.60s' is not a setting", pair);
  snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
  if (strcmp(key, "force") == 0) {
    batch->force = strcmp(equals + 1, "yes") == 0;
    return CORE_OK;
  }
  return slurm_settings_set(&batch->settings, key, equals + 1);
}

/* Parses the INI text of the "program" lines, and adds it to `base`. */
static int read_program(const CoreText *text, CoreConfig *base) {
  CoreIni ini;
  const CoreScript *program;
  if (text->length == 0 || base->program) return CORE_OK;
  TRY(core_ini_parse("program", text->data, &ini));
  const int code = core_script_read(&ini, &program);
  core_ini_free(&ini);
  if (code == CORE_OK) core_script_attach(base, program);
  return code;
}

/* Parses "12 <tab> id <tab> settings". */
static bool read_run(char *line, SweepBatch *batch) {
  char *id = strchr(line, '\t'), *settings;
  SweepBatchRun *run = &batch->runs[batch->count];
  if (!id) return false;
  *id++ = '\0';
  settings = strchr(id, '\t');
  if (settings) *settings++ = '\0';
  if (!core_text_to_int(line, &run->index) || run->index < 0 || !store_is_run_id(id)) return false;
  run->id = id;
  run->settings = settings ? settings : "";
  batch->count++;
  return true;
}

/* Reads a line before the list of runs. Returns NULL, or the problem with it. *in_runs: it was the last one. */
static const char *read_head_line(const char *line, CoreText *program, SweepBatch *batch, bool *in_runs) {
  if (strncmp(line, "root\t", 5) == 0) return NULL; /* only distinguishes the file, and so its hash */
  if (strncmp(line, "set\t", 4) == 0)
    return read_setting(batch, line + 4) == CORE_OK ? NULL : core_error_message();
  if (strncmp(line, "program\t", 8) == 0) {
    core_text_appendf(program, "%s\n", line + 8);
    return NULL;
  }
  const bool is_base = strncmp(line, "base\t", 5) == 0;
  *in_runs = strcmp(line, "index\trun\tsettings") == 0;
  if (!is_base && !*in_runs) return "unknown kind of line";
  if (read_program(program, &batch->base) != CORE_OK) return core_error_message();
  if (is_base && core_config_set_pair(&batch->base, line + 5) != CORE_OK) return core_error_message();
  return NULL;
}

static int read_lines(const char *path, const char *name, int64_t number, char *text, CoreText *program,
                      SweepBatch *batch) {
  char head[128];
  size_t line_number = 1, lines = 0;
  bool in_runs = false;
  snprintf(head, sizeof head, "# batch %d %s %lld", BATCH_VERSION, name, (long long)number);
  for (const char *c = text; *c; c++) lines += *c == '\n';
  batch->runs = core_memory_allocate((lines + 1) * sizeof *batch->runs);

  for (char *line = text, *end; *line; line = end + 1, line_number++) {
    end = strchr(line, '\n');
    if (!end) return damaged(path, line_number, "the last line has no newline");
    *end = '\0';

    const char *problem = NULL;
    if (line_number == 1) problem = strcmp(line, head) == 0 ? NULL : "it is not this batch of this sweep";
    else if (in_runs) problem = read_run(line, batch) ? NULL : "expected an index, a tab and a run id";
    else problem = read_head_line(line, program, batch, &in_runs);
    if (problem) return damaged(path, line_number, problem);
  }
  return batch->count > 0 ? CORE_OK : damaged(path, line_number, "it contains no runs");
}

static int read_text(const char *path, const char *name, int64_t number, char *text, SweepBatch *batch) {
  CoreText program = {0};
  const int code = read_lines(path, name, number, text, &program, batch);
  core_text_free(&program);
  return code;
}

int sweep_batch_read(const char *root, const char *name, int64_t number, SweepBatch *batch) {
  char path[CORE_PATH_MAX];
  size_t size;
  *batch = (SweepBatch){.number = number, .settings = slurm_settings_default(), .base = core_config_default()};
  TRY(batch_path(root, name, number, path));
  TRY(core_files_read(path, batch_max_bytes, &batch->memory, &size));
  hash_bytes(batch->memory, size, batch->hash);
  if (store_trust_find_record(kind, name, batch->memory, size, &batch->is_own) != CORE_OK) {
    core_warn("%s", core_error_message());
    core_error_clear();
  }
  const int code = strlen(batch->memory) == size ? read_text(path, name, number, batch->memory, batch)
                                                 : damaged(path, 1, "it contains a NUL byte");
  if (code != CORE_OK) sweep_batch_free(batch);
  return code;
}

bool sweep_batch_is_forced(const char *root, const char *name, int64_t number) {
  char path[CORE_PATH_MAX], *line = NULL;
  size_t size = 0;
  bool forced = false;
  FILE *file = NULL;
  if (batch_path(root, name, number, path) != CORE_OK || core_files_open_plain(path, &file) != CORE_OK)
    core_error_clear();
  for (int i = 0; file && i < 3 && !forced && getline(&line, &size, file) > 0; i++) /* after its name and its root */
    forced = strcmp(line, "set\tforce=yes\n") == 0;
  free(line);
  if (file) fclose(file);
  return forced;
}

void sweep_batch_free(SweepBatch *batch) {
  free(batch->runs);
  free(batch->memory);
  *batch = (SweepBatch){0};
}

int sweep_batch_config(const SweepBatch *batch, size_t line, CoreConfig *config) {
  const SweepBatchRun *run = &batch->runs[line];
  char *copy = core_text_duplicate(run->settings), *save = NULL, id[CORE_RUN_ID];
  int code = CORE_OK;

  const bool lacks_program = strncmp(copy, NO_PROGRAM, sizeof NO_PROGRAM - 1) == 0;
  char *pairs = copy + (lacks_program ? sizeof NO_PROGRAM - 1 : 0);
  *config = lacks_program ? core_config_default() : batch->base;
  for (char *pair = strtok_r(pairs, "\t", &save); pair && code == CORE_OK; pair = strtok_r(NULL, "\t", &save))
    code = core_config_set_pair(config, pair);
  free(copy);
  TRY(code);

  core_config_id(config, id);
  if (strcmp(id, run->id) != 0)
    return core_error(CORE_FAIL, "batch %lld: the settings of run %s give run id %s; the file was changed, or another "
                      "version of this program wrote it", (long long)batch->number, run->id, id);
  return CORE_OK;
}

/* Finds the value of a key in "key=value<tab>key=value"; NULL: none. prefix: "key=". */
static const char *find_value(const char *settings, const char *prefix) {
  const size_t length = strlen(prefix);
  while (strncmp(settings, prefix, length) != 0) {
    const char *tab = strchr(settings, '\t');
    if (!tab) return NULL;
    settings = tab + 1;
  }
  return settings + length;
}

bool sweep_batch_parent(const SweepBatch *batch, size_t line, char id[CORE_RUN_ID]) {
  char from[CORE_CONFIG_TEXT];
  CoreOrigin origin;
  const char *value = find_value(batch->runs[line].settings, "init.from=");
  if (!value) value = batch->base.init.from;
  snprintf(from, sizeof from, "%.*s", (int)strcspn(value, "\t"), value);
  if (core_origin_parse(from, &origin) != CORE_OK || !origin.is_run) return false;
  memcpy(id, origin.run, CORE_RUN_ID);
  return true;
}
