/* Import: finds the known runs (known_runs.c) that may have changed, reads what was appended to their logs, and lets
 * block.c commit it. Each row is imported exactly once: it is keyed by run and iteration, the offset of its log is
 * committed with it, and later attempts replace earlier ones. Logs are read while trainers write them, without making
 * trainers wait; damaged lines are counted and skipped. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/ingest_internal.h"
#include "store/database/known_runs_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_internal.h"

enum {
  BLOCK_FULL = -1,        /* result of the row callback that is not an error */
  QUIESCENT_S = 2,        /* age from which a change cannot have the same time stamp as the last one */
};

typedef struct Import {
  StoreDatabase *database;
  const char *root;
  StoreImport *result;
  StoreCommitter *committer;
} Import;

void store_import_add_warning(StoreImport *result, const char *text) {
  if (!*result->first_damage) snprintf(result->first_damage, sizeof result->first_damage, "%s", text);
}

static void add_warning(Import *import, const char *text) { store_import_add_warning(import->result, text); }

/* Returns a path relative to the workspace, which is valid for other mounts of it too. */
static const char *relative_path(const Import *import, const char *path) { return path + strlen(import->root) + 1; }

/* ---- a run's logs ----------------------------------------------------------------------------------------------- */

typedef struct Log {
  StoreLogKind kind;
  int attempt;
  char path[CORE_PATH_MAX];
  int64_t offset;         /* end of the imported part */
  uint32_t prefix_crc;    /* CRC of the last imported bytes */
  bool is_truncated;      /* whether it lost its end, so that nothing in it is new */
} Log;

static int compare_logs(const void *a, const void *b) {
  const Log *x = a, *y = b;
  return x->attempt != y->attempt ? (x->attempt < y->attempt ? -1 : 1) : (int)x->kind - (int)y->kind;
}

static int find_logs(const Import *import, const char *id, Log **logs, size_t *count) {
  char directory[CORE_PATH_MAX], **names;
  size_t name_count;

  TRY(store_path_run(import->root, id, NULL, directory));
  TRY(core_files_list(directory, &names, &name_count));
  *logs = core_memory_zero_allocate(name_count + 1, sizeof **logs);
  *count = 0;

  for (size_t i = 0; i < name_count; i++) {
    Log *log = &(*logs)[*count];
    if (store_runlog_from_name(names[i], &log->kind, &log->attempt) &&
        core_files_path(log->path, "%s/%s", directory, names[i]) == CORE_OK)
      ++*count;
    free(names[i]);
  }

  free(names);
  qsort(*logs, *count, sizeof **logs, compare_logs);
  return CORE_OK;
}

/* Recorded import progress of a log. */
typedef struct Progress { int attempt; StoreLogKind kind; int64_t offset; uint32_t prefix_crc; } Progress;

/* Run that may have changed. */
typedef struct Candidate {
  const StoreKnownRun *known;
  int64_t directory_time_ns;      /* modification time of its directory */
  size_t progress_first, progress_count;
} Candidate;

typedef struct Candidates {
  Candidate *items;
  Progress *progress;
  size_t count, progress_count, progress_capacity;
} Candidates;

static int load_progress(Import *import, sqlite3_stmt *query, Candidates *all, Candidate *candidate) {
  int step;

  candidate->progress_first = all->progress_count;
  sqlite3_bind_text(query, 1, candidate->known->id, -1, SQLITE_STATIC);
  while ((step = sqlite3_step(query)) == SQLITE_ROW) {
    const char *kind = (const char *)sqlite3_column_text(query, 1);
    for (int k = STORE_LOG_STATS; kind && k < STORE_LOG_KINDS; k++) {
      if (strcmp(kind, store_runlog_kind_name((StoreLogKind)k)) != 0) continue;
      if (all->progress_count == all->progress_capacity) {
        all->progress_capacity = all->progress_capacity ? 2 * all->progress_capacity : 256;
        all->progress = core_memory_resize(all->progress, all->progress_capacity * sizeof *all->progress);
      }
      all->progress[all->progress_count++] = (Progress){sqlite3_column_int(query, 0), (StoreLogKind)k,
        sqlite3_column_int64(query, 2), (uint32_t)sqlite3_column_int64(query, 3)};
    }
  }

  candidate->progress_count = all->progress_count - candidate->progress_first;
  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(import->database, "read");
  sqlite3_reset(query);
  return code;
}

