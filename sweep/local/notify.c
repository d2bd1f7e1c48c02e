/* Who is the last one? Asking every run's state at every end would cost ten thousand times ten thousand opens. So each
 * end appends bytes to sweeps/<name>/ended, one a run, and a submission for what is not to do; only who finds as many
 * as there are runs looks at all states, and when some have not ended after all (retries, runs shared with another
 * sweep) cuts the file to the number that have. What is said, and how it gets there, is notify_send.c's. */
#include "sweep/local/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

/* Creates a marker; false when it was there: somebody has told already. */
static bool is_first(const char *root, const char *name, const char *marker) {
  char path[CORE_PATH_MAX];
  if (store_path_sweep(root, name, marker, path) != CORE_OK) return false;
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static void forget(const char *root, const char *name, const char *marker) {
  char path[CORE_PATH_MAX];
  if (store_path_sweep(root, name, marker, path) == CORE_OK) unlink(path);
}

static bool is_anybody_told(SlurmSite *site) {
  SlurmSettings settings = slurm_settings_default();
  if (slurm_site_apply(&settings, site) == CORE_OK) return slurm_site_notifies(site);
  core_warn("nobody is told: %s", core_error_message());
  return false;
}

/* Appends to the file of ends. */
static bool append_ends(int fd, size_t count) {
  char *bytes = core_memory_allocate(count + 1);
  memset(bytes, '.', count);
  const ssize_t put = write(fd, bytes, count);
  free(bytes);
  return put == (ssize_t)count;
}

void sweep_notify_reset(const char *root, const char *name, size_t over) {
  char path[CORE_PATH_MAX];
  struct stat status;
  SlurmSite site;
  int fd;
  forget(root, name, "told.end");
  forget(root, name, "told.failure");
  if (over == 0 || !is_anybody_told(&site) || store_path_sweep(root, name, "ended", path) != CORE_OK) return;
  const int code = core_files_open(path, CORE_FILES_APPEND, &fd);
  bool good = code == CORE_OK && fstat(fd, &status) == 0;
  /* Appended, since runs may end meanwhile: too many only cost a look at all states. */
  if (good && status.st_size < (off_t)over) good = append_ends(fd, over - (size_t)status.st_size);
  if (code == CORE_OK) close(fd);
  if (!good) core_warn("sweeps/%s/ended cannot be written: perhaps nobody is told of the end", name);
}

static void tell(const SlurmSite *site, const SweepNotification *news) {
  if (sweep_notify_send(site, news) != CORE_OK)
    core_warn("nobody could be told of the %s: %s", news->event, core_error_message());
}

/* Counts ends; true when there have been as many as runs. */
static int count_ends(const char *root, const char *name, size_t ended, size_t runs, int *fd, bool *perhaps) {
  char path[CORE_PATH_MAX];
  struct stat status;
  TRY(store_path_sweep(root, name, "ended", path));
  TRY(core_files_open(path, CORE_FILES_APPEND, fd));
  *perhaps = append_ends(*fd, ended) && fstat(*fd, &status) == 0 && status.st_size >= (off_t)runs;
  return CORE_OK;
}

/* The runs of the file as it was submitted last; without it, none. */
static void find_present(const char *root, const char *name, SweepIdSet *present) {
  SweepSpec spec;
  SweepGrid grid;
  if (sweep_common_frozen(root, name, &spec) == CORE_OK) {
    if (sweep_grid_expand(&spec, &grid) == CORE_OK) {
      sweep_id_set_add_all(present, (const char(*)[CORE_RUN_ID])grid.ids, grid.runs);
      sweep_grid_free(&grid);
    }
    sweep_spec_free(&spec);
  }
  core_error_clear();
}

/* *left: those that have not ended and that somebody waits for, which is for none that a changed file has dropped. */
static int look_at_all(const char *root, const SweepManifest *manifest, SweepNotification *news, size_t *left) {
  SweepIdSet present = {0};
  int code = CORE_OK;
  *left = 0;
  for (size_t i = 0; i < manifest->count && code == CORE_OK; i++) {
    StoreState state;
    code = store_run_state_read(root, manifest->ids[i], true, &state);
    news->finished += state.status == STORE_FINISHED, news->failed += state.status == STORE_FAILED,
      news->diverged += state.status == STORE_DIVERGED;
    if (state.status == STORE_FINISHED || state.status == STORE_FAILED || state.status == STORE_DIVERGED ||
        state.status == STORE_STOPPED_BY_RULE)
      continue;
    if (present.count == 0) find_present(root, manifest->name, &present);
    *left += state.status == STORE_RUNNING || present.count == 0 ||
             sweep_id_set_find(&present, manifest->ids[i], NULL);
  }
  sweep_id_set_free(&present);
  return code;
}

static int tell_of_end(const char *root, const SlurmSite *site, const char *name, size_t ended) {
  SweepManifest manifest;
  int fd = -1;
  bool perhaps = false;
  size_t left;
  TRY(sweep_manifest_read(root, name, &manifest));
  SweepNotification news = {.sweep = name, .event = "end", .runs = manifest.count, .message = ""};
  int code = count_ends(root, name, ended, manifest.count, &fd, &perhaps);
  if (code == CORE_OK && perhaps && (code = look_at_all(root, &manifest, &news, &left)) == CORE_OK) {
    if (left > 0) {
      if (ftruncate(fd, (off_t)(manifest.count - left)) < 0) core_warn("sweeps/%s/ended: %s", name, strerror(errno));
    } else if (is_first(root, name, "told.end")) {
      tell(site, &news);
    }
  }
  if (fd >= 0) close(fd);
  sweep_manifest_free(&manifest);
  return code;
}

void sweep_notify_runs_ended(const char *root, const char *name, size_t ended, const char *failure) {
  SlurmSite site;
  if (ended == 0 || !is_anybody_told(&site)) return;
  const bool both = strcmp(site.notify_on, "both") == 0;
  if (failure && (both || strcmp(site.notify_on, "failure") == 0) && is_first(root, name, "told.failure"))
    tell(&site, &(SweepNotification){.sweep = name, .event = "failure", .failed = 1, .message = failure});
  if ((both || strcmp(site.notify_on, "end") == 0) && tell_of_end(root, &site, name, ended) != CORE_OK)
    core_warn("nobody is told of the end: %s", core_error_message());
}

/* The reason of the first run, by its place in the sweep, that has failed or diverged. */
static void find_reason(const char *root, const char *name, char *reason, size_t size) {
  SweepManifest manifest;
  *reason = '\0';
  if (sweep_manifest_read(root, name, &manifest) != CORE_OK) return;
  for (size_t i = 0; i < manifest.count && !*reason; i++) {
    StoreState state;
    if (store_run_state_read(root, manifest.ids[i], true, &state) != CORE_OK) continue;
    if (state.status == STORE_FAILED || state.status == STORE_DIVERGED)
      snprintf(reason, size, "%s/%zu (%s): %s", name, i, manifest.ids[i],
               *state.message ? state.message : store_status_name(state.status));
  }
  sweep_manifest_free(&manifest);
}

void sweep_notify_run_failed(const char *root, const char *name) {
  SlurmSite site;
  char reason[700];
  if (!is_anybody_told(&site)) return;
  const bool wanted = strcmp(site.notify_on, "both") == 0 || strcmp(site.notify_on, "failure") == 0;
  if (!wanted || !is_first(root, name, "told.failure")) return;
  find_reason(root, name, reason, sizeof reason);
  tell(&site, &(SweepNotification){.sweep = name, .event = "failure", .failed = 1, .message = reason});
}
