/* The import: which of the known runs (known_runs.c) can have changed, which of their logs have grown, and what is new
 * in them (block.c commits it). Exactly once: a row is keyed by run and iteration, a log's offset is committed with its
 * rows, later attempts win. It reads what trainers are writing and never makes them wait; damaged lines are counted and
 * passed over. */
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
#include "store/database/annotation_internal.h"
#include "store/database/committer_internal.h"
#include "store/database/ingest_internal.h"
#include "store/database/known_runs_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/attempts_internal.h"
#include "store/workspace/clock_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/lease_internal.h"
#include "store/workspace/paths.h"

enum {
  BLOCK_FULL = -1,        /* from the row callback: not an error */
  SETTLED_S = 2,          /* a folder changed more recently may change again within the clock's tick */
};

typedef struct Import {
  StoreDatabase *database;
  const char *root;
  StoreImport *result;
  StoreCommitter *committer;
} Import;

void store_import_note_fault(StoreImport *result, const char *text) {
  if (!*result->first_damage) snprintf(result->first_damage, sizeof result->first_damage, "%s", text);
}

static void note_fault(Import *import, const char *text) { store_import_note_fault(import->result, text); }

/* A path of the workspace as it is kept and shown, which another mount of it shares. */
static const char *in_workspace(const Import *import, const char *path) { return path + strlen(import->root) + 1; }

/* ---- a run's logs ----------------------------------------------------------------------------------------------- */

typedef struct Log {
  StoreLogKind kind;
  int attempt;
  char path[CORE_PATH_MAX];
  int64_t offset;         /* imported so far */
  uint32_t mark;
  bool is_short;          /* it lost its end: nothing in it is new */
} Log;

static int by_attempt(const void *a, const void *b) {
  const Log *x = a, *y = b;
  return x->attempt != y->attempt ? (x->attempt < y->attempt ? -1 : 1) : (int)x->kind - (int)y->kind;
}

static int find_logs(const Import *import, const char *id, Log **logs, size_t *count) {
  char folder[CORE_PATH_MAX], **names;
  size_t name_count;
  TRY(store_path_run(import->root, id, NULL, folder));
  TRY(core_files_list(folder, &names, &name_count));
  *logs = core_memory_zero_allocate(name_count + 1, sizeof **logs);
  *count = 0;
  for (size_t i = 0; i < name_count; i++) {
    Log *log = &(*logs)[*count];
    if (store_runlog_from_name(names[i], &log->kind, &log->attempt) &&
        core_files_path(log->path, "%s/%s", folder, names[i]) == CORE_OK)
      ++*count;
    free(names[i]);
  }
  free(names);
  qsort(*logs, *count, sizeof **logs, by_attempt);
  return CORE_OK;
}

/* How far the database has a log. */
typedef struct Progress { int attempt; StoreLogKind kind; int64_t offset; uint32_t mark; } Progress;

/* A run to look into. */
typedef struct Candidate {
  const StoreKnownRun *known;
  int64_t time_ns;        /* of its folder */
  size_t first, count;    /* its progress */
} Candidate;

typedef struct Candidates {
  Candidate *items;
  Progress *progress;
  size_t count, progress_count, progress_capacity;
} Candidates;

static int load_progress(Import *import, sqlite3_stmt *query, Candidates *all, Candidate *candidate) {
  int step;
  candidate->first = all->progress_count;
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
  candidate->count = all->progress_count - candidate->first;
  int code = step == SQLITE_DONE ? CORE_OK : store_database_error(import->database, "read");
  sqlite3_reset(query);
  return code;
}

/* From what is known of the run to its logs. */
static void take_progress(const Progress *progress, size_t progress_count, Log *logs, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < progress_count; k++) {
      if (logs[i].attempt != progress[k].attempt || logs[i].kind != progress[k].kind) continue;
      logs[i].offset = progress[k].offset;
      logs[i].mark = progress[k].mark;
    }
}

/* Other bytes than those that were imported before the offset, or fewer. A log as long as it was is the same. */
static bool is_other(const Log *log, int64_t *missing) {
  int64_t size;
  uint32_t mark;
  *missing = 0;
  if (log->offset == 0 || store_runlog_mark(log->path, 0, &size, NULL) != CORE_OK || size == log->offset) return false;
  if (store_runlog_mark(log->path, log->offset, &size, &mark) != CORE_OK) return false;
  if (size < log->offset) *missing = log->offset - size;
  return mark != log->mark;
}

static void note_loss(Import *import, const Log *log, int64_t missing) {
  StoreImport *result = import->result;
  result->lost_bytes += missing;
  if (*result->first_lost) return;
  snprintf(result->first_lost, sizeof result->first_lost,
           "%.100s has lost its last %lld bytes since it was imported; its rows are kept in results.db: restore the "
           "file from a backup, or keep a copy of results.db before a sweep rebuild, which takes the logs as they are",
           in_workspace(import, log->path), (long long)missing);
}

