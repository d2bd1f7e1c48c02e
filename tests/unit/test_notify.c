/* Webhooks against a small web server: the three styles, which process reports a sweep's end and how often, and
 * servers that reject, close or stall. User programs and mail, with stand-ins on PATH. */
#include "test.h"

#include <jansson.h>
#include <sys/stat.h>

#include "core/http.h"
#include "core/terminal.h"
#include "http_server.h"
#include "store/workspace/run.h"
#include "sweep/local/notify.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"

static HttpReply next;
static char root[] = "/tmp/test_notify.XXXXXX", site_path[64];

static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) { *reply = next; }

static void start(HttpServer *server, const char *style, const char *on) {
  char site[512];
  next = (HttpReply){0};
  *server = (HttpServer){.answer = answer};
  http_server_start(server, NULL);
  snprintf(site, sizeof site, "[notify]\nurl = %s/services/SECRET\nstyle = %s\non = %s\n", server->url, style, on);
  assert_int_equal(core_files_write_atomic(site_path, site, strlen(site)), CORE_OK);
}

static void stop(HttpServer *server) {
  http_server_stop(server);
  http_server_forget(server);
}

static SlurmSite read_site(void) {
  SlurmSettings settings = slurm_settings_default();
  SlurmSite site;
  assert_int_equal(slurm_site_apply(&settings, &site), CORE_OK);
  return site;
}

static const SweepNotification news = {
  .sweep = "fig8", .event = "end", .runs = 10, .finished = 8, .failed = 2, .message = "loss is \"NaN\"\nat 7"};

static void test_styles(void **state) {
  HttpServer server;
  SlurmSite site;

  start(&server, "slack", "both");
  site = read_site();
  assert_int_equal(sweep_notify_send(&site, &news), CORE_OK);
  json_t *json = json_loads(server.calls[0].body, 0, NULL);
  assert_string_equal(server.calls[0].path, "/services/SECRET");
  assert_string_equal(json_string_value(json_object_get(json, "text")),
                      "sweep fig8 has ended: 8 of 10 runs finished, 2 failed\nloss is \"NaN\"\nat 7");
  json_decref(json);
  stop(&server);

  start(&server, "plain", "both");
  site = read_site();
  assert_int_equal(sweep_notify_send(&site, &news), CORE_OK);
  json = json_loads(server.calls[0].body, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(json, "failed")), 2);
  assert_string_equal(json_string_value(json_object_get(json, "event")), "end");
  json_decref(json);
  stop(&server);

  start(&server, "ntfy", "both");
  site = read_site();
  assert_int_equal(sweep_notify_send(&site, &news), CORE_OK);
  assert_non_null(
    strstr(server.calls[0].headers, "\r\nTitle: sweep fig8 has ended: 8 of 10 runs finished, 2 failed\r\n"));
  assert_non_null(strstr(server.calls[0].headers, "\r\nTags: x\r\n"));
  assert_string_equal(server.calls[0].body, news.message);
  stop(&server);
}

