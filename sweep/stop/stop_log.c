/* Reads and writes the log of a [stop] rule's decisions (stop_log.h). */
#include "sweep/stop/stop_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/spec/line_log.h"

static const char *const verbs[] = {"stop", "promote", "retry"};
enum { VERBS = sizeof verbs / sizeof *verbs };

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void append_number(CoreText *line, double value) {
  char number[32];
  core_text_appendf(line, "\t%s", isnan(value) ? "-" : core_text_from_real(value, number));
}

int sweep_stop_log_append(const char *root, const char *name, const SweepStopEntry *entry) {
  char path[CORE_PATH_MAX];
  CoreText line = {0};
  TRY(store_path_sweep(root, name, "stop.log", path));

  core_text_appendf(&line, "%s\t%s", verbs[entry->verb], entry->run);
  if (entry->verb != SWEEP_RETRIES) {
    core_text_appendf(&line, "\t%s", sweep_stop_kind_name(entry->rule));
    append_number(&line, entry->rung < 0 ? NAN : entry->rung);
    append_number(&line, entry->transitions);
    append_number(&line, entry->value);
    append_number(&line, entry->threshold);
    core_text_appendf(&line, "\t%s", entry->why);
  }

  const int code = sweep_line_log_append(path, core_text_string(&line));
  core_text_free(&line);
  return code;
}

void sweep_stop_log_format(const SweepStopEntry *entry, char *text, size_t size) {
  snprintf(text, size, "%s: %s", sweep_stop_kind_name(entry->rule), entry->why);
}

int sweep_stop_lock(const char *root, const char *name, bool wait, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "stop.lock", path));
  return core_files_lock(path, wait, fd);
}

int64_t sweep_stop_log_size(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  struct stat file;
  return store_path_sweep(root, name, "stop.log", path) == CORE_OK && stat(path, &file) == 0 ? (int64_t)file.st_size
                                                                                           : 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool read_number(const char *text, double *value) {
  *value = NAN;
  return strcmp(text, "-") == 0 || core_text_to_real(text, value);
}

/* Parses the fields of a line: time, user, verb, run; unless the verb is retry also rule, rung, transitions, value,
 * threshold, why. */
static bool read_entry(char **field, size_t count, SweepStopEntry *entry) {
  double rung = NAN;
  size_t verb = 0;
  while (verb < VERBS && strcmp(verbs[verb], field[2]) != 0) verb++;
  *entry = (SweepStopEntry){.verb = (SweepStopVerb)verb, .rung = -1, .transitions = NAN, .value = NAN,
                            .threshold = NAN};
  if (verb == VERBS || count < 4 || !store_is_run_id(field[3]) || !core_text_to_real(field[0], &entry->unix_s))
    return false;

  memcpy(entry->run, field[3], CORE_RUN_ID);
  snprintf(entry->who, sizeof entry->who, "%s", field[1]);
  if (entry->verb == SWEEP_RETRIES) return count == 4;
  if (count != 10 || !sweep_stop_kind_from_name(field[4], &entry->rule) || !read_number(field[5], &rung) ||
      !read_number(field[6], &entry->transitions) || !read_number(field[7], &entry->value) ||
      !read_number(field[8], &entry->threshold))
    return false;

  if (rung >= 0 && rung < 1000) entry->rung = (int)rung;
  snprintf(entry->why, sizeof entry->why, "%s", field[9]);
  return true;
}

/* Appends the entry of a line to the log, and updates the state of its run. */
static bool read_line(void *context, char **field, size_t count) {
  SweepStopLog *log = context;
  SweepStopEntry entry;
  size_t index;
  if (!read_entry(field, count, &entry)) return false;

  const bool is_new = sweep_id_set_add(&log->runs, entry.run, &index);
  log->state = core_memory_resize(log->state, log->runs.count * sizeof *log->state);
  if (is_new) log->state[index] = (SweepStopState){0};
  SweepStopState *state = &log->state[index];
  state->is_stopped = entry.verb == SWEEP_STOPS && !state->is_exempt;
  state->is_exempt |= entry.verb == SWEEP_RETRIES;
  if (entry.verb == SWEEP_PROMOTES && entry.rung + 1 > state->level) state->level = entry.rung + 1;

  state->entry = log->count;
  log->entries = core_memory_resize(log->entries, (log->count + 1) * sizeof *log->entries);
  log->entries[log->count++] = entry;
  return true;
}

int sweep_stop_log_read(const char *root, const char *name, SweepStopLog *log) {
  char path[CORE_PATH_MAX];
  *log = (SweepStopLog){0};
  TRY(store_path_sweep(root, name, "stop.log", path));
  const int code = sweep_line_log_read(path, "delete it: its decision is then made again", read_line, log);
  if (code != CORE_OK) sweep_stop_log_free(log);
  return code;
}

void sweep_stop_log_free(SweepStopLog *log) {
  sweep_id_set_free(&log->runs);
  free(log->entries);
  free(log->state);
  *log = (SweepStopLog){0};
}

const SweepStopState *sweep_stop_log_find(const SweepStopLog *log, const char *run) {
  size_t index;
  return sweep_id_set_find(&log->runs, run, &index) ? &log->state[index] : NULL;
}

bool sweep_stop_log_is_stopped(const SweepStopLog *log, const char *run) {
  const SweepStopState *state = sweep_stop_log_find(log, run);
  return state && state->is_stopped;
}
