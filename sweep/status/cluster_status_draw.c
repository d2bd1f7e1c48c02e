/* Queries Slurm's queue through a cache of a few seconds, and draws conditions as text. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/status/cluster_status.h"

enum { REASONS_MAX = 8 };

/* ---- query ------------------------------------------------------------------------------------------------------- */

/* Makes ~/.cache/sweep/queue-<hash of the query>. false: the user has no home directory. */
static bool cache_path(const SlurmSelection *selection, char path[CORE_PATH_MAX]) {
  const char *home = getenv("XDG_CACHE_HOME"), *conf = getenv("SLURM_CONF");
  const size_t count = selection->count;
  const bool is_cache = home && home[0] == '/';
  if (!is_cache) home = getenv("HOME");
  if (!home || home[0] != '/') return false;

  uint64_t hash = 1469598103934665603u; /* FNV-1a */
  for (size_t i = 0; i < count + 2; i++) {
    const char *text = i < count ? selection->names[i] : i == count ? selection->directory : conf;
    for (const char *c = text ? text : "";; c++) {
      hash = (hash ^ (unsigned char)*c) * 1099511628211u;
      if (!*c) break;
    }
  }

  return core_files_path(path, "%s%s/sweep/queue-%016llx", home, is_cache ? "" : "/.cache", (unsigned long long)hash) ==
         CORE_OK;
}

/* Reads the user's own file: the size of a row, then rows as they are in memory. */
static bool read_cache(const char *path, double max_age_s, SlurmTasks *tasks) {
  struct stat file;
  char *data;
  size_t size;
  if (max_age_s <= 0 || stat(path, &file) != 0 || file.st_uid != getuid()) return false;
  const double age = core_clock_unix_s() - ((double)file.st_mtim.tv_sec + 1e-9 * (double)file.st_mtim.tv_nsec);
  if (age < 0 || age > max_age_s || core_files_read(path, (size_t)1 << 30, &data, &size) != CORE_OK) return false;

  uint64_t row = 0;
  if (size >= sizeof row) memcpy(&row, data, sizeof row);
  const bool is_valid = row == sizeof(SlurmTask) && (size - sizeof row) % sizeof(SlurmTask) == 0;
  if (is_valid) {
    tasks->count = tasks->capacity = (size - sizeof row) / sizeof(SlurmTask);
    tasks->rows = core_memory_allocate((tasks->count + 1) * sizeof *tasks->rows);
    memcpy(tasks->rows, data + sizeof row, tasks->count * sizeof *tasks->rows);
  }

  free(data);
  return is_valid;
}

/* Writes the file. The cache only saves time, so errors are ignored. */
static void write_cache(const char *path, const SlurmTasks *tasks) {
  char directory[CORE_PATH_MAX], temporary[CORE_PATH_MAX];
  const uint64_t row = sizeof(SlurmTask);
  if (core_files_path(directory, "%.*s", (int)(strrchr(path, '/') - path), path) != CORE_OK ||
      core_files_make_directories(directory) != CORE_OK ||
      core_files_path(temporary, "%s.%ld", path, (long)getpid()) != CORE_OK)
    return;
  FILE *file = fopen(temporary, "we");
  if (!file) return;
  bool ok = fwrite(&row, sizeof row, 1, file) == 1;
  if (tasks->count > 0) ok &= fwrite(tasks->rows, sizeof *tasks->rows, tasks->count, file) == tasks->count;
  ok = fclose(file) == 0 && ok;
  if (!ok || rename(temporary, path) != 0) unlink(temporary);
}

void sweep_cluster_status_clear_cache(void) { /* keeps core_error: callers may be returning an error */
  char path[CORE_PATH_MAX];
  if (!cache_path(&(SlurmSelection){0}, path)) return;
  *strrchr(path, '/') = '\0';
  DIR *directory = opendir(path);
  for (const struct dirent *entry; directory && (entry = readdir(directory));)
    if (strncmp(entry->d_name, "queue-", 6) == 0) unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory) closedir(directory);
}

