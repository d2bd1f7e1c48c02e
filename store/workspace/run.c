/* A run's config.ini, and its state as key=value text that is replaced atomically. The files may be of another version
 * or damaged, so every value is checked and unknown ones are ignored. lease.c controls who may write. */
#include "store/workspace/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/config/script.h"
#include "core/log.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_internal.h"

enum { STATE_BYTES_MAX = 16384 };

/* ---- status names ----------------------------------------------------------------------------------------------- */

static const char *const status_names[] = {
  [STORE_PENDING] = "pending", [STORE_RUNNING] = "running",   [STORE_FINISHED] = "finished", [STORE_FAILED] = "failed",
  [STORE_STOPPED] = "stopped", [STORE_DIVERGED] = "diverged", [STORE_LOST] = "lost",
  [STORE_STOPPED_BY_RULE] = "stopped by rule",
};

const StoreStatus store_status_order[STORE_STATUSES] = {STORE_FINISHED, STORE_STOPPED_BY_RULE, STORE_RUNNING,
                                                        STORE_PENDING,  STORE_STOPPED,         STORE_LOST,
                                                        STORE_FAILED,   STORE_DIVERGED};

const char *store_status_name(StoreStatus status) {
  CORE_CHECK((unsigned)status < STORE_STATUSES);
  return status_names[status];
}

bool store_status_from_name(const char *name, StoreStatus *status) {
  for (int i = 0; i < STORE_STATUSES; i++)
    if (strcmp(name, status_names[i]) == 0) {
      *status = (StoreStatus)i;
      return true;
    }
  return false;
}

/* ---- preparing -------------------------------------------------------------------------------------------------- */

/* Whether the file is empty or zeros, as some file systems leave it after a power failure. Nothing is lost: logs and
 * checkpoints show the run's progress. */
static bool is_blank(const char *data, size_t size) {
  size_t i = 0;
  while (i < size && data[i] == '\0') i++;
  return i == size;
}