/* Copies the recorded progress of a run to its logs. */
static void apply_progress(const Progress *progress, size_t progress_count, Log *logs, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < progress_count; k++) {
      if (logs[i].attempt != progress[k].attempt || logs[i].kind != progress[k].kind) continue;
      logs[i].offset = progress[k].offset;
      logs[i].prefix_crc = progress[k].prefix_crc;
    }
}

/* Whether the log was replaced or truncated since the last import; *missing_bytes: what a truncated log lost. Logs of
 * unchanged size are not read again. */
static bool has_other_prefix(const Log *log, int64_t *missing_bytes) {
  int64_t size;
  uint32_t prefix_crc;
  *missing_bytes = 0;
  if (log->offset == 0) return false;
  if (store_runlog_prefix_crc(log->path, 0, &size, NULL) != CORE_OK || size == log->offset) return false;
  if (store_runlog_prefix_crc(log->path, log->offset, &size, &prefix_crc) != CORE_OK) return false;
  if (size < log->offset) *missing_bytes = log->offset - size;
  return prefix_crc != log->prefix_crc;
}

static void record_loss(Import *import, const Log *log, int64_t missing_bytes) {
  StoreImport *result = import->result;
  result->lost_bytes += missing_bytes;
  if (*result->first_lost) return;
  snprintf(result->first_lost, sizeof result->first_lost,
           "%.100s has lost its last %lld bytes since it was imported; its rows are kept in results.db: restore the "
           "file from a backup, or keep a copy of results.db before sweep collect --rebuild, which reads the logs only",
           relative_path(import, log->path), (long long)missing_bytes);
}

/* Checks whether a log still agrees with the rows imported from it. Only logs of iterations are compared: evaluations
 * and layers are replaced with their iterations. */
static int check_log(Import *import, const StoreKnownRun *known, const Log *logs, size_t count, const Log *log,
                     bool *matches) {
  *matches = true;
  if (log->kind != STORE_LOG_STATS) return CORE_OK;
  TRY(store_committer_finish(import->committer));
  const char **later = core_memory_allocate((count + 1) * sizeof *later);
  size_t later_count = 0;
  for (size_t i = 0; i < count; i++)
    if (logs[i].kind == STORE_LOG_STATS && logs[i].attempt > log->attempt) later[later_count++] = logs[i].path;
  const int code = store_log_matches_rows(import->database, known->id, log->path, later, later_count, matches);
  free(later);
  return code;
}

/* Looks for replaced and truncated logs. *restart: a log was replaced, so that the run must be imported from its
 * beginning. A truncated log costs no rows. */
static int find_replaced(Import *import, const StoreKnownRun *known, Log *logs, size_t count, bool *restart) {
  int64_t missing_bytes;
  bool matches;
  *restart = false;

  for (size_t i = 0; i < count && !*restart; i++) {
    if (!has_other_prefix(&logs[i], &missing_bytes)) continue;
    TRY(check_log(import, known, logs, count, &logs[i], &matches));
    *restart = !matches;
  }

  for (size_t i = 0; i < count && !*restart; i++) {
    if (!has_other_prefix(&logs[i], &missing_bytes)) continue;
    if (missing_bytes > 0) record_loss(import, &logs[i], missing_bytes);
    logs[i].is_truncated = missing_bytes > 0;
    logs[i].offset = 0; /* if it has grown again, all its rows are read: known ones and new ones */
  }
  return CORE_OK;
}

typedef struct RowTarget { Import *import; const StoreKnownRun *known; } RowTarget;

static int add_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                   const StoreLayer *layer, const StoreMetric *metric) {
  const RowTarget *target = context;
  StoreBlock *block = store_committer_block(target->import->committer);
  if (iteration) store_block_add_iteration(block, target->known->id, iteration);
  else if (evaluation) store_block_add_evaluation(block, target->known->id, evaluation);
  else if (layer) store_block_add_layer(block, target->known->id, layer);
  else store_block_add_metric(block, target->known->id, metric);
  target->import->result->rows++;
  return store_block_is_full(block) ? BLOCK_FULL : CORE_OK;
}

static void record_damage(Import *import, const Log *log, const StoreLogDamage *damage) {
  char text[160];
  if (damage->lines == 0) return;
  snprintf(text, sizeof text, "%.100s:%lld: damaged line, skipped", relative_path(import, log->path),
           (long long)damage->first_line);
  add_warning(import, text);
  import->result->damaged_lines += damage->lines;
}

