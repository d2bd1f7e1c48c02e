/* Who is the last one? Asking every run's state at every end would cost ten thousand times ten thousand opens. So each
 * end appends bytes to sweeps/<name>/ended, one a run; only who finds as many as there are runs looks at all states,
 * and when some have not ended after all (retries, runs shared with another sweep) cuts the file to the number that
 * have. What is said, and how it gets there, is notify_send.c's. */
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
#include "sweep/spec/manifest.h"

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

void sweep_notify_begin(const char *root, const char *name) {
  forget(root, name, "told.end");
  forget(root, name, "told.failure");
}

static void tell(const SlurmSite *site, const SweepNews *news) {
  if (sweep_notify_send(site, news) != CORE_OK)
    core_warn("nobody could be told of the %s: %s", news->event, core_error_message());
}

/* Counts ends; true when there have been as many as runs. */
static int count_ends(const char *root, const char *name, size_t ended, size_t runs, int *fd, bool *perhaps) {
  char path[CORE_PATH_MAX];
  struct stat status;
  TRY(store_path_sweep(root, name, "ended", path));
  TRY(core_files_open(path, CORE_FILES_APPEND, fd));
  char *bytes = core_memory_allocate(ended + 1);
  memset(bytes, '.', ended);
  const ssize_t put = write(*fd, bytes, ended);
  free(bytes);
  *perhaps = put == (ssize_t)ended && fstat(*fd, &status) == 0 && status.st_size >= (off_t)runs;
  return CORE_OK;
}

static int look_at_all(const char *root, const SweepManifest *manifest, SweepNews *news, size_t *left) {
  *left = 0;
  for (size_t i = 0; i < manifest->count; i++) {
    StoreState state;
    TRY(store_run_state_read(root, manifest->ids[i], true, &state));
    news->finished += state.status == STORE_FINISHED, news->failed += state.status == STORE_FAILED,
      news->diverged += state.status == STORE_DIVERGED;
    *left += state.status != STORE_FINISHED && state.status != STORE_FAILED && state.status != STORE_DIVERGED &&
             state.status != STORE_STOPPED_BY_RULE;
  }
  return CORE_OK;
}

static int tell_of_end(const char *root, const SlurmSite *site, const char *name, size_t ended) {
  SweepManifest manifest;
  int fd = -1;
  bool perhaps = false;
  size_t left;
  TRY(sweep_manifest_read(root, name, &manifest));
  SweepNews news = {.sweep = name, .event = "end", .runs = manifest.count, .message = ""};
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

void sweep_notify_ended(const char *root, const char *name, size_t ended, const char *failure) {
  SlurmSettings settings = slurm_settings_default();
  SlurmSite site;
  if (ended == 0) return;
  if (slurm_site_apply(&settings, &site) != CORE_OK) {
    core_warn("nobody is told: %s", core_error_message());
    return;
  }
  if (!slurm_site_notifies(&site)) return;
  const bool both = strcmp(site.notify_on, "both") == 0;
  if (failure && (both || strcmp(site.notify_on, "failure") == 0) && is_first(root, name, "told.failure"))
    tell(&site, &(SweepNews){.sweep = name, .event = "failure", .failed = 1, .message = failure});
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

void sweep_notify_failed(const char *root, const char *name) {
  SlurmSettings settings = slurm_settings_default();
  SlurmSite site;
  char reason[700];
  if (slurm_site_apply(&settings, &site) != CORE_OK) {
    core_warn("nobody is told: %s", core_error_message());
    return;
  }
  const bool wanted = strcmp(site.notify_on, "both") == 0 || strcmp(site.notify_on, "failure") == 0;
  if (!slurm_site_notifies(&site) || !wanted || !is_first(root, name, "told.failure")) return;
  find_reason(root, name, reason, sizeof reason);
  tell(&site, &(SweepNews){.sweep = name, .event = "failure", .failed = 1, .message = reason});
}
