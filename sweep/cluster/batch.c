/* Batch files. Written by launch.c and control, read by task.c (every task of an array) and by whoever asks where a run
 * is. */
#include "sweep/cluster/batch.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/config/origin.h"
#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"

enum {
  BATCH_VERSION = 1,
  BATCHES_A_FOLDER = 9, /* with OUTPUTS_MAX each: 909 entries at most */
  OUTPUTS_MAX = 100 /* of a batch: a folder with a thousand files would be slow on a shared disk */
};
static const size_t batch_max_bytes = (size_t)1 << 30;

/* The folder of a batch and its arrays' outputs: batches/ for the first, then one for every nine (batches/1 has 9 to
 * 17), so that a sweep that is submitted many times over fills none. Where an older version has put a batch straight
 * into batches/, it stays. */
static int batch_folder(const char *root, const char *name, int64_t number, char folder[CORE_PATH_MAX]) {
  char inner[64], flat[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "batches", folder));
  if (number < BATCHES_A_FOLDER) return CORE_OK;
  TRY(core_files_path(flat, "%s/%06lld.tsv", folder, (long long)number));
  if (core_files_exists(flat)) return CORE_OK;
  snprintf(inner, sizeof inner, "batches/%lld", (long long)number / BATCHES_A_FOLDER);
  return store_path_sweep(root, name, inner, folder);
}

static int batch_path(const char *root, const char *name, int64_t number, char path[CORE_PATH_MAX]) {
  char folder[CORE_PATH_MAX];
  TRY(batch_folder(root, name, number, folder));
  return core_files_path(path, "%s/%06lld.tsv", folder, (long long)number);
}

int sweep_batch_output(const char *root, const char *name, int64_t number, int64_t array, char path[CORE_PATH_MAX]) {
  char folder[CORE_PATH_MAX];
  TRY(batch_folder(root, name, number, folder));
  return core_files_path(path, "%s/%06lld.%lld.log", folder, (long long)number, (long long)(array % OUTPUTS_MAX));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Before the settings of a run of the trainer, in a batch that has a program. */
#define TRAINER "program=no"

/* Settings that a run of a program has; what else differs from the defaults follows from [program]. */
static bool is_of_program(const CoreConfigRow *row) {
  return row->is_program || strcmp(row->name, "train.seed") == 0 || strcmp(row->name, "train.threads") == 0;
}

/* What of `config` differs from `base`, each behind `prefix` and before `end`. */
static void append_differences(const CoreConfig *base, const CoreConfig *config, const char *prefix, const char *end,
                               CoreText *text) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  CoreText value = {0};
  for (size_t i = 0; i < count; i++) {
    if (config->program && !is_of_program(&rows[i])) continue;
    if (core_config_value_equals(base, config, &rows[i])) continue;
    core_text_clear(&value);
    core_text_appendf(text, "%s%s=%s%s", prefix, rows[i].name, core_config_get(config, &rows[i], &value), end);
  }
  core_text_free(&value);
}

/* [program] and the like as INI, each line behind "program". */
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
  const bool of_trainer = base->program && !config->program;
  core_text_appendf(text, "%lld\t%s%s", (long long)index, id, of_trainer ? "\t" TRAINER : "");
  append_differences(of_trainer ? &defaults : base, config, "\t", "", text);
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
  TRY(batch_folder(root, name, number, path));
  TRY(core_files_make_directories(path));
  TRY(batch_path(root, name, number, path));
  return core_files_write_atomic(path, text->data, text->length);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int damaged(const char *path, size_t line, const char *what) {
  return core_error(CORE_FAIL, "%s:%zu: damaged: %s; restore the file, or sweep retry with another one", path, line,
                    what);
}

static int read_setting(SweepBatch *batch, const char *pair) {
  char key[64];
  const char *equals = strchr(pair, '=');
  if (!equals || (size_t)(equals - pair) >= sizeof key) return core_error(CORE_FAIL, "no setting: %.60s", pair);
  snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
  if (strcmp(key, "force") == 0) {
    batch->force = strcmp(equals + 1, "yes") == 0;
    return CORE_OK;
  }
  return slurm_settings_set(&batch->settings, key, equals + 1);
}