/* Records that a log has been read up to progress->offset. */
static void advance_log(Import *import, const StoreKnownRun *known, Log *log, StoreLogProgress *progress) {
  int64_t size;
  memcpy(progress->id, known->id, CORE_RUN_ID);
  snprintf(progress->file, sizeof progress->file, "%s", relative_path(import, log->path));
  if (store_runlog_prefix_crc(log->path, progress->offset, &size, &progress->prefix_crc) != CORE_OK)
    add_warning(import, core_error_message());
  store_block_add_progress(store_committer_block(import->committer), progress);
  record_damage(import, log, &progress->damage);
  log->offset = progress->offset;
}

/* Imports what follows the offset of a log. An unreadable log adds a warning and is retried by the next import. */
static int import_log(Import *import, const StoreKnownRun *known, Log *log, bool *changed) {
  RowTarget target = {import, known};
  int64_t size;
  int code;

  if (store_runlog_prefix_crc(log->path, 0, &size, NULL) == CORE_OK && size == log->offset) return CORE_OK;

  /* A full block of rows is committed, and the rest of the log goes into the next one. */
  do {
    StoreLogProgress progress = {.attempt = log->attempt, .kind = log->kind};
    code = store_runlog_read(log->path, log->offset, add_row, &target, &progress.offset, &progress.damage);
    if (code != CORE_OK && code != BLOCK_FULL) {
      add_warning(import, core_error_message());
      code = CORE_OK;
    }
    if (progress.offset > log->offset) {
      *changed = true;
      advance_log(import, known, log, &progress);
    }
    if (code == BLOCK_FULL) TRY(store_committer_submit(import->committer));
  } while (code == BLOCK_FULL);
  return CORE_OK;
}