/* Does log `at` still hold what was imported from it, as far as it goes? Evaluations and layers have no say: they come
 * and go with their iterations. */
static int look_into_log(Import *import, const StoreKnownRun *known, const Log *logs, size_t count, size_t at,
                         bool *holds) {
  const char **later = core_memory_allocate((count + 1) * sizeof *later);
  size_t later_count = 0;
  *holds = true;
  for (size_t i = 0; i < count; i++)
    if (logs[i].kind == STORE_LOG_STATS && logs[i].attempt > logs[at].attempt) later[later_count++] = logs[i].path;
  int code = logs[at].kind == STORE_LOG_STATS ? store_committer_finish(import->committer) : CORE_OK;
  if (code == CORE_OK && logs[at].kind == STORE_LOG_STATS)
    code = store_log_holds(import->database, known->id, logs[at].path, later, later_count, holds);
  free(later);
  return code;
}

/* *restart: another file stands in a log's place, so the run is imported from its beginning. A log that only lost its
 * end costs no rows. */
static int find_replaced(Import *import, const StoreKnownRun *known, Log *logs, size_t count, bool *restart) {
  int64_t missing;
  bool holds;
  *restart = false;
  for (size_t i = 0; i < count && !*restart; i++) {
    if (!is_other(&logs[i], &missing)) continue;
    TRY(look_into_log(import, known, logs, count, i, &holds));
    *restart = !holds;
  }
  for (size_t i = 0; i < count && !*restart; i++) {
    if (!is_other(&logs[i], &missing)) continue;
    if (missing > 0) note_loss(import, &logs[i], missing);
    logs[i].is_short = missing > 0;
    logs[i].offset = 0; /* it has grown again: its rows are those that are there, and new ones */
  }
  return CORE_OK;
}

typedef struct RowTarget { Import *import; const StoreKnownRun *known; } RowTarget;

static int take_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
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

static void note_damage(Import *import, const Log *log, const StoreLogDamage *damage) {
  char text[160];
  if (damage->lines == 0) return;
  snprintf(text, sizeof text, "%.100s:%lld: damaged line, skipped", in_workspace(import, log->path),
           (long long)damage->first_line);
  note_fault(import, text);
  import->result->damaged_lines += damage->lines;
}

/* What a log has beyond its offset. One that cannot be read is told of and left for the next time. */
static int import_log(Import *import, const StoreKnownRun *known, Log *log, bool *changed) {
  RowTarget target = {import, known};
  int64_t size;
  int code;
  if (store_runlog_mark(log->path, 0, &size, NULL) == CORE_OK && size == log->offset) return CORE_OK;
  do {
    StoreLogProgress progress = {.attempt = log->attempt, .kind = log->kind};
    code = store_runlog_read(log->path, log->offset, take_row, &target, &progress.offset, &progress.damage);
    if (code != CORE_OK && code != BLOCK_FULL) {
      note_fault(import, core_error_message());
      code = CORE_OK;
    }
    if (progress.offset > log->offset) {
      *changed = true;
      memcpy(progress.id, known->id, CORE_RUN_ID);
      snprintf(progress.file, sizeof progress.file, "%s", in_workspace(import, log->path));
      if (store_runlog_mark(log->path, progress.offset, &size, &progress.mark) != CORE_OK)
        note_fault(import, core_error_message());
      store_block_add_progress(store_committer_block(import->committer), &progress);
      note_damage(import, log, &progress.damage);
      log->offset = progress.offset;
    }
    if (code == BLOCK_FULL) TRY(store_committer_hand_over(import->committer));
  } while (code == BLOCK_FULL);
  return CORE_OK;
}