/* Parses the lines behind "program"; settings of `base` follow them. */
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

/* "12 <tab> id <tab> settings" */
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

static int read_lines(const char *path, const char *name, int64_t number, char *text, CoreText *program,
                      SweepBatch *batch) {
  char head[128];
  size_t at = 1, lines = 0;
  bool in_runs = false;
  snprintf(head, sizeof head, "# batch %d %s %lld", BATCH_VERSION, name, (long long)number);
  for (const char *c = text; *c; c++) lines += *c == '\n';
  batch->runs = core_memory_allocate((lines + 1) * sizeof *batch->runs);
  for (char *line = text, *end; *line; line = end + 1, at++) {
    end = strchr(line, '\n');
    if (!end) return damaged(path, at, "the last line has no end");
    *end = '\0';
    if (at == 1) {
      if (strcmp(line, head) != 0) return damaged(path, at, "this is no such batch");
    } else if (in_runs) {
      if (!read_run(line, batch)) return damaged(path, at, "expected an index, a tab and a run id");
    } else if (strncmp(line, "root\t", 5) == 0) {
      continue; /* only tells this file, and with it its hash, from those of other workspaces */
    } else if (strncmp(line, "set\t", 4) == 0) {
      if (read_setting(batch, line + 4) != CORE_OK) return damaged(path, at, core_error_message());
    } else if (strncmp(line, "program\t", 8) == 0) {
      core_text_appendf(program, "%s\n", line + 8);
    } else if (strncmp(line, "base\t", 5) == 0) {
      if (read_program(program, &batch->base) != CORE_OK) return damaged(path, at, core_error_message());
      if (core_config_set_pair(&batch->base, line + 5) != CORE_OK) return damaged(path, at, core_error_message());
    } else if (strcmp(line, "index\trun\tsettings") == 0) {
      if (read_program(program, &batch->base) != CORE_OK) return damaged(path, at, core_error_message());
      in_runs = true;
    } else {
      return damaged(path, at, "a line of unknown kind");
    }
  }
  return batch->count > 0 ? CORE_OK : damaged(path, at, "it names no runs");
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
  const int code = strlen(batch->memory) == size ? read_text(path, name, number, batch->memory, batch)
                                                 : damaged(path, 1, "holds a NUL byte");
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
  for (int i = 0; file && i < 3 && !forced && getline(&line, &size, file) > 0; i++) /* behind its name and its root */
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
  *config = batch->base;
  const bool of_trainer = strncmp(copy, TRAINER, sizeof TRAINER - 1) == 0;
  if (of_trainer) *config = core_config_default();
  for (char *pair = strtok_r(copy + (of_trainer ? sizeof TRAINER - 1 : 0), "\t", &save);
       pair && code == CORE_OK; pair = strtok_r(NULL, "\t", &save))
    code = core_config_set_pair(config, pair);
  free(copy);
  TRY(code);
  core_config_id(config, id);
  if (strcmp(id, run->id) != 0)
    return core_error(CORE_FAIL,
                      "batch %lld: the settings of run %s come to run %s; the file was changed, or another version "
                      "of this program wrote it",
                      (long long)batch->number, run->id, id);
  return CORE_OK;
}

bool sweep_batch_parent(const SweepBatch *batch, size_t line, char id[CORE_RUN_ID]) {
  static const char key[] = "init.from=";
  const char *own = batch->runs[line].settings, *from = batch->base.init.from;
  char value[CORE_CONFIG_TEXT];
  CoreOrigin origin;
  while (own && strncmp(own, key, sizeof key - 1) != 0) own = (own = strchr(own, '\t')) ? own + 1 : NULL;
  if (own) {
    snprintf(value, sizeof value, "%.*s", (int)strcspn(own + sizeof key - 1, "\t"), own + sizeof key - 1);
    from = value;
  }
  if (core_origin_parse(from, &origin) != CORE_OK || !origin.is_run) return false;
  memcpy(id, origin.run, CORE_RUN_ID);
  return true;
}
