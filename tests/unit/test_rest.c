/* Responses of slurmrestd: the forms of all API versions, read from a scripted server, and a hostile one that sends
 * garbage, closes, stalls, never ends, has wrong types, huge numbers and errors. (tests/slurm/test_table.sh uses a
 * real one.) */
#include "test.h"

#include <jansson.h>

#include "core/http.h"
#include "http_server.h"
#include "slurm/cluster.h"

typedef struct Script { int version; HttpReply next; } Script; /* answers everything but the document with `next` */

static const char token[] = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.c2lnbmF0dXJl";

static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) {
  static char document[256];
  const Script *script = server->context;
  *reply = script->next;
  if (strcmp(call->path, "/openapi/v3") != 0 || script->version == 0) return;
  snprintf(document, sizeof document,
           "{\"paths\": {\"/slurm/v0.0.%d/job/submit\": {}, \"/slurm/v0.0.35/job/submit\": {}, "
           "\"/slurm/v0.0.99/job/submit\": {}}}",
           script->version);
  *reply = (HttpReply){.body = document};
}

static SlurmCluster *open_cluster(HttpServer *server, Script *script) {
  SlurmCluster *cluster;
  *server = (HttpServer){.answer = answer, .context = script};
  http_server_start(server, NULL);
  setenv("SLURMRESTD", server->url, 1);
  if (slurm_cluster_open("rest", &cluster, NULL) != CORE_OK) fail_msg("%s", core_error_message());
  return cluster;
}

static void close_cluster(SlurmCluster **cluster, HttpServer *server) {
  slurm_cluster_close(cluster);
  http_server_stop(server);
  http_server_forget(server);
}

static int submit(SlurmCluster *cluster, SlurmSettings *settings, int64_t *id) {
  const SlurmJob job = {.name = "n",
                        .comment = "c",
                        .script = "#!/bin/bash\n#SBATCH --x\nexec 'true'\n",
                        .directory = "/tmp",
                        .tasks = 4,
                        .running_max = 2,
                        .settings = settings};
  return slurm_submit(cluster, &job, id);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static const char older_jobs[] =
  "{\"errors\": [], \"jobs\": [{\"name\": \"n\", \"job_id\": 12, \"array_job_id\": 12, \"array_task_id\": null, "
  "\"array_task_string\": \"3,5-9%2\","
  " \"job_state\": \"PENDING\", \"state_reason\": \"Resources\", \"time_limit\": 5, \"submit_time\": 1700000000, "
  "\"start_time\": 0, \"restart_cnt\": 1},"
  " {\"name\": \"n\", \"job_id\": 13, \"array_job_id\": 12, \"array_task_id\": 0, \"array_task_string\": \"\", "
  "\"job_state\": \"FAILED\","
  " \"exit_code\": 512, \"start_time\": 1700000000, \"end_time\": 1700000060, \"nodes\": \"n1\"},"
  " {\"name\": \"other\", \"job_id\": 99, \"job_state\": \"RUNNING\"}]}";
static const char newer_jobs[] =
  "{\"errors\": [], \"jobs\": [{\"name\": \"n\", \"job_id\": 12, \"array_job_id\": {\"set\": true, \"infinite\": "
  "false, \"number\": 12},"
  " \"array_task_id\": {\"set\": false, \"infinite\": false, \"number\": 0}, \"array_task_string\": \"3,5-9%2\", "
  "\"job_state\": [\"PENDING\"],"
  " \"state_reason\": \"Resources\", \"time_limit\": {\"set\": true, \"infinite\": false, \"number\": 5},"
  " \"submit_time\": {\"set\": true, \"infinite\": false, \"number\": 1700000000}, \"start_time\": {\"set\": false, "
  "\"number\": 0}, \"restart_cnt\": 1},"
  " {\"name\": \"n\", \"job_id\": 13, \"array_job_id\": {\"set\": true, \"number\": 12}, \"array_task_id\": {\"set\": "
  "true, \"number\": 0},"
  " \"job_state\": [\"FAILED\"], \"exit_code\": {\"status\": [\"ERROR\"], \"return_code\": {\"set\": true, "
  "\"infinite\": false, \"number\": 2},"
  " \"signal\": {\"id\": {\"set\": true, \"number\": 0}, \"name\": \"\"}}, \"start_time\": {\"set\": true, \"number\": "
  "1700000000},"
  " \"end_time\": {\"set\": true, \"number\": 1700000060}, \"nodes\": \"n1\"},"
  " {\"name\": \"other\", \"job_id\": 99, \"job_state\": [\"RUNNING\"]}]}";

static void check_jobs(int version, const char *jobs) {
  HttpServer server;
  Script script = {.version = version, .next = {.body = jobs}};
  SlurmCluster *cluster = open_cluster(&server, &script);
  SlurmTasks tasks = {0};
  const char *name = "n";
  if (slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks) != CORE_OK)
    fail_msg("v0.0.%d: %s", version, core_error_message());
  assert_int_equal(tasks.count, 3);
  const SlurmTask *waiting = &tasks.rows[1], *failed = &tasks.rows[2];
  assert_true(tasks.rows[0].first == 3 && waiting->first == 5 && waiting->last == 9 && waiting->job == 12);
  assert_int_equal(waiting->state, SLURM_PENDING);
  assert_string_equal(waiting->reason, "Resources");
  assert_true(waiting->limit_s == 300 && waiting->start_unix_s == 0 && waiting->restarts == 1);
  assert_true(failed->job == 12 && failed->first == 0 && failed->last == 0);
  assert_int_equal(failed->state, SLURM_FAILED);
  assert_true(failed->exit_code == 2 && failed->exit_signal == 0);
  slurm_tasks_free(&tasks);
  char path[64];
  snprintf(path, sizeof path, "/slurm/v0.0.%d/jobs", version);
  assert_string_equal(server.calls[1].path, path);
  close_cluster(&cluster, &server);
}

