/* Recorded responses of slurmrestd of Slurm 22.05.8 to 26.05.3 (tests/unit/slurmrestd, one file per API version,
 * made by tests/slurm/record_rest.sh), read through slurm/cluster.h. The requests and the
 * state of the cluster are equal for all versions, so the parsed results must be equal: array 1 of one task that failed
 * with exit code 3, and array 2 of six, one at a time: the first was cancelled, the second runs and four wait. */
#include "test.h"

#include <glob.h>
#include <jansson.h>

#include "core/http.h"
#include "http_server.h"
#include "slurm/cluster.h"

enum { FILES_MAX = 32 };

typedef struct Recording {
  json_t *all;
  char document[128], *texts[FILES_MAX];
  size_t text_count;
  bool is_down;
} Recording;

static const char *recorded(Recording *recording, const char *key, int *status) {
  const json_t *one = json_object_get(recording->all, key);
  *status = (int)json_integer_value(json_object_get(one, "status"));
  char *text = json_dumps(json_object_get(one, "answer"), JSON_COMPACT);
  assert_non_null(text);
  assert_true(recording->text_count < FILES_MAX);
  return recording->texts[recording->text_count++] = text;
}

static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) {
  Recording *recording = server->context;
  const char *what = strrchr(call->path, '/') + 1;
  if (strcmp(call->path, "/openapi/v3") == 0) *reply = (HttpReply){.body = recording->document};
  else if (strcmp(call->method, "DELETE") == 0) reply->body = recorded(recording, "no_such_job", &reply->status);
  else if (strcmp(what, "submit") == 0)
    reply->body = recorded(recording, strstr(call->body, "nowhere") ? "refused" : "submitted", &reply->status);
  else if (strcmp(call->method, "POST") == 0) *reply = (HttpReply){.body = "{}"};
  else reply->body = recorded(recording, recording->is_down ? "unreachable" : what, &reply->status);
}

static void check_jobs(SlurmCluster *cluster) {
  static const char *const names[] = {"end", "work"};
  SlurmTasks tasks = {0};
  size_t waiting = 0, others = 0;
  if (slurm_list(cluster, &(SlurmSelection){.names = names, .count = 2}, &tasks) != CORE_OK)
    fail_msg("%s", core_error_message());
  for (size_t i = 0; i < tasks.count; i++) {
    const SlurmTask *task = &tasks.rows[i];
    assert_string_equal(task->partition, "main");
    assert_string_equal(task->user, "daemon");
    assert_int_equal(task->limit_s, 300);
    if (task->job == 1) {
      assert_true(task->state == SLURM_FAILED && task->first == 0 && task->last == 0 && task->exit_code == 3 &&
                  task->exit_signal <= 0);
      assert_string_equal(task->nodes, "n1");
      others++;
      continue;
    }
    assert_int_equal(task->job, 2);
    assert_string_equal(task->comment, "sweep=a batch=1");
    if (task->state == SLURM_PENDING) {
      assert_string_equal(task->reason, "JobArrayTaskLimit");
      assert_true(task->first >= 2 && task->last <= 5);
      waiting += (size_t)(task->last - task->first + 1);
    } else if (task->state == SLURM_CANCELLED) {
      assert_true(task->first == 0 && task->last == 0);
      others += 10;
    } else {
      assert_true(task->state == SLURM_RUNNING && task->first == 1 && task->last == 1 &&
                  task->start_unix_s > 1700000000);
      others += 100;
    }
  }
  assert_int_equal(waiting, 4);
  assert_int_equal(others, 111);
  slurm_tasks_free(&tasks);
}

static void check_place(SlurmCluster *cluster, const char *release) {
  const SlurmLimits *limits;
  SlurmPartition *partitions;
  size_t count;
  assert_int_equal(slurm_limits(cluster, &limits), CORE_OK);
  assert_string_equal(limits->version, release);
  assert_int_equal(slurm_partitions(cluster, &partitions, &count), CORE_OK);
  assert_int_equal(count, 1);
  assert_string_equal(partitions->name, "main");
  assert_true(partitions->up && partitions->is_default && partitions->time_max_s == 86400 && partitions->nodes == 1 &&
              partitions->nodes_up == 1);
  assert_true(partitions->cpus_max == 2 && partitions->memory_max_mb == 4000 && partitions->gpus_max == 2);
  free(partitions);
}