static int write_config(const char *path, const CoreConfig *config) {
  CoreText text = {0};
  core_config_to_ini(config, &text);
  int code = core_files_write_atomic(path, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

/* Checks an existing config.ini and sets *keep if it has the same bytes. With the same id, settings outside the
 * identity (threads, checkpoint interval) may differ and are replaced, except for the plan, which is that of the first
 * start: config->train.plan is set to it. An unreadable file is replaced, since the id determines its content. */
static int compare_config(const char *path, const char *id, CoreConfig *config, bool *keep) {
  CoreConfig old = core_config_default();
  char old_id[CORE_RUN_ID];
  *keep = false;
  char *text;
  size_t size;
  CoreText wanted = {0};

  core_config_to_ini(config, &wanted);
  const bool is_read = core_files_read(path, 0, &text, &size) == CORE_OK, is_empty = is_read && is_blank(text, size);
  *keep = is_read && strcmp(text, core_text_string(&wanted)) == 0;
  core_text_free(&wanted);
  free(text);
  if (*keep) return CORE_OK;

  if (is_empty || core_config_read(path, &old) != CORE_OK) {
    if (is_empty) core_warn("%s is empty, as after a power failure; rewriting it", path);
    else core_warn("%s; rewriting it", core_error_message());
    return CORE_OK;
  }

  core_config_id(&old, old_id);
  if (strcmp(old_id, id) == 0) {
    core_script_set_plan(config, core_script_plan(&old));
    return CORE_OK;
  }

  return core_error(CORE_FAIL, "%s was changed by hand: it describes run %s; move its directory away to train run %s "
                    "again", path, old_id, id);
}

int store_run_prepare(const char *root, const CoreConfig *config, char id[CORE_RUN_ID]) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  CoreConfig written = *config;
  bool keep = false;
  core_config_id(config, id);
  TRY(store_path_run(root, id, NULL, directory));
  TRY(store_path_run(root, id, "config.ini", path));
  TRY(core_files_make_directories(directory));
  if (core_files_exists(path)) TRY(compare_config(path, id, &written, &keep));
  return keep ? CORE_OK : write_config(path, &written);
}

/* ---- state as text ---------------------------------------------------------------------------------------------- */

typedef enum FieldKind { FIELD_STATUS, FIELD_INT, FIELD_LONG, FIELD_REAL, FIELD_TEXT } FieldKind;
typedef struct Field { const char *key; FieldKind kind; size_t offset, size; } Field;
#define FIELD(name, kind) {#name, kind, offsetof(StoreState, name), sizeof(((StoreState *)0)->name)}
static const Field fields[] = {
  FIELD(status, FIELD_STATUS),          FIELD(attempt, FIELD_INT),
  FIELD(host, FIELD_TEXT),              FIELD(pid, FIELD_LONG),
  FIELD(started_unix_s, FIELD_REAL),    FIELD(heartbeat_unix_s, FIELD_REAL),
  FIELD(finished_unix_s, FIELD_REAL),   FIELD(iteration, FIELD_LONG),
  FIELD(iterations, FIELD_LONG),        FIELD(transitions, FIELD_LONG),
  FIELD(transitions_total, FIELD_LONG), FIELD(steps_per_second, FIELD_REAL),
  FIELD(solve_rate, FIELD_REAL),        FIELD(episode_return, FIELD_REAL),
  FIELD(train_seconds, FIELD_REAL),
  FIELD(device, FIELD_TEXT),            FIELD(commit, FIELD_TEXT),
  FIELD(parent, FIELD_TEXT),            FIELD(message, FIELD_TEXT),
  FIELD(code, FIELD_TEXT),              FIELD(code_files, FIELD_TEXT),
};
#undef FIELD
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* Parses a field; false: invalid value. */
static bool read_field(StoreState *state, const Field *field, const char *value) {
  void *target = (char *)state + field->offset;
  int64_t whole;
  double real;

  switch (field->kind) {
    case FIELD_STATUS:
      return store_status_from_name(value, target) && *(StoreStatus *)target != STORE_LOST;
    case FIELD_INT:
    case FIELD_LONG:
      if (!core_text_to_int(value, &whole) || whole < 0) return false;
      if (field->kind == FIELD_INT && whole > 999999999) return false;
      if (field->kind == FIELD_INT) *(int *)target = (int)whole;
      else *(int64_t *)target = whole;
      return true;
    case FIELD_REAL:
      if (!core_text_to_real(value, &real)) return false;
      *(double *)target = real;
      return true;
    case FIELD_TEXT:
      snprintf(target, field->size, "%s", value);
      core_unicode_mask_line(target);
      return true;
  }
  return false;
}

static void write_field(const StoreState *state, const Field *field, CoreText *text) {
  const void *source = (const char *)state + field->offset;
  char buffer[sizeof state->code_files]; /* longest field */

  switch (field->kind) {
    case FIELD_STATUS:
      core_text_appendf(text, "%s=%s\n", field->key, store_status_name(*(const StoreStatus *)source));
      break;
    case FIELD_INT:
      core_text_appendf(text, "%s=%d\n", field->key, *(const int *)source);
      break;
    case FIELD_LONG:
      core_text_appendf(text, "%s=%lld\n", field->key, (long long)*(const int64_t *)source);
      break;
    case FIELD_REAL:
      if (!isnan(*(const double *)source))
        core_text_appendf(text, "%s=%s\n", field->key, core_text_from_real(*(const double *)source, buffer));
      break;
    case FIELD_TEXT:
      snprintf(buffer, sizeof buffer, "%.*s", (int)field->size - 1, (const char *)source);
      core_unicode_mask_line(buffer);
      core_text_appendf(text, "%s=%s\n", field->key, buffer);
      break;
  }
}

/* Reports a damaged state; `fault` names the problem. */
static int damaged_state(const char *path, const char *fault) {
  return core_error(CORE_FAIL, "%s is damaged (%s); remove it to continue", path, fault);
}

/* Checks the last line, "crc32=" and eight digits, of the text before it. States of older versions have none. */
static bool is_whole(const char *data) {
  unsigned crc;
  const char *line = strstr(data, "\ncrc32=");
  return !line || (sscanf(line, "\ncrc32=%8x", &crc) == 1 && crc == store_crc32(data, (size_t)(line + 1 - data)));
}

static int parse_state(const char *path, char *data, size_t size, StoreState *state) {
  bool has_status = false;
  char fault[96];

  if (is_blank(data, size)) {
    core_warn("%s is empty, as after a power failure: the run counts as not started, and resumes from the files in its "
              "directory", path);
    return CORE_OK;
  }
  if (memchr(data, '\0', size)) return damaged_state(path, "it is no text");

  const bool whole = is_whole(data);
  char *save = NULL;
  for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char *equals = strchr(line, '=');
    if (!equals) continue;
    *equals = '\0';
    for (int i = 0; i < FIELD_COUNT; i++) {
      if (strcmp(line, fields[i].key) != 0) continue;
      if (!read_field(state, &fields[i], equals + 1)) {
        snprintf(fault, sizeof fault, "%s=%.40s", line, equals + 1);
        core_unicode_mask_line(fault);
        return damaged_state(path, fault);
      }
      if (fields[i].kind == FIELD_STATUS) has_status = true;
    }
  }

  if (!whole) return damaged_state(path, "its checksum is not that of its lines");
  return has_status ? CORE_OK : damaged_state(path, "it names no status");
}