static void test_jobs(void **state) {
  for (int version = 36; version <= 38; version++) check_jobs(version, older_jobs);
  for (int version = 39; version <= 44; version++) check_jobs(version, newer_jobs);
  check_jobs(39, older_jobs); /* versions between mix the shapes */
}

static void test_states(void **state) {
  static const struct { const char *json; SlurmState state;
  } cases[] = {{"[\"RUNNING\", \"COMPLETING\"]", SLURM_COMPLETING},
               {"[\"PENDING\", \"REQUEUED\"]", SLURM_PENDING},
               {"\"OUT_OF_MEMORY\"", SLURM_OUT_OF_MEMORY},
               {"[\"RUNNING\", \"CONFIGURING\"]", SLURM_CONFIGURING},
               {"[\"NODE_FAIL\"]", SLURM_NODE_FAIL},
               {"\"MARTIAN\"", SLURM_UNKNOWN_STATE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    HttpServer server;
    char jobs[256];
    snprintf(jobs, sizeof jobs, "{\"jobs\": [{\"name\": \"n\", \"job_id\": 7, \"job_state\": %s}]}", cases[i].json);
    Script script = {.version = 40, .next = {.body = jobs}};
    SlurmCluster *cluster = open_cluster(&server, &script);
    SlurmTasks tasks = {0};
    const char *name = "n";
    assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
    assert_int_equal(tasks.count, 1);
    assert_int_equal(tasks.rows[0].state, cases[i].state);
    assert_true(tasks.rows[0].job == 7 && tasks.rows[0].first == -1); /* no array */
    slurm_tasks_free(&tasks);
    close_cluster(&cluster, &server);
  }
}

static void test_partitions(void **state) {
  static const char both[] = "{\"partitions\": [{\"name\": \"gpu\", \"partition\": {\"state\": [\"UP\"]}, "
                             "\"maximums\": {\"time\": {\"set\": true, \"number\": 60}}, \"nodes\": {\"total\": 2}},"
                             " {\"name\": \"old\", \"state\": \"DOWN\", \"max_time_limit\": -1, \"total_nodes\": 1, "
                             "\"nodes\": \"n1\", \"flags\": [\"default\"]}],"
                             " \"nodes\": [{\"state\": [\"IDLE\"], \"cpus\": 8, \"real_memory\": 1000, \"gres\": "
                             "\"gpu:a100:4(S:0-1)\", \"partitions\": [\"gpu\"]},"
                             " {\"state\": [\"IDLE\", \"DRAIN\"], \"cpus\": 4, \"real_memory\": 9000, \"gres\": \"\", "
                             "\"partitions\": [\"gpu\", \"old\"]}]}";
  HttpServer server;
  Script script = {.version = 42, .next = {.body = both}};
  SlurmCluster *cluster = open_cluster(&server, &script);
  SlurmPartition *p;
  size_t count;
  assert_int_equal(slurm_partitions(cluster, &p, &count), CORE_OK);
  assert_int_equal(count, 2);
  assert_true(p[0].up && p[0].time_max_s == 3600 && p[0].nodes == 2 && p[0].nodes_up == 1 && p[0].cpus_max == 8 &&
              p[0].memory_max_mb == 9000 && p[0].gpus_max == 4);
  assert_true(!p[1].up && p[1].time_max_s == 0 && p[1].nodes == 1 && p[1].nodes_up == 0 && p[1].is_default);
  free(p);
  close_cluster(&cluster, &server);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void test_request(void **state) {
  for (int version = 38; version <= 42; version += 2) {
    HttpServer server;
    Script script = {.version = version,
                     .next = {.body = "{\"errors\": [{\"error_code\": 2042, \"error\": \"held\"}], \"job_id\": 17}"}};
    SlurmCluster *cluster = open_cluster(&server, &script);
    SlurmSettings settings = slurm_settings_default();
    int64_t id;

    settings.time = 301, settings.mem = 500, settings.gpus_per_run = 2, settings.signal_lead = 60;
    snprintf(settings.gpu_type, sizeof settings.gpu_type, "a100");

    assert_int_equal(submit(cluster, &settings, &id), CORE_OK); /* the job_id decides, regardless of other fields */
    assert_int_equal(id, 17);
    assert_non_null(strstr(server.calls[1].headers, token));
    assert_null(strstr(server.calls[1].body, token));

    json_t *request = json_loads(server.calls[1].body, 0, NULL), *job = json_object_get(request, "job");
    const bool newer = version >= 39;
    assert_string_equal(json_string_value(json_object_get(job, "array")), "0-3%2");
    const json_t *minutes = json_object_get(job, "time_limit"), *environment = json_object_get(job, "environment");
    assert_int_equal(json_integer_value(newer ? json_object_get(minutes, "number") : minutes), 6);
    assert_true(newer ? json_is_array(environment) && json_array_size(environment) > 0
                      : json_is_object(environment) && json_object_size(environment) > 0);
    assert_string_equal(json_string_value(json_object_get(job, newer ? "tres_per_node" : "gres")),
                        version >= 41 ? "gres/gpu:a100:2" : newer ? "gres:gpu:a100:2" : "gpu:a100:2");

    const char *text = json_string_value(json_object_get(newer ? job : request, "script"));
    assert_non_null(strstr(text, "exec 'true'"));
    assert_true(newer == (strstr(text, "kill -USR2 $$") == NULL)); /* the older ones cannot warn the batch shell */
    assert_true(newer == (json_object_get(job, "kill_warning_signal") != NULL));
    json_decref(request);

    snprintf(settings.extra, sizeof settings.extra, "--exclude=n3");
    assert_int_equal(submit(cluster, &settings, &id), CORE_USAGE);
    assert_message("--exclude");
    close_cluster(&cluster, &server);
  }
}

/* ---- a hostile server -------------------------------------------------------------------------------------------- */

static void hostile(HttpReply reply, SlurmFault expected) {
  HttpServer server;
  Script script = {.version = 38, .next = {.body = "{}"}};
  setenv("SLURMRESTD_TIMEOUT", expected == SLURM_TIMED_OUT && reply.manner == HTTP_STALL ? "3" : "60", 1);
  SlurmCluster *cluster = open_cluster(&server, &script);
  SlurmTasks tasks = {0};
  SlurmSettings settings = slurm_settings_default();
  const char *name = "n";
  int64_t id;
  script.next = reply;
  if (submit(cluster, &settings, &id) == CORE_OK) fail_msg("taken: %.100s", reply.body);
  if (slurm_fault(cluster) != expected)
    fail_msg("fault %d, not %d: %s", (int)slurm_fault(cluster), (int)expected, core_error_message());
  assert_true(strlen(core_error_message()) > 10);
  assert_null(strstr(core_error_message(), token));
  assert_null(strchr(core_error_message(), '\033'));
  assert_int_not_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  assert_int_equal(tasks.count, 0);
  close_cluster(&cluster, &server);
}

static void test_hostile(void **state) {
  hostile((HttpReply){.manner = HTTP_GARBAGE}, SLURM_GARBLED);
  hostile((HttpReply){.manner = HTTP_CLOSE}, SLURM_GARBLED);
  hostile((HttpReply){.manner = HTTP_CUT, .body = "{\"job_id\": 5"}, SLURM_GARBLED);
  hostile((HttpReply){.manner = HTTP_STALL}, SLURM_TIMED_OUT);
  hostile((HttpReply){.status = 500}, SLURM_GARBLED);
  hostile((HttpReply){.status = 500, .body = "<html>no</html>"}, SLURM_GARBLED);
  hostile((HttpReply){.status = 302, .body = "{}"}, SLURM_GARBLED);
  hostile((HttpReply){.status = 401, .body = "Authentication failure"}, SLURM_REFUSED);
  hostile(
    (HttpReply){.status = 500, .body = "{\"errors\": [{\"error_number\": 1800, \"error\": \"Unable to contact\"}]}"},
    SLURM_UNREACHABLE);
  hostile((HttpReply){.status = 500, .body = "{\"errors\": [{\"error_number\": 5004, \"error\": \"timed out\"}]}"},
          SLURM_TIMED_OUT);
  hostile(
    (HttpReply){.body = "{\"errors\": [{\"error_code\": 2000, \"error\": \"\\u001b[31mInvalid partition\\u0007\"}]}"},
    SLURM_REFUSED);
  hostile(
    (HttpReply){.status = 500,
                .body =
                  "{\"errors\": [{\"error_code\": 1, \"error\": \"bad eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.c2lnbmF0dXJl\"}]}"},
    SLURM_REFUSED);
}

/* Well-formed HTTP, ill-formed contents: never a job id that was not sent. */
static void test_contents(void **state) {
  static const char *const bodies[] = {"",
                                       "null",
                                       "[]",
                                       "7",
                                       "{",
                                       "{}",
                                       "{\"job_id\": null}",
                                       "{\"job_id\": \"x\"}",
                                       "{\"job_id\": -1}",
                                       "{\"job_id\": 0}",
                                       "{\"job_id\": 1e300}",
                                       "{\"job_id\": 99999999999999999999999}",
                                       "{\"job_id\": 9223372036854775807}",
                                       "{\"job_id\": {\"set\": false, \"number\": 5}}",
                                       "{\"job_id\": {\"set\": true, \"infinite\": true, \"number\": 5}}",
                                       "{\"job_id\": [5]}",
                                       "{\"job_id\": {\"number\": {\"number\": 5}}}",
                                       "{\"job_id\": 5, \"job_id\": 6}",
                                       "{\"jobs\": {}}",
                                       "{\"jobs\": [7]}",
                                       "{\"jobs\": [{}]}",
                                       "{\"jobs\": [{\"name\": 7}]}",
                                       "{\"jobs\": [{\"name\": \"n\"}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"job_id\": 1}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"job_id\": 1, \"job_state\": []}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"job_id\": 1, \"job_state\": {\"a\": 1}}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"array_job_id\": 1, \"job_id\": 1, "
                                       "\"job_state\": \"PENDING\", \"array_task_string\": \"1,2,...\"}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"array_job_id\": 1, \"job_id\": 1, "
                                       "\"job_state\": \"PENDING\", \"array_task_string\": \"9-1\"}]}",
                                       "{\"jobs\": [{\"name\": \"n\", \"array_job_id\": 1, \"job_id\": 1, "
                                       "\"job_state\": \"PENDING\", \"array_task_string\": \"99999999999\"}]}",
                                       "{\"job_id\": 5, \"x\": \"\xff\xfe\"}"};

  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) hostile((HttpReply){.body = bodies[i]}, SLURM_GARBLED);

  CoreText deep = {0};
  core_text_append(&deep, "{\"job_id\":");
  for (int i = 0; i < 100000; i++) core_text_append(&deep, "[");
  hostile((HttpReply){.body = deep.data}, SLURM_GARBLED);
  core_text_free(&deep);
}

/* A response that does not end is cut at its limit or at the timeout, and counts as unknown. */
static void test_endless(void **state) {
  HttpServer server = {.answer = answer};
  Script script = {.next = {.manner = HTTP_ENDLESS}};
  CoreHttp *http;
  CoreHttpAnswer got = {0};
  CoreHttpFault fault;
  server.context = &script;
  http_server_start(&server, NULL);
  assert_int_equal(core_http_open(&http), CORE_OK);
  const CoreHttpRequest request = {.method = "GET", .url = server.url, .timeout_s = 60, .answer_max = 1 << 20};
  assert_int_equal(core_http_send(http, &request, &got, &fault), CORE_FAIL);
  assert_int_equal(fault, CORE_HTTP_BROKEN);
  assert_message("longer than 1048576 bytes");
  assert_int_equal(got.body.length, 0);
  core_text_free(&got.body);
  core_http_close(&http);
  http_server_stop(&server);
  http_server_forget(&server);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void refused(const char *address, const char *words, SlurmFault expected) {
  SlurmCluster *cluster;
  SlurmFault fault;
  setenv("SLURMRESTD", address, 1);
  assert_int_not_equal(slurm_cluster_open("rest", &cluster, &fault), CORE_OK);
  assert_null(cluster);
  if (!strstr(core_error_message(), words)) fail_msg("%s: %s", address, core_error_message());
  assert_int_equal(fault, expected);
}

static void test_open(void **state) {
  char path[256] = "unix:/", name[64];

  refused("", "SLURMRESTD", SLURM_ABSENT);
  refused("ftp://x", "http://", SLURM_REFUSED);
  refused("http://", "no host", SLURM_REFUSED);
  refused("http://me:secret@host", "password", SLURM_REFUSED);
  assert_null(strstr(core_error_message(), "secret"));
  refused("http://host:1/path", "nothing behind", SLURM_REFUSED);
  refused("unix:sock", "absolute", SLURM_REFUSED);

  memset(path + 6, 'a', 107); /* with its slash 108 */
  refused(path, "at most 107", SLURM_REFUSED);
  path[5 + 107] = '\0'; /* 107: accepted, but missing */
  refused(path, "slurmrestd", SLURM_UNREACHABLE);
  refused("http://127.0.0.1:1", "slurmrestd", SLURM_UNREACHABLE);

  setenv("SLURM_JWT", "two words", 1);
  refused("http://127.0.0.1:1", "is not a token", SLURM_REFUSED);
  setenv("SLURM_JWT", "a\r\nX-Other: b", 1);
  refused("http://127.0.0.1:1", "is not a token", SLURM_REFUSED);
  unsetenv("SLURM_JWT");
  refused("http://127.0.0.1:1", "scontrol token", SLURM_REFUSED);
  setenv("SLURM_JWT", token, 1);

  HttpServer server = {.answer = answer};
  Script script = {.version = 46};
  server.context = &script;
  snprintf(name, sizeof name, "/tmp/test_rest.%d", (int)getpid());
  http_server_start(&server, name);

  refused(server.url, "v0.0.36 to v0.0.45", SLURM_ABSENT); /* too old, too new */
  http_server_stop(&server);
  http_server_forget(&server);
  unlink(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs),       cmocka_unit_test(test_states),
                                     cmocka_unit_test(test_partitions), cmocka_unit_test(test_request),
                                     cmocka_unit_test(test_hostile),    cmocka_unit_test(test_contents),
                                     cmocka_unit_test(test_endless),    cmocka_unit_test(test_open)};
  if (!core_http_is_built()) {
    printf("1..1\nok 1 # SKIP built without libcurl\n");
    return 0;
  }
  setenv("SLURM_JWT", token, 1);
  setenv("SLURMRESTD_TIMEOUT", "60", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