static void check_requests(SlurmCluster *cluster) {
  SlurmSettings settings = slurm_settings_default();
  const SlurmJob job = {.name = "x",
                        .comment = "c",
                        .script = "#!/bin/bash\nexec 'true'\n",
                        .directory = "/tmp",
                        .tasks = 1,
                        .settings = &settings};
  int64_t id = 0;
  assert_int_equal(slurm_submit(cluster, &job, &id), CORE_OK);
  assert_true(id > 2);
  snprintf(settings.partition, sizeof settings.partition, "nowhere");
  assert_int_not_equal(slurm_submit(cluster, &job, &id), CORE_OK);
  assert_int_equal(slurm_fault(cluster), SLURM_REFUSED);
  assert_message("Invalid partition name specified");
  /* gone already: no error */
  if (slurm_cancel(cluster, &(SlurmId){99999, 7}, 1) != CORE_OK) fail_msg("%s", core_error_message());
}

/* Up to v0.0.39 a task is named; later an array's number means all of it that waits, and some of it cannot be said. */
static void check_hold(SlurmCluster *cluster, HttpServer *server, int version) {
  const SlurmId all[] = {{2, 2}, {2, 3}, {2, 4}, {2, 5}}, whole = {2, -1};
  const size_t before = server->count;
  if (slurm_hold(cluster, all, 4, true) != CORE_OK) fail_msg("%s", core_error_message());
  assert_int_equal(server->count - before, version < 40 ? 4 : 2);
  char path[64];
  snprintf(path, sizeof path, version < 40 ? "/slurm/v0.0.%d/job/2_5" : "/slurm/v0.0.%d/job/2", version);
  assert_string_equal(server->calls[server->count - 1].path, path);
  assert_int_equal(slurm_hold(cluster, &whole, 1, false), CORE_OK);
  assert_int_equal(slurm_hold(cluster, all, 3, true), version < 40 ? CORE_OK : CORE_USAGE);
  if (version >= 40) assert_message("as a whole");
}

static void check_file(const char *path) {
  json_error_t where;
  Recording recording = {.all = json_load_file(path, JSON_REJECT_DUPLICATES, &where)};
  if (!recording.all) fail_msg("%s:%d: %s", path, where.line, where.text);
  const int version = (int)json_integer_value(json_object_get(recording.all, "version"));
  char release[32] = "";
  assert_int_equal(
    sscanf(json_string_value(json_object_get(recording.all, "recorded")), "slurmrestd %31[0-9.]", release), 1);
  print_message("# slurmrestd %s, v0.0.%d\n", release, version);
  snprintf(recording.document, sizeof recording.document, "{\"paths\": {\"/slurm/v0.0.%d/job/submit\": {}}}", version);
  HttpServer *server = calloc(1, sizeof *server);
  assert_non_null(server);
  *server = (HttpServer){.answer = answer, .context = &recording};
  http_server_start(server, NULL);
  setenv("SLURMRESTD", server->url, 1);
  SlurmCluster *cluster;
  if (slurm_cluster_open("rest", &cluster, NULL) != CORE_OK) fail_msg("%s", core_error_message());
  check_place(cluster, release);
  check_jobs(cluster);
  check_requests(cluster);
  check_hold(cluster, server, version);
  recording.is_down = true;
  SlurmTasks tasks = {0};
  assert_int_not_equal(slurm_list(cluster, &(SlurmSelection){0}, &tasks), CORE_OK);
  assert_int_equal(slurm_fault(cluster), SLURM_UNREACHABLE);
  slurm_cluster_close(&cluster);
  http_server_stop(server);
  http_server_forget(server);
  free(server);
  for (size_t i = 0; i < recording.text_count; i++) free(recording.texts[i]);
  json_decref(recording.all);
}

static void test_recorded(void **state) {
  (void)state;
  glob_t files;
  assert_int_equal(glob("tests/unit/slurmrestd/v0.0.*.json", 0, NULL, &files), 0);
  assert_true(files.gl_pathc >= 6);
  for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i]);
  globfree(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_recorded)};
  if (!core_http_is_built()) {
    printf("1..1\nok 1 # SKIP built without libcurl\n");
    return 0;
  }
  setenv("SLURM_JWT", "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.c2lnbmF0dXJl", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