static void test_faults(void **state) {
  static const struct {
    HttpReply reply;
    const char *words;
  } cases[] = {{{.status = 404}, "HTTP status 404"},
               {{.status = 302}, "HTTP status 302"},
               {{.manner = HTTP_CLOSE}, "127.0.0.1"},
               {{.manner = HTTP_GARBAGE}, "127.0.0.1"},
               {{.manner = HTTP_ENDLESS}, "longer than"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    HttpServer server;
    start(&server, "slack", "both");
    const SlurmSite site = read_site();
    next = cases[i].reply;
    assert_int_equal(sweep_notify_send(&site, &news), CORE_FAIL);
    assert_message(cases[i].words);
    assert_null(strstr(core_error_message(), "SECRET"));
    stop(&server);
  }
}

/* ---- reporting process ------------------------------------------------------------------------------------------- */

static SweepManifest manifest;

static void make_sweep_of(const char *name, int seeds) {
  static const char text[] = "[sweep]\nname = %s\nseeds = %d\n[env]\nnum = 8\n";
  char experiment[256];
  SweepSpec spec;
  SweepGrid grid;
  SweepManifestChange change;
  snprintf(experiment, sizeof experiment, text, name, seeds);
  assert_int_equal(sweep_spec_parse("x.ini", experiment, NULL, NULL, 0, &spec), CORE_OK);
  assert_int_equal(sweep_grid_expand(&spec, &grid), CORE_OK);
  assert_int_equal(sweep_manifest_record(root, &grid, &manifest, &change), CORE_OK);
  for (size_t i = 0; i < grid.runs; i++) {
    CoreConfig config;
    char id[CORE_RUN_ID];
    sweep_grid_config(&grid, i, &config);
    assert_int_equal(store_run_prepare(root, &config, id), CORE_OK);
  }
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
}

static void make_sweep(const char *name) { make_sweep_of(name, 4); }

static void end_run(size_t index, StoreStatus status) {
  const StoreState run = {.status = status, .attempt = 1};
  assert_int_equal(store_run_state_write(root, manifest.ids[index], &run), CORE_OK);
}

static void test_end(void **state) {
  HttpServer server;
  start(&server, "plain", "both");
  make_sweep("ends");
  sweep_notify_reset(root, "ends", 0);
  for (size_t i = 0; i < 3; i++) {
    end_run(i, i == 1 ? STORE_FAILED : STORE_FINISHED);
    sweep_notify_runs_ended(root, "ends", 1, i == 1 ? "out of luck" : NULL);
  }
  assert_int_equal(server.count, 1); /* the failure, at once */
  assert_non_null(strstr(server.calls[0].body, "out of luck"));
  sweep_notify_runs_ended(root, "ends", 1, "again"); /* counted as ended, but is not: no end is reported */
  assert_int_equal(server.count, 1);
  end_run(3, STORE_FINISHED);
  sweep_notify_runs_ended(root, "ends", 1, NULL);
  assert_int_equal(server.count, 2);
  assert_non_null(strstr(server.calls[1].body, "\"finished\":3,\"failed\":1"));
  sweep_notify_runs_ended(root, "ends", 1, NULL); /* two that end at the same time: reported once */
  assert_int_equal(server.count, 2);
  sweep_notify_reset(root, "ends", 3); /* a retry */
  end_run(1, STORE_FINISHED);
  sweep_notify_runs_ended(root, "ends", 1, NULL);
  assert_int_equal(server.count, 3);
  assert_non_null(strstr(server.calls[2].body, "\"finished\":4,\"failed\":0"));
  sweep_manifest_free(&manifest);
  stop(&server);
}

/* Some runs had finished earlier: in another sweep that shares them, or before notifications were configured. */
static void test_shared(void **state) {
  HttpServer server;
  start(&server, "plain", "both");
  make_sweep("shares");
  for (size_t i = 0; i < 3; i++) end_run(i, STORE_FINISHED);
  end_run(3, STORE_PENDING);
  sweep_notify_reset(root, "shares", 3);
  end_run(3, STORE_FINISHED);
  sweep_notify_runs_ended(root, "shares", 1, NULL);
  assert_int_equal(server.count, 1);
  assert_non_null(strstr(server.calls[0].body, "\"finished\":4,\"failed\":0"));
  sweep_manifest_free(&manifest);
  stop(&server);
}

/* Runs that a changed file no longer contains are not waited for. */
static void test_dropped(void **state) {
  HttpServer server;
  start(&server, "plain", "both");
  make_sweep_of("changes", 4);
  sweep_manifest_free(&manifest);
  make_sweep_of("changes", 2);
  assert_int_equal(manifest.count, 4);
  for (size_t i = 0; i < 4; i++) end_run(i, STORE_PENDING);
  sweep_notify_reset(root, "changes", 2);
  for (size_t i = 0; i < 2; i++) {
    end_run(i, STORE_FINISHED);
    sweep_notify_runs_ended(root, "changes", 1, NULL);
    assert_int_equal(server.count, i); /* the first is not the end */
  }
  assert_non_null(strstr(server.calls[0].body, "\"finished\":2,\"failed\":0"));
  sweep_manifest_free(&manifest);
  stop(&server);
}

static void test_choice(void **state) {
  static const struct {
    const char *on;
    size_t calls;
  } cases[] = {{"never", 0}, {"failure", 1}, {"end", 1}, {"both", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    HttpServer server;
    char name[32];
    snprintf(name, sizeof name, "choice%zu", i);
    start(&server, "plain", cases[i].on);
    make_sweep(name);
    for (size_t k = 0; k < 4; k++) end_run(k, k ? STORE_FINISHED : STORE_FAILED);
    sweep_notify_runs_ended(root, name, 4, "bad");
    assert_int_equal(server.count, cases[i].calls);
    for (size_t k = 0; k < 4; k++) end_run(k, STORE_PENDING); /* the next sweep has the same runs */
    sweep_manifest_free(&manifest);
    stop(&server);
  }
}

/* A server that sends no response until it is stopped delays the caller only until the timeout. */
static void test_stall(void **state) {
  HttpServer server;
  start(&server, "slack", "both");
  const SlurmSite site = read_site();
  next = (HttpReply){.manner = HTTP_STALL};
  assert_int_equal(sweep_notify_send(&site, &news), CORE_FAIL);
  stop(&server);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* A program of this name in the workspace's directory, which is first in PATH: a shell script. */
static void make_program(const char *name, const char *script) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", root, name);
  assert_int_equal(core_files_write_atomic(path, script, strlen(script)), CORE_OK);
  assert_int_equal(chmod(path, 0755), 0);
}

static SlurmSite site_of(const char *lines) {
  char text[512];
  snprintf(text, sizeof text, "[notify]\n%s\n", lines);
  assert_int_equal(core_files_write_atomic(site_path, text, strlen(text)), CORE_OK);
  return read_site();
}

/* Returns the contents of the file `left` that a program has written there. */
static void assert_left(const char *expected) {
  char path[128], *text;
  size_t size;
  snprintf(path, sizeof path, "%s/left", root);
  assert_int_equal(core_files_read(path, 0, &text, &size), CORE_OK);
  assert_string_equal(text, expected);
  free(text);
  assert_int_equal(unlink(path), 0);
}

static const SweepNotification hostile = {
  .sweep = "fig8", .event = "failure", .runs = 10, .finished = 3, .failed = 1,
  .message = "$(touch owned) `id`; rm -rf / \n.\nBcc: x@y\n\xc3\xa9"};

static void test_command(void **state) {
  make_program("tell", "#!/bin/sh\n{ echo \"$# $1 $2 $SWEEP_EVENT $SWEEP_NAME $SWEEP_RUNS $SWEEP_FINISHED "
                       "$SWEEP_FAILED $SWEEP_DIVERGED\"; cat; } >\"${0%/*}/left\"\n");
  setenv("SWEEP_EVENT", "of the caller", 1);
  const SlurmSite site = site_of("command = tell  --loud $(id)\t");
  assert_true(slurm_site_notifies(&site));
  assert_int_equal(sweep_notify_send(&site, &hostile), CORE_OK);
  assert_left("2 --loud $(id) failure fig8 10 3 1 0\nsweep fig8: a run failed\n"
              "$(touch owned) `id`; rm -rf / \n.\nBcc: x@y\n\xc3\xa9\n");
  unsetenv("SWEEP_EVENT");
  CoreText ways = {0};
  sweep_notify_append_channels(&site, &ways);
  assert_string_equal(core_text_string(&ways), "tell"); /* its arguments may be secrets */
  core_text_free(&ways);
}

static void test_mail(void **state) {
  make_program("sendmail", "#!/bin/sh\n{ echo \"$# $1 $2\"; cat; } >\"${0%/*}/left\"\n");
  const SlurmSite site = site_of("mail = me@example.org");
  assert_int_equal(sweep_notify_send(&site, &hostile), CORE_OK);
  assert_left("2 -i me@example.org\nTo: me@example.org\nSubject: sweep fig8: a run failed\nMIME-Version: 1.0\n"
              "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
              "Auto-Submitted: auto-generated\n\nsweep fig8: a run failed\n"
              "$(touch owned) `id`; rm -rf / \n.\nBcc: x@y\n\xc3\xa9\n");
}

static void test_programs_that_fail(void **state) {
  make_program("tell", "#!/bin/sh\necho 'no such bell' >&2\nexit 3\n");
  make_program("sendmail", "#!/bin/sh\nexec sleep 600\n");
  SlurmSite site = site_of("command = tell\nmail = me@example.org");
  assert_int_equal(sweep_notify_send(&site, &hostile), CORE_FAIL); /* both are tried, and both failures are reported */
  assert_string_equal(core_error_message(), "command: tell: exit code 3: no such bell; "
                                            "mail: sendmail: timed out after 10 seconds");
  site = site_of("command = /nowhere/tell");
  assert_int_equal(sweep_notify_send(&site, &hostile), CORE_FAIL);
  assert_message("cannot start /nowhere/tell");
}

static void test_first_failure(void **state) {
  char expected[256];
  make_program("tell", "#!/bin/sh\ncat >>\"${0%/*}/left\"\n");
  site_of("command = tell");
  make_sweep("fails");
  sweep_notify_reset(root, "fails", 0);
  const StoreState run = {.status = STORE_FAILED, .attempt = 1, .message = "out of luck"};
  assert_int_equal(store_run_state_write(root, manifest.ids[2], &run), CORE_OK);
  sweep_notify_run_failed(root, "fails");
  sweep_notify_run_failed(root, "fails"); /* once */
  snprintf(expected, sizeof expected, "sweep fails: a run failed\nfails/2 (%s): out of luck\n", manifest.ids[2]);
  assert_left(expected);
  site_of("command = tell\non = end");
  sweep_notify_reset(root, "fails", 0);
  sweep_notify_run_failed(root, "fails");
  char path[128];
  snprintf(path, sizeof path, "%s/left", root);
  assert_false(core_files_exists(path));
  end_run(2, STORE_PENDING);
  sweep_manifest_free(&manifest);
}

static void test_bad_sites(void **state) {
  static const struct { const char *line, *says; } cases[] = {
    {"mail = ada", "is not an address"}, {"mail = -oQ/tmp@x", "is not an address"},
    {"mail = a@b c@d", "is not an address"}, {"mail = a@b,c@d", "is not an address"},
    {"mail = <a@b>", "is not an address"}, {"mail = @b", "is not an address"}, {"mail = a@", "is not an address"},
    {"mail = a@b;id", "is not an address"}, {"command = \"  \"", "notify.command is empty"},
    {"commend = tell", "did you mean notify.command?"}, {"mail =", "is not an address"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    SlurmSettings settings = slurm_settings_default();
    SlurmSite site;
    char text[256];
    snprintf(text, sizeof text, "[notify]\n%s\n", cases[i].line);
    assert_int_equal(core_files_write_atomic(site_path, text, strlen(text)), CORE_OK);
    if (slurm_site_apply(&settings, &site) != CORE_USAGE) fail_msg("%s is taken", cases[i].line);
    if (!strstr(core_error_message(), cases[i].says)) fail_msg("%s: %s", cases[i].line, core_error_message());
  }
}

int main(void) {
  const struct CMUnitTest programs[] = {
    cmocka_unit_test(test_command), cmocka_unit_test(test_mail), cmocka_unit_test(test_programs_that_fail),
    cmocka_unit_test(test_first_failure), cmocka_unit_test(test_bad_sites)};
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_styles), cmocka_unit_test(test_faults),
                                     cmocka_unit_test(test_end), cmocka_unit_test(test_shared),
                                     cmocka_unit_test(test_dropped), cmocka_unit_test(test_choice),
                                     cmocka_unit_test(test_stall)};
  if (!mkdtemp(root)) return 2;
  snprintf(site_path, sizeof site_path, "/tmp/test_notify.%d.ini", (int)getpid());
  setenv("SWEEP_SITE", site_path, 1);
  char path[4096];
  snprintf(path, sizeof path, "%s:%s", root, getenv("PATH"));
  setenv("PATH", path, 1);
  int failed = cmocka_run_group_tests(programs, NULL, NULL);
  if (core_http_is_built()) failed += cmocka_run_group_tests(tests, NULL, NULL);
  unlink(site_path);
  core_files_remove_tree(root);
  return failed;
}