/* ---- state ------------------------------------------------------------------------------------------------------ */

double store_run_age_s(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  struct stat file;
  const double now =
    store_clock_unix_s(root); /* before reading, or a heartbeat in between would be in the future */
  if (store_path_run(root, id, "state", path) != CORE_OK || stat(path, &file) != 0) return 0;
  return now - ((double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec);
}

/* Whether a "running" state has no live process. */
static int is_lost(const char *root, const char *id, const StoreState *state, bool *lost) {
  char path[CORE_PATH_MAX];
  *lost = false;
  if (strcmp(state->host, store_lease_host()) != 0) {
    *lost = store_run_age_s(root, id) > STORE_LOST_AFTER_S;
    return CORE_OK;
  }
  TRY(store_path_run(root, id, "lease", path));
  *lost = !store_lease_is_held(path);
  return CORE_OK;
}

int store_run_state_read(const char *root, const char *id, bool concluded, StoreState *state) {
  char path[CORE_PATH_MAX], *data;
  size_t size;
  bool lost;
  /* Zero the padding, too: the importer compares states bytewise. */
  memset(state, 0, sizeof *state);
  state->steps_per_second = state->solve_rate = state->episode_return = NAN;
  TRY(store_path_run(root, id, "state", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, STATE_BYTES_MAX, &data, &size));
  int code = parse_state(path, data, size, state);
  free(data);
  if (code != CORE_OK || !concluded || state->status != STORE_RUNNING) return code;
  TRY(is_lost(root, id, state, &lost));
  if (lost) state->status = STORE_LOST;
  return CORE_OK;
}

int store_run_state_write(const char *root, const char *id, const StoreState *state) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  if (state->status == STORE_LOST)
    return core_error(CORE_USAGE, "the state 'lost' is derived, and cannot be written");
  TRY(store_path_run(root, id, "state", path));
  for (int i = 0; i < FIELD_COUNT; i++) write_field(state, &fields[i], &text);
  core_text_appendf(&text, "crc32=%08x\n", store_crc32(text.data, text.length));
  if (store_attempts_record(root, id, state) != CORE_OK) core_warn("%s", core_error_message()); /* not fatal */
  int code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  return code;
}