static int import_logs(Import *import, const StoreKnownRun *known, Log *logs, size_t count, bool *changed) {
  bool restart;
  TRY(find_replaced(import, known, logs, count, &restart));
  if (restart) {
    core_warn("run %s: a run log was replaced; importing all of its logs again", known->id);
    store_block_add_restart(store_committer_block(import->committer), known->id);
    for (size_t i = 0; i < count; i++) logs[i].offset = 0;
    *changed = true;
  }
  for (size_t i = 0; i < count; i++)
    if (!logs[i].is_truncated) TRY(import_log(import, known, &logs[i], changed));
  return CORE_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

/* Returns the modification time of a run directory in nanoseconds; 0 if it cannot be read. */
static int64_t read_directory_time(const char *root, int workspace, const char *id) {
  char directory[STORE_RUN_DIRECTORY];
  struct stat status;
  if (store_path_run_directory(id, directory) != CORE_OK) return 0;
  if (fstatat(workspace, directory, &status, 0) < 0) return 0;
  return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

/* Whether the run is quiescent: any further change would update the modification time of its directory. The age is
 * measured with the clock of the file system. */
static bool is_quiescent(const char *root, const StoreState *state, bool has_logs, int64_t directory_time_ns) {
  if (state->status == STORE_PENDING && has_logs) return false; /* the state was deleted, but logs may still grow */
  if (state->status == STORE_RUNNING || state->status == STORE_LOST) return false;
  return store_clock_unix_s(root) - 1e-9 * (double)directory_time_ns > QUIESCENT_S;
}

/* Adds the ended attempts of a run. */
static void add_attempts(Import *import, const StoreRunSnapshot *run) {
  StoreState *attempts;
  size_t count;
  StoreRunSnapshot item = *run;
  if (store_attempts_read(import->root, run->id, &attempts, &count) != CORE_OK)
    add_warning(import, core_error_message());
  for (size_t i = 0; i < count; i++) {
    item.state = attempts[i];
    store_block_add_attempt(store_committer_block(import->committer), &item);
  }
  free(attempts);
}

/* Adds the state and attempts of a run to the block if they have changed. changed: whether its logs have. */
static void add_state(Import *import, const StoreKnownRun *known, const StoreRunSnapshot *run, bool is_readable,
                      bool changed) {
  const bool has_new_state = run->state_crc != known->state_crc;
  const bool needs_update = has_new_state || run->directory_time_ns != known->directory_time_ns;
  if (needs_update) add_attempts(import, run);
  if (is_readable && needs_update) store_block_add_run(store_committer_block(import->committer), run);
  if (changed || (is_readable && has_new_state)) import->result->runs++;
}

/* Imports a run. The order matters: first the directory's time, then the state, then the logs. A run whose state says
 * that it has ended wrote its logs before, and any change made in the meantime updates the time. */
static int import_run(Import *import, const Candidate *candidate, const Progress *progress) {
  const StoreKnownRun *known = candidate->known;
  StoreRunSnapshot run = {.run = known->run};
  Log *logs;
  size_t count;
  bool changed = false;

  memcpy(run.id, known->id, CORE_RUN_ID);
  const bool is_readable = store_run_state_read(import->root, known->id, true, &run.state) == CORE_OK;
  if (!is_readable) add_warning(import, core_error_message());

  if (find_logs(import, known->id, &logs, &count) != CORE_OK) {
    add_warning(import, core_error_message());
    return CORE_OK;
  }
  apply_progress(progress + candidate->progress_first, candidate->progress_count, logs, count);

  int code = import_logs(import, known, logs, count, &changed);
  free(logs);
  if (code != CORE_OK) return code;

  if (is_readable && is_quiescent(import->root, &run.state, count > 0, candidate->directory_time_ns))
    run.directory_time_ns = candidate->directory_time_ns;
  run.state_crc = store_crc32(&run.state, sizeof run.state);
  add_state(import, known, &run, is_readable, changed);
  StoreCommitter *committer = import->committer;
  return store_block_is_full(store_committer_block(committer)) ? store_committer_submit(committer) : CORE_OK;
}

/* Lists the runs whose directory has changed, with the recorded progress of their logs. All of it is read up front,
 * since the committer's thread uses the database later. */
static int find_candidates(Import *import, const StoreKnownRun *known, size_t count, Candidates *candidates) {
  sqlite3_stmt *query = NULL;
  int workspace = count ? open(import->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  *candidates = (Candidates){.items = core_memory_allocate((count + 1) * sizeof *candidates->items)};

  int code = store_database_prepare(
    import->database, "SELECT attempt, kind, offset, mark FROM run_log WHERE run_id = ?1", &query);
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    const int64_t time_ns = read_directory_time(import->root, workspace, known[i].id);
    if (time_ns == 0 || time_ns == known[i].directory_time_ns) continue;
    Candidate *candidate = &candidates->items[candidates->count++];
    *candidate = (Candidate){.known = &known[i], .directory_time_ns = time_ns};
    code = load_progress(import, query, candidates, candidate);
  }

  sqlite3_finalize(query);
  if (workspace >= 0) close(workspace);
  return code;
}

static int import_runs(Import *import, const char *sweep) {
  StoreKnownRun *known;
  Candidates candidates = {0};
  size_t count;
  int code = store_known_runs(import->database, import->root, sweep, import->result, &known, &count);
  if (code == CORE_OK) code = find_candidates(import, known, count, &candidates);
  for (size_t i = 0; i < candidates.count && code == CORE_OK; i++)
    code = import_run(import, &candidates.items[i], candidates.progress);
  if (code == CORE_OK) code = store_committer_finish(import->committer);
  free(candidates.items);
  free(candidates.progress);
  free(known);
  return code;
}

/* ---- the import ------------------------------------------------------------------------------------------------- */

int store_import_unlocked(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result) {
  Import import = {.database = database, .root = root, .result = result};
  *result = (StoreImport){0};
  TRY(store_committer_create(database, &import.committer));
  int code = import_runs(&import, sweep);
  store_committer_destroy(&import.committer);
  return code == CORE_OK ? store_import_annotations(database, root, result) : code;
}

int store_import_lock(const char *root, bool wait, int *fd, bool *is_held) {
  char path[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/.import.lock", root));
  int code = core_files_lock(path, wait, fd);
  *is_held = code != CORE_OK && store_lease_is_held(path);
  return code;
}

int store_import(StoreDatabase *database, const char *root, const char *sweep, bool wait, StoreImport *result) {
  int lock;
  bool is_held;
  *result = (StoreImport){0};

  if (store_is_merged(database))
    return core_error(CORE_USAGE, "%s was made by analyze merge, and runs of its workspace cannot be imported into it; "
                      "rename or move it, and build the workspace's own database with: sweep collect --rebuild",
                      database->path);

  int code = store_import_lock(root, wait, &lock, &is_held);
  if (code != CORE_OK && is_held) {
    result->rows = -1;
    return CORE_OK;
  }
  if (code != CORE_OK) return code;

  code = store_import_unlocked(database, root, sweep, result);
  core_files_unlock(&lock);
  return code;
}
