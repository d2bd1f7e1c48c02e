/* Formats and sends notifications, and determines when a sweep has ended.
 *
 * Reading every run's state after each end would take 10^8 file accesses for ten thousand runs. So each end appends a
 * byte per run to sweeps/<name>/ended, as does a submission for runs that are not pending. Only the process that finds
 * as many bytes as there are runs reads all states. If some runs have not ended after all (retries, runs shared with
 * another sweep), it truncates the file to the number that have. No shell reads any text of a notification. */
#include "sweep/local/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/http.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

extern char **environ;
enum { ARGUMENTS_MAX = 64, VARIABLES = 6 };

/* ---- the message ------------------------------------------------------------------------------------------------- */

static void append_title(const SweepNotification *notification, CoreText *text) {
  if (strcmp(notification->event, "test") == 0) {
    core_text_append(text, "sweep doctor: this is a test");
  } else if (strcmp(notification->event, "failure") == 0) {
    core_text_appendf(text, "sweep %s: a run failed", notification->sweep);
  } else {
    core_text_appendf(text, "sweep %s has ended: %zu of %zu runs finished", notification->sweep,
                      notification->finished, notification->runs);
    if (notification->failed) core_text_appendf(text, ", %zu failed", notification->failed);
    if (notification->diverged) core_text_appendf(text, ", %zu diverged", notification->diverged);
  }
}

/* Makes the body of a webhook's request, in the site's style. */
static char *make_body(const SlurmSite *site, const SweepNotification *notification, const char *title) {
  CoreText text = {0};
  json_t *json = NULL;
  core_text_appendf(&text, "%s%s%s", title, *notification->message ? "\n" : "", notification->message);
  if (!core_text_is_utf8(core_text_string(&text))) {
    core_text_clear(&text);
    core_text_append(&text, title);
  }

  if (strcmp(site->notify_style, "slack") == 0) json = json_pack("{s:s}", "text", core_text_string(&text));
  else if (strcmp(site->notify_style, "plain") == 0)
    json = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "sweep", notification->sweep, "event",
                     notification->event, "runs", (json_int_t)notification->runs, "finished",
                     (json_int_t)notification->finished, "failed", (json_int_t)notification->failed, "diverged",
                     (json_int_t)notification->diverged, "message", core_text_string(&text));

  char *body = json ? json_dumps(json, JSON_COMPACT)
                    : core_text_duplicate(*notification->message ? notification->message : title);
  json_decref(json);
  core_text_free(&text);
  return body;
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static int send_to_webhook(const SlurmSite *site, const SweepNotification *notification) {
  const bool is_ntfy = strcmp(site->notify_style, "ntfy") == 0;
  const bool is_success = notification->failed == 0 && strcmp(notification->event, "failure") != 0;
  CoreText title = {0}, title_header = {0};
  CoreHttpAnswer answer = {0};
  CoreHttp *http;
  char host[CORE_HTTP_HOST];

  TRY(core_http_open(&http));
  append_title(notification, &title);
  core_text_appendf(&title_header, "Title: %s", core_text_string(&title));

  const char *const ntfy[] = {core_text_string(&title_header), is_success ? "Tags: white_check_mark" : "Tags: x", NULL},
                    *const json[] = {"Content-Type: application/json", NULL};
  char *body = make_body(site, notification, core_text_string(&title));
  const CoreHttpRequest request = {.method = "POST",
                                   .url = site->notify_url,
                                   .headers = is_ntfy ? ntfy : json,
                                   .body = body,
                                   .timeout_s = SWEEP_NOTIFY_S,
                                   .answer_max = 1 << 20};

  int code = core_http_send(http, &request, &answer, NULL);
  if (code == CORE_OK && (answer.status < 200 || answer.status > 299))
    code = core_error(CORE_FAIL, "%s: HTTP status %d", core_http_host(site->notify_url, host), answer.status);
  free(body);
  core_text_free(&answer.body);
  core_text_free(&title);
  core_text_free(&title_header);
  core_http_close(&http);
  return code;
}

/* Runs a program. CORE_FAIL: it failed; the message has the first line of its standard error. environment: as in
 * core_process_run. */
