/* What is said of a sweep, and the ways it goes: a webhook, a program of the user's, the system's sendmail. No shell
 * reads any of it, and each way has SWEEP_NOTIFY_S seconds. */
#include "core/json.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/http.h"
#include "core/memory.h"
#include "core/process.h"
#include "sweep/local/notify.h"

extern char **environ;
enum { WORDS_MAX = 64, FACTS = 6 };

/* ---- the message ------------------------------------------------------------------------------------------------- */

static void describe(const SweepNotification *news, CoreText *text) {
  if (strcmp(news->event, "test") == 0) core_text_appendf(text, "sweep doctor: this is a test");
  else if (strcmp(news->event, "failure") == 0) core_text_appendf(text, "sweep %s: a run failed", news->sweep);
  else {
    core_text_appendf(text, "sweep %s has ended: %zu of %zu runs finished", news->sweep, news->finished, news->runs);
    if (news->failed) core_text_appendf(text, ", %zu failed", news->failed);
    if (news->diverged) core_text_appendf(text, ", %zu diverged", news->diverged);
  }
}

static char *make_body(const SlurmSite *site, const SweepNotification *news, const char *title) {
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

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

static int send_to_webhook(const SlurmSite *site, const SweepNotification *news) {
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

/* Runs a program and says what was wrong with it; `environment` as core_process_run has it. */
static int run(const char *const *words, char *const *environment, const char *input) {
  CoreProcessOutput output;
  TRY(core_process_run(words, environment, input, SWEEP_NOTIFY_S, &output));
  int code = CORE_OK;
  char said[200];
  snprintf(said, sizeof said, "%.*s", (int)strcspn(core_text_string(&output.error), "\n"),
           core_text_string(&output.error));
  if (output.timed_out) code = core_error(CORE_FAIL, "%s was ended after %d seconds", words[0], SWEEP_NOTIFY_S);
  else if (output.exit_code != 0)
    code = core_error(CORE_FAIL, "%s ended with exit code %d%s%s", words[0], output.exit_code, *said ? ": " : "", said);
  core_process_output_free(&output);
  return code;
}

/* Title and message, a line each, for people. */
static void append_words(const SweepNotification *news, CoreText *text) {
  describe(news, text);
  core_text_appendf(text, "\n%s%s", news->message, *news->message ? "\n" : "");
}

static void add_fact(char **environment, size_t *count, const char *name, const char *value) {
  CoreText text = {0};
  core_text_appendf(&text, "%s=%s", name, value);
  environment[(*count)++] = text.data;
}

static bool is_fact(const char *variable, char *const *facts) {
  for (size_t i = 0; i < FACTS; i++)
    if (strncmp(variable, facts[i], strcspn(facts[i], "=") + 1) == 0) return true;
  return false;
}

/* SWEEP_EVENT and the like, then the environment without them. The first FACTS are to be freed, and the array. */
static char **make_environment(const SweepNotification *news) {
  const struct { const char *name; size_t value; } counts[] = {
    {"SWEEP_RUNS", news->runs}, {"SWEEP_FINISHED", news->finished}, {"SWEEP_FAILED", news->failed},
    {"SWEEP_DIVERGED", news->diverged}};
  size_t count = 0, inherited = 0;
  while (environ[inherited]) inherited++;
  char **environment = core_memory_allocate((FACTS + inherited + 1) * sizeof *environment), number[32];
  add_fact(environment, &count, "SWEEP_EVENT", news->event);
  add_fact(environment, &count, "SWEEP_NAME", news->sweep);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    snprintf(number, sizeof number, "%zu", counts[i].value);
    add_fact(environment, &count, counts[i].name, number);
  }
  CORE_CHECK(count == FACTS);
  for (char **variable = environ; *variable; variable++)
    if (!is_fact(*variable, environment)) environment[count++] = *variable;
  environment[count] = NULL;
  return environment;
}

static int send_to_command(const SlurmSite *site, const SweepNotification *news) {
  const char *words[WORDS_MAX + 1] = {NULL};
  char *line = core_text_duplicate(site->notify_command), *save = NULL;
  CoreText text = {0};
  size_t count = 0;
  for (char *word = strtok_r(line, " \t", &save); word && count < WORDS_MAX; word = strtok_r(NULL, " \t", &save))
    words[count++] = word;
  append_words(news, &text);
  char **environment = make_environment(news);
  const int code = run(words, environment, core_text_string(&text));
  for (size_t i = 0; i < FACTS; i++) free(environment[i]);
  free(environment);
  core_text_free(&text);
  free(line);
  return code;
}

/* Not every PATH has the folders of sendmail. */
static const char *find_sendmail(void) {
  static const char *const places[] = {"/usr/sbin/sendmail", "/usr/lib/sendmail"};
  if (core_process_exists("sendmail")) return "sendmail";
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (access(places[i], X_OK) == 0) return places[i];
  return NULL;
}

/* The address has been checked (slurm/site.c); a sweep's name holds no new line. */
static int send_mail(const SlurmSite *site, const SweepNotification *news) {
  CoreText mail = {0};
  const char *program = find_sendmail();
  if (!program) return core_error(CORE_FAIL, "there is no sendmail here, in PATH or /usr/sbin");
  const char *const words[] = {program, "-i", site->notify_mail, NULL};
  core_text_appendf(&mail, "To: %s\nSubject: ", site->notify_mail);
  describe(news, &mail);
  core_text_append(&mail, "\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                          "Content-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\n");
  append_words(news, &mail);
  const int code = run(words, NULL, core_text_string(&mail));
  core_text_free(&mail);
  return code;
}

int sweep_notify_send(const SlurmSite *site, const SweepNotification *news) {
  const struct {
    const char *name, *given;
    int (*send)(const SlurmSite *site, const SweepNotification *news);
  } ways[] = {
    {"webhook", site->notify_url, send_to_webhook},
    {"command", site->notify_command, send_to_command},
    {"mail", site->notify_mail, send_mail}};
  CoreText problems = {0};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
    if (*ways[i].given && ways[i].send(site, news) != CORE_OK)
      core_text_appendf(&problems, "%s%s: %s", problems.length ? "; " : "", ways[i].name, core_error_message());
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