static int import_logs(Import *import, const StoreKnownRun *known, Log *logs, size_t count, bool *changed) {
  bool restart;
  TRY(find_replaced(import, known, logs, count, &restart));
  if (restart) {
    core_warn("run %s: a run log was replaced; all of them are imported anew", known->id);
    store_block_add_restart(store_committer_block(import->committer), known->id);
    for (size_t i = 0; i < count; i++) logs[i].offset = 0;
    *changed = true;
  }
  for (size_t i = 0; i < count; i++)
    if (!logs[i].is_short) TRY(import_log(import, known, &logs[i], changed));
  return CORE_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------ */

/* The folder's time of change in nanoseconds; 0 when it cannot be read. */
static int64_t folder_time(const char *root, int workspace, const char *id) {
  char folder[STORE_RUN_FOLDER];
  struct stat status;
  if (store_path_run_folder(root, id, folder) != CORE_OK || fstatat(workspace, folder, &status, 0) < 0) return 0;
  return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

/* Can only a change that touches the folder (a new log, a new state) make news of this run? */
static bool is_settled(const char *root, const StoreState *state, bool has_logs, int64_t time_ns) {
  if (state->status == STORE_PENDING && has_logs) return false; /* its state is gone: logs may grow all the same */
  if (state->status == STORE_RUNNING || state->status == STORE_LOST) return false;
  return store_clock_unix_s(root) - 1e-9 * (double)time_ns >
         SETTLED_S; /* by the clock that stamps files, not by ours */
}

/* How its earlier attempts ended. */
static void add_attempts(Import *import, const StoreRunSeen *seen) {
  StoreState *attempts;
  size_t count;
  StoreRunSeen item = *seen;
  if (store_attempts_read(import->root, seen->id, &attempts, &count) != CORE_OK)
    note_fault(import, core_error_message());
  for (size_t i = 0; i < count; i++) {
    item.state = attempts[i];
    store_block_add_attempt(store_committer_block(import->committer), &item);
  }
  free(attempts);
}

/* The order matters: the folder's time, then the state, then the logs. A run that says it has ended wrote its logs
 * before, and whatever happens meanwhile changes the time. */
static int import_run(Import *import, const Candidate *candidate, const Progress *progress) {
  const StoreKnownRun *known = candidate->known;
  const int64_t time_ns = candidate->time_ns;
  StoreRunSeen seen = {.run = known->run};
  Log *logs;
  size_t count;
  bool changed = false;
  memcpy(seen.id, known->id, CORE_RUN_ID);
  bool readable = store_run_state_read(import->root, known->id, true, &seen.state) == CORE_OK;
  if (!readable) note_fault(import, core_error_message());
  if (find_logs(import, known->id, &logs, &count) != CORE_OK) {
    note_fault(import, core_error_message());
    return CORE_OK;
  }
  take_progress(progress + candidate->first, candidate->count, logs, count);
  int code = import_logs(import, known, logs, count, &changed);
  free(logs);
  if (code != CORE_OK) return code;
  seen.folder_time = readable && is_settled(import->root, &seen.state, count > 0, time_ns) ? time_ns : 0;
  seen.mark = store_crc32(&seen.state, sizeof seen.state);
  bool news = seen.mark != known->mark;
  StoreCommitter *committer = import->committer;
  if (news || seen.folder_time != known->folder_time) add_attempts(import, &seen);
  if (readable && (news || seen.folder_time != known->folder_time))
    store_block_add_seen(store_committer_block(committer), &seen);
  if (changed || (readable && news)) import->result->runs++;
  return store_block_is_full(store_committer_block(committer)) ? store_committer_hand_over(committer) : CORE_OK;
}

/* The runs whose folder has changed, and how far the database has their logs: asked at once, since it belongs to the
 * committer's thread later. */
static int find_candidates(Import *import, const StoreKnownRun *known, size_t count, Candidates *candidates) {
  sqlite3_stmt *query = NULL;
  int workspace = count ? open(import->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  *candidates = (Candidates){.items = core_memory_allocate((count + 1) * sizeof *candidates->items)};
  int code = store_database_prepare(
    import->database, "SELECT attempt, kind, offset, mark FROM run_log WHERE run_id = ?1", &query);
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    int64_t time_ns = folder_time(import->root, workspace, known[i].id);
    if (time_ns == 0 || time_ns == known[i].folder_time) continue;
    Candidate *candidate = &candidates->items[candidates->count++];
    *candidate = (Candidate){.known = &known[i], .time_ns = time_ns};
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

int store_import_lock(const char *root, bool wait, int *fd, bool *held_elsewhere) {
  char path[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/.import.lock", root));
  int code = core_files_lock(path, wait, fd);
  *held_elsewhere = code != CORE_OK && store_lease_is_held(path);
  return code;
}

int store_import(StoreDatabase *database, const char *root, const char *sweep, bool wait, StoreImport *result) {
  int lock;
  bool busy;
  *result = (StoreImport){0};
  if (store_is_merged(database))
    return core_error(CORE_USAGE, "%s was made by analyze merge: it takes in no runs of the workspace that it lies in; "
                      "give it another name, or move it away, and make the workspace's own with: sweep rebuild",
                      database->path);
  int code = store_import_lock(root, wait, &lock, &busy);
  if (code != CORE_OK && busy) {
    result->rows = -1;
    return CORE_OK;
  }
  if (code != CORE_OK) return code;
  code = store_import_unlocked(database, root, sweep, result);
  core_files_unlock(&lock);
  return code;
}
