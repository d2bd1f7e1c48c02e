/* Who is the last one? Asking every run's state at every end would cost ten thousand times ten thousand opens. So each
 * end appends bytes to sweeps/<name>/ended, one a run; only who finds as many as there are runs looks at all states,
 * and when some have not ended after all (retries, runs shared with another sweep) cuts the file to the number that
 * have. */
#include "sweep/local/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/http.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/manifest.h"

/* ---- the message ------------------------------------------------------------------------------------------------- */

static void describe(const SweepNews *news, CoreText *text) {
  if (strcmp(news->event, "test") == 0) core_text_appendf(text, "sweep doctor: this is a test");
  else if (strcmp(news->event, "failure") == 0) core_text_appendf(text, "sweep %s: a run failed", news->sweep);
  else {
    core_text_appendf(text, "sweep %s has ended: %zu of %zu runs finished", news->sweep, news->finished, news->runs);
    if (news->failed) core_text_appendf(text, ", %zu failed", news->failed);
    if (news->diverged) core_text_appendf(text, ", %zu diverged", news->diverged);
  }
}

static char *make_body(const SlurmSite *site, const SweepNews *news, const char *title) {
  CoreText text = {0};
  json_t *json = NULL;
  core_text_appendf(&text, "%s%s%s", title, *news->message ? "\n" : "", news->message);
  if (!core_text_is_utf8(core_text_string(&text))) core_text_clear(&text), core_text_append(&text, title);
  if (strcmp(site->notify_style, "slack") == 0) json = json_pack("{s:s}", "text", core_text_string(&text));
  else if (strcmp(site->notify_style, "plain") == 0)
    json = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "sweep", news->sweep, "event", news->event, "runs",
                     (json_int_t)news->runs, "finished", (json_int_t)news->finished, "failed", (json_int_t)news->failed,
                     "diverged", (json_int_t)news->diverged, "message", core_text_string(&text));
  char *body = json ? json_dumps(json, JSON_COMPACT) : core_text_duplicate(*news->message ? news->message : title);
  json_decref(json);
  core_text_free(&text);
  return body;
}

int sweep_notify_send(const SlurmSite *site, const SweepNews *news) {
  const bool is_ntfy = strcmp(site->notify_style, "ntfy") == 0,
             good = news->failed == 0 && strcmp(news->event, "failure") != 0;
  CoreText title = {0}, title_header = {0};
  CoreHttpAnswer answer = {0};
  CoreHttp *http;
  char host[CORE_HTTP_HOST];
  TRY(core_http_open(&http));
  describe(news, &title);
  core_text_appendf(&title_header, "Title: %s", core_text_string(&title));
  const char *const ntfy[] = {core_text_string(&title_header), good ? "Tags: white_check_mark" : "Tags: x", NULL},
                    *const json[] = {"Content-Type: application/json", NULL};
  char *body = make_body(site, news, core_text_string(&title));
  const CoreHttpRequest request = {.method = "POST",
                                   .url = site->notify_url,
                                   .headers = is_ntfy ? ntfy : json,
                                   .body = body,
                                   .timeout_s = SWEEP_NOTIFY_S,
                                   .answer_max = 1 << 20};
  int code = core_http_send(http, &request, &answer, NULL);
  if (code == CORE_OK && (answer.status < 200 || answer.status > 299))
    code =
      core_error(CORE_FAIL, "%s answered with HTTP status %d", core_http_host(site->notify_url, host), answer.status);
  free(body);
  core_text_free(&answer.body);
  core_text_free(&title);
  core_text_free(&title_header);
  core_http_close(&http);
  return code;
}

/* ---- who tells, and when ----------------------------------------------------------------------------------------- */

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
  if (!*site.notify_url || strcmp(site.notify_on, "never") == 0) return;
  const bool both = strcmp(site.notify_on, "both") == 0;
  if (failure && (both || strcmp(site.notify_on, "failure") == 0) && is_first(root, name, "told.failure"))
    tell(&site, &(SweepNews){.sweep = name, .event = "failure", .failed = 1, .message = failure});
  if ((both || strcmp(site.notify_on, "end") == 0) && tell_of_end(root, &site, name, ended) != CORE_OK)
    core_warn("nobody is told of the end: %s", core_error_message());
}