static int run_program(const char *const *arguments, char *const *environment, const char *input) {
  CoreProcessOutput output;
  TRY(core_process_run(arguments, environment, input, SWEEP_NOTIFY_S, &output));
  int code = CORE_OK;
  char message[200];
  snprintf(message, sizeof message, "%.*s", (int)strcspn(core_text_string(&output.error), "\n"),
           core_text_string(&output.error));
  if (output.timed_out) code = core_error(CORE_FAIL, "%s: timed out after %d seconds", arguments[0], SWEEP_NOTIFY_S);
  else if (output.exit_code != 0)
    code = core_error(CORE_FAIL, "%s: exit code %d%s%s", arguments[0], output.exit_code, *message ? ": " : "",
                      message);
  core_process_output_free(&output);
  return code;
}

/* Appends title and message, a line each. */
static void append_text(const SweepNotification *notification, CoreText *text) {
  append_title(notification, text);
  core_text_appendf(text, "\n%s%s", notification->message, *notification->message ? "\n" : "");
}

static void add_variable(char **environment, size_t *count, const char *name, const char *value) {
  CoreText text = {0};
  core_text_appendf(&text, "%s=%s", name, value);
  environment[(*count)++] = text.data;
}

static bool is_replaced(const char *variable, char *const *added) {
  for (size_t i = 0; i < VARIABLES; i++)
    if (strncmp(variable, added[i], strcspn(added[i], "=") + 1) == 0) return true;
  return false;
}

/* Makes an environment with SWEEP_EVENT etc. before the inherited variables. The caller frees the first VARIABLES
 * strings and the array. */
static char **make_environment(const SweepNotification *notification) {
  const struct { const char *name; size_t value; } counts[] = {
    {"SWEEP_RUNS", notification->runs},
    {"SWEEP_FINISHED", notification->finished},
    {"SWEEP_FAILED", notification->failed},
    {"SWEEP_DIVERGED", notification->diverged}};
  size_t count = 0, inherited = 0;
  while (environ[inherited]) inherited++;
  char **environment = core_memory_allocate((VARIABLES + inherited + 1) * sizeof *environment), count_text[32];

  add_variable(environment, &count, "SWEEP_EVENT", notification->event);
  add_variable(environment, &count, "SWEEP_NAME", notification->sweep);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    snprintf(count_text, sizeof count_text, "%zu", counts[i].value);
    add_variable(environment, &count, counts[i].name, count_text);
  }
  CORE_CHECK(count == VARIABLES);

  for (char **variable = environ; *variable; variable++)
    if (!is_replaced(*variable, environment)) environment[count++] = *variable;
  environment[count] = NULL;
  return environment;
}

static int send_to_command(const SlurmSite *site, const SweepNotification *notification) {
  const char *arguments[ARGUMENTS_MAX + 1] = {NULL};
  char *line = core_text_duplicate(site->notify_command), *save = NULL;
  CoreText text = {0};
  size_t count = 0;
  char *argument = strtok_r(line, " \t", &save);
  for (; argument && count < ARGUMENTS_MAX; argument = strtok_r(NULL, " \t", &save)) arguments[count++] = argument;
  append_text(notification, &text);
  char **environment = make_environment(notification);
  const int code = run_program(arguments, environment, core_text_string(&text));
  for (size_t i = 0; i < VARIABLES; i++) free(environment[i]);
  free(environment);
  core_text_free(&text);
  free(line);
  return code;
}

/* Finds sendmail, whose directory may not be in PATH; NULL: not found. */
static const char *find_sendmail(void) {
  static const char *const paths[] = {"/usr/sbin/sendmail", "/usr/lib/sendmail"};
  if (core_process_exists("sendmail")) return "sendmail";
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (access(paths[i], X_OK) == 0) return paths[i];
  return NULL;
}

/* Sends mail through sendmail. No header can be injected: slurm/site.c checked the address, and a sweep's name contains
 * no newline. */