int sweep_cluster_status_query(const SlurmSelection *selection, double max_age_s, SlurmTasks *tasks) {
  char path[CORE_PATH_MAX];
  SlurmCluster *cluster;
  const bool has_cache = cache_path(selection, path);
  *tasks = (SlurmTasks){0};
  if (has_cache && read_cache(path, max_age_s, tasks)) return CORE_OK;
  TRY(slurm_cluster_open("auto", &cluster, NULL));
  const int code = slurm_list(cluster, selection, tasks);
  slurm_cluster_close(&cluster);
  if (code != CORE_OK) slurm_tasks_free(tasks);
  else if (has_cache && max_age_s > 0) write_cache(path, tasks);
  return code;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Appends "12 running, 30 queued" without zeros; "8 of 8 failed" if all runs share a condition that needs
 * attention. */
static void append_counts(const SweepProgress *progress, const SweepClusterStatus *cluster, CoreText *text) {
  static const SweepCondition order[] = {
      SWEEP_FINISHED,     SWEEP_STOPPED_BY_RULE, SWEEP_RUNNING,       SWEEP_STARTING, SWEEP_SUSPENDED,
      SWEEP_QUEUED,       SWEEP_HELD,            SWEEP_NOT_SUBMITTED, SWEEP_STOPPED,  SWEEP_CANCELLED,
      SWEEP_LOST,         SWEEP_ORPHANED,        SWEEP_NODE_FAILURE,  SWEEP_TIME_LIMIT,
      SWEEP_OUT_OF_MEMORY, SWEEP_FAILED,         SWEEP_DIVERGED};
  const size_t all = progress->runs - progress->absent;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    const size_t count = cluster->count[order[i]];
    if (count == 0) continue;
    core_text_append(text, text->length ? ", " : "");
    if (count == all && sweep_condition_needs_attention(order[i])) core_text_appendf(text, "%zu of ", all);
    core_text_appendf(text, "%zu %s", count, sweep_condition_name(order[i]));
  }
  sweep_progress_append_absent(progress, text);
}

/* Appends a line per reason to wait, with the number of runs. */
static void draw_waiting(const SweepProgress *progress, const SweepClusterStatus *cluster, CoreText *text) {
  struct {
    const char *text;
    SweepCondition condition;
    size_t count;
  } reasons[REASONS_MAX];
  size_t count = 0, others = 0;

  for (size_t i = 0; i < progress->runs; i++) {
    const SweepRunStatus *status = &cluster->run[i];
    const bool waits = status->condition == SWEEP_QUEUED || status->condition == SWEEP_HELD ||
                       status->condition == SWEEP_SUSPENDED;
    if (!waits) continue;

    const size_t length = strcspn(status->text, ";");
    size_t k = 0;
    while (k < count &&
           (strncmp(reasons[k].text, status->text, length) != 0 || reasons[k].condition != status->condition))
      k++;
    if (k < count) reasons[k].count++;
    else if (count == REASONS_MAX) others++;
    else {
      reasons[count].text = status->text;
      reasons[count].condition = status->condition;
      reasons[count++].count = 1;
    }
  }

  for (size_t k = 0; k < count; k++)
    core_text_appendf(text, "  %zu %s: %.*s\n", reasons[k].count, sweep_condition_name(reasons[k].condition),
                      (int)strcspn(reasons[k].text, ";"), reasons[k].text);
  if (others) core_text_appendf(text, "  %zu more wait for other reasons; --runs lists them\n", others);
}

bool sweep_cluster_status_needs_attention(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                          size_t index) {
  return !progress->run[index].is_absent && sweep_condition_needs_attention(cluster->run[index].condition);
}

void sweep_cluster_status_add_failures(const SweepProgress *progress, const SweepClusterStatus *cluster,
                                       SweepFailures *failures) {
  for (size_t i = 0; i < progress->runs; i++)
    if (sweep_cluster_status_needs_attention(progress, cluster, i))
      sweep_failures_add(failures, sweep_condition_name(cluster->run[i].condition), cluster->run[i].text, i);
}

void sweep_cluster_status_mark_absent(const bool *flags, SweepProgress *progress, SweepClusterStatus *cluster) {
  bool *is_absent = core_memory_zero_allocate(progress->runs + 1, sizeof *is_absent);
  for (size_t i = 0; i < progress->runs; i++) {
    const SweepCondition condition = cluster->run[i].condition;
    is_absent[i] = flags[i] && (condition == SWEEP_NOT_SUBMITTED || sweep_condition_needs_attention(condition));
  }
  sweep_progress_mark_absent(progress, is_absent);
  for (size_t i = 0; i < progress->runs; i++)
    if (progress->run[i].is_absent) cluster->count[cluster->run[i].condition]--;
  free(is_absent);
}

void sweep_cluster_status_set_expected(const SweepClusterStatus *cluster, SweepProgress *progress) {
  bool *expected = core_memory_zero_allocate(progress->runs + 1, sizeof *expected);
  for (size_t i = 0; i < progress->runs; i++)
    expected[i] = cluster->run[i].condition == SWEEP_QUEUED || cluster->run[i].condition == SWEEP_STARTING;
  sweep_progress_set_expected(progress, expected);
  free(expected);
}

void sweep_cluster_status_draw(const SweepProgress *progress, const SweepClusterStatus *cluster, CoreText *text) {
  CoreText counts = {0};
  append_counts(progress, cluster, &counts);
  sweep_progress_draw_bar(progress, core_text_string(&counts), text);
  core_text_free(&counts);
  if (cluster->is_stale) core_text_appendf(text, "  Slurm does not answer: %s\n", cluster->problem);
  sweep_progress_draw_running(progress, text);
  draw_waiting(progress, cluster, text);
}
