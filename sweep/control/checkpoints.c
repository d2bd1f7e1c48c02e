/* `sweep rm --checkpoints`: archives sweeps. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "store/workspace/run.h"
#include "sweep/control/removal.h"
#include "sweep/control/remove.h"
#include "sweep/spec/markers.h"

/* The checkpoints of a sweep. */
typedef struct Archive {
  SweepRemoval sweep;         /* its runs that no other sweep has */
  size_t runs;                /* number of runs with checkpoints */
  size_t unfinished;          /* number of these whose progress is lost */
  double bytes;               /* size of the checkpoints on disk */
} Archive;

/* Directories of a run that hold checkpoints: the trainer's, and the one in which a program keeps its own. */
static const char *const checkpoint_directories[] = {"ckpt", "files"};
enum { CHECKPOINT_DIRECTORIES = sizeof checkpoint_directories / sizeof *checkpoint_directories };

static bool is_empty(const char *path) {
  const struct dirent *entry;
  DIR *directory = opendir(path);
  bool empty = true;
  if (!directory) return true;
  while (empty && (entry = readdir(directory)) != NULL)
    empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
  closedir(directory);
  return empty;
}

/* Part of a run in the plan. */
typedef struct ArchivedRun { bool has_checkpoints, is_unfinished; double bytes; } ArchivedRun;

typedef struct Visit { const char *root; const SweepRemoval *sweep; ArchivedRun *runs; } Visit;

static int plan_run(void *context, size_t index) {
  const Visit *visit = context;
  const char *id = visit->sweep->by_directory[index].id;
  ArchivedRun *run = &visit->runs[index];
  char path[CORE_PATH_MAX];
  StoreState state;

  for (size_t d = 0; d < CHECKPOINT_DIRECTORIES; d++) {
    TRY(store_path_run(visit->root, id, checkpoint_directories[d], path));
    if (is_empty(path)) continue;
    run->has_checkpoints = true;
    run->bytes += sweep_removal_bytes(path);
  }

  if (!run->has_checkpoints) return CORE_OK;
  if (store_run_state_read(visit->root, id, true, &state) != CORE_OK) core_error_clear();
  run->is_unfinished = state.status != STORE_FINISHED && state.status != STORE_DIVERGED;
  return CORE_OK;
}

static int plan_archive(const char *root, const char *name, Archive *archive) {
  *archive = (Archive){.runs = 0};
  TRY(sweep_removal_plan_sweep(root, name, false, &archive->sweep));
  ArchivedRun *runs = core_memory_zero_allocate(archive->sweep.count + 1, sizeof *runs);
  const int code = core_parallel_visit(archive->sweep.count, plan_run, &(Visit){root, &archive->sweep, runs});
  for (size_t i = 0; i < archive->sweep.count; i++) {
    archive->runs += runs[i].has_checkpoints;
    archive->unfinished += runs[i].is_unfinished;
    archive->bytes += runs[i].bytes;
  }
  free(runs);
  return code;
}

/* Appends "my_study: checkpoints of 40 runs, 120 MB; 3 of them are not finished and would restart". */
static void describe(const Archive *archive, CoreText *text) {
  char bytes[32];
  core_text_appendf(text, "%s: checkpoints of %zu run%s, %sB", archive->sweep.name, archive->runs,
                    archive->runs == 1 ? "" : "s", core_text_count(archive->bytes, bytes));
  if (archive->unfinished)
    core_text_appendf(text, "; %zu of them %s not finished and would restart", archive->unfinished,
                      archive->unfinished == 1 ? "is" : "are");
  if (archive->sweep.shared)
    core_text_appendf(text, "; those of %zu runs shared with other sweeps stay", archive->sweep.shared);
}

static void print_line(const char *prefix, const Archive *archive) {
  CoreText text = {0};
  describe(archive, &text);
  printf("%s%s\n", prefix, core_text_string(&text));
  core_text_free(&text);
}

static int confirm(const SweepRemoveOptions *options, const Archive *archives, size_t count) {
  if (options->yes || options->dry_run) return CORE_OK;
  TRY(sweep_remove_check_terminal());
  for (size_t i = 0; i < count; i++) print_line("", &archives[i]);
  return sweep_remove_ask("remove these checkpoints permanently?");
}

/* Holds the run's lease, so that no trainer writes a checkpoint meanwhile. */
static int remove_directory(const char *root, const char *id, const char *name) {
  char path[CORE_PATH_MAX];
  StoreLease *lease = NULL;
  TRY(store_path_run(root, id, name, path));
  if (is_empty(path) && !sweep_removal_is_unfinished(path)) return CORE_OK;
  TRY(store_run_acquire(root, id, &lease));
  const int code = sweep_removal_delete_dir(path);
  store_run_release(&lease);
  return code;
}

static int archive_run(void *context, size_t index) {
  const Visit *visit = context;
  for (size_t d = 0; d < CHECKPOINT_DIRECTORIES; d++)
    TRY(remove_directory(visit->root, visit->sweep->by_directory[index].id, checkpoint_directories[d]));
  return CORE_OK;
}

/* Writes the marker first, so that an interrupted archive is known to lack checkpoints. */
static int archive_sweep(const char *root, const Archive *archive) {
  int lock;
  TRY(sweep_removal_lock(root, &archive->sweep, &lock));
  int code = sweep_archived_begin(root, archive->sweep.name);
  if (code == CORE_OK)
    code = core_parallel_visit(archive->sweep.count, archive_run, &(Visit){root, &archive->sweep, NULL});
  core_files_unlock(&lock);
  return code;
}

static void print_json(const SweepRemoveOptions *options, const Archive *archives, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) {
    const Archive *a = &archives[i];
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:f}", "sweep", a->sweep.name, "runs",
                                          (json_int_t)a->runs, "unfinished", (json_int_t)a->unfinished, "shared",
                                          (json_int_t)a->sweep.shared, "bytes", a->bytes));
  }
  core_json_print(json_pack("{s:b, s:o}", "removed", !options->dry_run, "sweeps", list));
}

static int archive_all(const SweepRemoveOptions *options, Archive *archives, const char **operands, size_t count) {
  const char *root = options->common.root;
  char name[SWEEP_NAME];
  for (size_t i = 0; i < count; i++) {
    TRY(sweep_common_name(&options->common, operands[i], name));
    TRY(plan_archive(root, name, &archives[i]));
  }
  for (size_t i = 0; i < count; i++) TRY(sweep_removal_check(root, &archives[i].sweep));
  TRY(confirm(options, archives, count));
  for (size_t i = 0; i < count && !options->dry_run; i++) TRY(archive_sweep(root, &archives[i]));
  if (options->json) print_json(options, archives, count);
  else
    for (size_t i = 0; i < count; i++) print_line(options->dry_run ? "would remove " : "removed ", &archives[i]);
  return CORE_OK;
}

int sweep_remove_checkpoints(const SweepRemoveOptions *options, const char **operands, size_t count) {
  Archive *archives = core_memory_zero_allocate(count, sizeof *archives);
  const int code = archive_all(options, archives, operands, count);
  for (size_t i = 0; i < count; i++) sweep_removal_free(&archives[i].sweep);
  free(archives);
  return code;
}