static int send_mail(const SlurmSite *site, const SweepNotification *notification) {
  CoreText mail = {0};
  const char *program = find_sendmail();
  if (!program)
    return core_error(CORE_FAIL, "sendmail is neither in PATH nor in /usr/sbin; install it or use another channel");
  const char *const arguments[] = {program, "-i", site->notify_mail, NULL};
  core_text_appendf(&mail, "To: %s\nSubject: ", site->notify_mail);
  append_title(notification, &mail);
  core_text_append(&mail, "\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                          "Content-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\n");
  append_text(notification, &mail);
  const int code = run_program(arguments, NULL, core_text_string(&mail));
  core_text_free(&mail);
  return code;
}

int sweep_notify_send(const SlurmSite *site, const SweepNotification *notification) {
  const struct {
    const char *name, *setting;
    int (*send)(const SlurmSite *site, const SweepNotification *notification);
  } channels[] = {
    {"webhook", site->notify_url, send_to_webhook},
    {"command", site->notify_command, send_to_command},
    {"mail", site->notify_mail, send_mail}};
  CoreText problems = {0};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
    if (*channels[i].setting && channels[i].send(site, notification) != CORE_OK)
      core_text_appendf(&problems, "%s%s: %s", problems.length ? "; " : "", channels[i].name, core_error_message());
  const int code = problems.length ? core_error(CORE_FAIL, "%s", core_text_string(&problems)) : CORE_OK;
  core_text_free(&problems);
  return code;
}

void sweep_notify_append_channels(const SlurmSite *site, CoreText *text) {
  char host[CORE_HTTP_HOST];
  if (*site->notify_url)
    core_text_appendf(text, "%s, %s", core_http_host(site->notify_url, host), site->notify_style);
  if (*site->notify_command)
    core_text_appendf(text, "%s%.*s", text->length ? "; " : "", (int)strcspn(site->notify_command, " \t"),
                      site->notify_command);
  if (*site->notify_mail) core_text_appendf(text, "%smail to %s", text->length ? "; " : "", site->notify_mail);
}

/* ---- the end of a sweep ------------------------------------------------------------------------------------------ */

static bool has_channel(SlurmSite *site) {
  SlurmSettings settings = slurm_settings_default();
  if (slurm_site_apply(&settings, site) == CORE_OK) return slurm_site_notifies(site);
  core_warn("no notification is sent: %s", core_error_message());
  return false;
}

/* Whether [notify] `on` includes the event: "end" or "failure". */
static bool is_enabled(const SlurmSite *site, const char *event) {
  return strcmp(site->notify_on, "both") == 0 || strcmp(site->notify_on, event) == 0;
}

/* Creates a marker file. Returns false if it exists, i.e. another process has sent the notification. */
static bool claim_marker(const char *root, const char *name, const char *marker) {
  char path[CORE_PATH_MAX];
  if (store_path_sweep(root, name, marker, path) != CORE_OK) return false;
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static void remove_marker(const char *root, const char *name, const char *marker) {
  char path[CORE_PATH_MAX];
  if (store_path_sweep(root, name, marker, path) != CORE_OK || core_files_remove(path) != CORE_OK) core_error_clear();
}

static void send_or_warn(const SlurmSite *site, const SweepNotification *notification) {
  if (sweep_notify_send(site, notification) != CORE_OK)
    core_warn("the notification of the %s was not sent: %s", notification->event, core_error_message());
}

/* Appends `count` bytes to the file of ends. */
static bool append_ends(int fd, size_t count) {
  char *bytes = core_memory_allocate(count + 1);
  memset(bytes, '.', count);
  const ssize_t written = write(fd, bytes, count);
  free(bytes);
  return written == (ssize_t)count;
}

void sweep_notify_reset(const char *root, const char *name, size_t not_pending) {
  char path[CORE_PATH_MAX];
  struct stat status;
  SlurmSite site;
  int fd;
  remove_marker(root, name, "told.end");
  remove_marker(root, name, "told.failure");
  if (not_pending == 0 || !has_channel(&site) || store_path_sweep(root, name, "ended", path) != CORE_OK) return;
  const int code = core_files_open(path, CORE_FILES_APPEND, &fd);
  bool ok = code == CORE_OK && fstat(fd, &status) == 0;
  /* Append, since runs may end meanwhile: excess bytes only cost a read of all states. */
  if (ok && status.st_size < (off_t)not_pending) ok = append_ends(fd, not_pending - (size_t)status.st_size);
  if (code == CORE_OK) close(fd);
  if (!ok) core_warn("sweeps/%s/ended: cannot write; the end of the sweep may not be notified", name);
}

/* Counts ended runs. *may_be_all: as many have ended as there are. The caller closes *fd if it is not negative. */
static int count_ends(const char *root, const char *name, size_t ended, size_t runs, int *fd, bool *may_be_all) {
  char path[CORE_PATH_MAX];
  struct stat status;
  TRY(store_path_sweep(root, name, "ended", path));
  TRY(core_files_open(path, CORE_FILES_APPEND, fd));
  *may_be_all = append_ends(*fd, ended) && fstat(*fd, &status) == 0 && status.st_size >= (off_t)runs;
  return CORE_OK;
}

/* Adds the runs of the sweep's file as last submitted; none if it cannot be read. */
static void add_submitted(const char *root, const char *name, SweepIdSet *submitted) {
  SweepSpec spec;
  SweepGrid grid;
  if (sweep_common_frozen(root, name, &spec) == CORE_OK) {
    if (sweep_grid_expand(&spec, &grid) == CORE_OK) {
      sweep_id_set_add_all(submitted, (const char(*)[CORE_RUN_ID])grid.ids, grid.runs);
      sweep_grid_free(&grid);
    }
    sweep_spec_free(&spec);
  }
  core_error_clear();
}

/* Reads all states. *pending: number of runs that have not ended, without those that a changed file has dropped. */
static int count_states(const char *root, const SweepManifest *manifest, SweepNotification *notification,
                        size_t *pending) {
  SweepIdSet submitted = {0};
  int code = CORE_OK;
  *pending = 0;

  for (size_t i = 0; i < manifest->count; i++) {
    if (code != CORE_OK) break;
    StoreState state;
    code = store_run_state_read(root, manifest->ids[i], true, &state);
    notification->finished += state.status == STORE_FINISHED;
    notification->failed += state.status == STORE_FAILED;
    notification->diverged += state.status == STORE_DIVERGED;

    if (state.status == STORE_FINISHED || state.status == STORE_FAILED || state.status == STORE_DIVERGED ||
        state.status == STORE_STOPPED_BY_RULE)
      continue;
    if (submitted.count == 0) add_submitted(root, manifest->name, &submitted);
    *pending += state.status == STORE_RUNNING || submitted.count == 0 ||
                sweep_id_set_find(&submitted, manifest->ids[i], NULL);
  }
  sweep_id_set_free(&submitted);
  return code;
}

/* Sends the notification of the end if all runs have ended; otherwise corrects the file of ends. */
static int end_sweep(const char *root, const SlurmSite *site, const SweepManifest *manifest, int fd) {
  SweepNotification notification = {.sweep = manifest->name, .event = "end", .runs = manifest->count, .message = ""};
  size_t pending;
  TRY(count_states(root, manifest, &notification, &pending));
  if (pending == 0) {
    if (claim_marker(root, manifest->name, "told.end")) send_or_warn(site, &notification);
  } else if (ftruncate(fd, (off_t)(manifest->count - pending)) < 0) {
    core_warn("sweeps/%s/ended: %s", manifest->name, strerror(errno));
  }
  return CORE_OK;
}

static int record_ends(const char *root, const SlurmSite *site, const char *name, size_t ended) {
  SweepManifest manifest;
  int fd = -1;
  bool may_be_all = false;
  TRY(sweep_manifest_read(root, name, &manifest));
  int code = count_ends(root, name, ended, manifest.count, &fd, &may_be_all);
  if (code == CORE_OK && may_be_all) code = end_sweep(root, site, &manifest, fd);
  if (fd >= 0) close(fd);
  sweep_manifest_free(&manifest);
  return code;
}

void sweep_notify_runs_ended(const char *root, const char *name, size_t ended, const char *failure) {
  SlurmSite site;
  if (ended == 0 || !has_channel(&site)) return;
  if (failure && is_enabled(&site, "failure") && claim_marker(root, name, "told.failure"))
    send_or_warn(&site, &(SweepNotification){.sweep = name, .event = "failure", .failed = 1, .message = failure});
  if (is_enabled(&site, "end") && record_ends(root, &site, name, ended) != CORE_OK)
    core_warn("the end of the sweep cannot be notified: %s", core_error_message());
}

/* Finds the reason of the first run, by index, that has failed or diverged; "": none. */
static void find_reason(const char *root, const char *name, char *reason, size_t size) {
  SweepManifest manifest;
  *reason = '\0';
  if (sweep_manifest_read(root, name, &manifest) != CORE_OK) return;
  for (size_t i = 0; i < manifest.count && !*reason; i++) {
    StoreState state;
    if (store_run_state_read(root, manifest.ids[i], true, &state) != CORE_OK) continue;
    if (store_status_is_broken(state.status))
      snprintf(reason, size, "%s/%zu (%s): %s", name, i, manifest.ids[i],
               *state.message ? state.message : store_status_name(state.status));
  }
  sweep_manifest_free(&manifest);
}

void sweep_notify_run_failed(const char *root, const char *name) {
  SlurmSite site;
  char reason[700];
  if (!has_channel(&site) || !is_enabled(&site, "failure") || !claim_marker(root, name, "told.failure")) return;
  find_reason(root, name, reason, sizeof reason);
  send_or_warn(&site, &(SweepNotification){.sweep = name, .event = "failure", .failed = 1, .message = reason});
}
