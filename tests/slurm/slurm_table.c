/* The function table of slurm/cluster.h on a real cluster, by commands or by REST: test_table.sh starts the cluster and
 * runs this with the method's name and the cluster's state. The cluster: 4 nodes of 2 processors, MaxArraySize=100. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "slurm/cluster.h"

static const char *api;
static SlurmCluster *cluster;
static SlurmSettings settings;
static CoreText script;

static int64_t submit(const char *name, const char *comment, int64_t tasks, int64_t running_max,
                      const char *const *command) {
  SlurmJob job = {.name = name,
                  .comment = comment,
                  .directory = "/tmp",
                  .tasks = tasks,
                  .running_max = running_max,
                  .settings = &settings};
  int64_t id = 0;
  core_text_clear(&script);
  slurm_script_print(&job, command, &script);
  job.script = core_text_string(&script);
  if (slurm_submit(cluster, &job, &id) != CORE_OK) return -1;
  assert_true(id > 0);
  return id;
}

static const char *const sleeps[] = {"sleep", "3600", NULL}; /* until it is cancelled */
static const char *const ends[] = {"true", NULL};

/* Tasks of `job` in that state, counting every index of a row. */
static size_t count(int64_t job, const char *name, SlurmState state) {
  SlurmTasks tasks = {0};
  size_t found = 0;
  assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  for (size_t i = 0; i < tasks.count; i++)
    if (tasks.rows[i].job == job && tasks.rows[i].state == state)
      found +=
        tasks.rows[i].first < 0 ? 1 : (size_t)((tasks.rows[i].last - tasks.rows[i].first) / tasks.rows[i].step + 1);
  slurm_tasks_free(&tasks);
  return found;
}

/* Slurm does nothing at once, and a busy machine not soon: tries for two minutes. */
enum { TRIES = 1200, PAUSE_US = 100 * 1000 };

static bool becomes(int64_t job, const char *name, SlurmState state, size_t wanted) {
  for (int i = 0; i < TRIES; i++) {
    if (count(job, name, state) == wanted) return true;
    usleep(PAUSE_US);
  }
  return false;
}

/* Rows of `job`, waiting or not, whose reason has that word, once there are any. */
static size_t count_reason(int64_t job, const char *name, const char *word) {
  size_t found = 0;
  for (int tries = 0; tries < TRIES && found == 0; tries++) {
    SlurmTasks tasks = {0};
    assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
    for (size_t i = 0; i < tasks.count; i++)
      found += tasks.rows[i].job == job && strstr(tasks.rows[i].reason, word) != NULL;
    slurm_tasks_free(&tasks);
    if (found == 0) usleep(PAUSE_US);
  }
  return found;
}

static int cancel_all(void **state) {
  SlurmTasks tasks = {0};
  if (cluster && slurm_list(cluster, &(SlurmSelection){0}, &tasks) == CORE_OK)
    for (size_t i = 0; i < tasks.count; i++) slurm_cancel(cluster, &(SlurmId){tasks.rows[i].job, -1}, 1);
  slurm_tasks_free(&tasks);
  return 0;
}

static void test_limits(void **state) {
  const SlurmLimits *limits;
  assert_int_equal(slurm_limits(cluster, &limits), CORE_OK);
  assert_int_equal(limits->array_tasks_max, 100);
  assert_int_equal(limits->jobs_max, 50000);
  assert_int_equal(limits->min_job_age_s, 300);
  assert_string_equal(limits->cluster, "test");
  assert_false(limits->accounting);
}

static void test_partitions(void **state) {
  SlurmPartition *partitions;
  size_t n;
  for (int tries = 0;; tries++) { /* nodes register some seconds after slurmctld was started again */
    assert_int_equal(slurm_partitions(cluster, &partitions, &n), CORE_OK);
    assert_int_equal(n, 1);
    if (partitions[0].nodes_up == 4 || tries == TRIES) break;
    free(partitions);
    usleep(PAUSE_US);
  }
  assert_string_equal(partitions[0].name, "main");
  assert_true(partitions[0].up && partitions[0].is_default);
  assert_int_equal(partitions[0].nodes, 4);
  assert_int_equal(partitions[0].nodes_up, 4);
  assert_int_equal(partitions[0].cpus_max, 2);
  assert_int_equal(partitions[0].time_max_s, 86400);
  free(partitions);
}

static void test_array(void **state) {
  const int64_t id = submit("array", "sweep=a manifest=1:2", 100, 3, sleeps);
  assert_true(id > 0);
  assert_true(becomes(id, "array", SLURM_RUNNING, 3));
  assert_int_equal(count(id, "array", SLURM_PENDING), 97);
  assert_true(count_reason(id, "array", "JobArrayTaskLimit") > 0);
  SlurmTasks tasks = {0};
  const char *name = "array";
  assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  size_t rows = 0;
  for (size_t i = 0; i < tasks.count; i++) {
    if (tasks.rows[i].job != id) continue; /* Slurm still knows an earlier test's array of this name */
    rows++;
    assert_string_equal(tasks.rows[i].comment, "sweep=a manifest=1:2");
    assert_string_equal(tasks.rows[i].partition, "main");
    assert_int_equal(tasks.rows[i].limit_s, 300);

  }
  assert_in_range(rows, 4, 9); /* waiting tasks share one row */
  slurm_tasks_free(&tasks);
  const SlurmId some[] = {{id, 50}, {id, 51}, {id, 0}};
  assert_int_equal(slurm_cancel(cluster, some, 3), CORE_OK);
  assert_true(becomes(id, "array", SLURM_CANCELLED, 1)); /* tasks that had not started vanish */
  assert_int_equal(count(id, "array", SLURM_PENDING), 100 - 4 - 2);
  const SlurmId all = {id, -1};
  assert_int_equal(slurm_cancel(cluster, &all, 1), CORE_OK);
  assert_true(becomes(id, "array", SLURM_PENDING, 0));
  assert_int_equal(slurm_cancel(cluster, &all, 1), CORE_OK); /* again: no error */
}

static void test_ends(void **state) {
  const int64_t id = submit("ends", "c", 4, 0, ends);
  assert_true(becomes(id, "ends", SLURM_COMPLETED, 4));
}

static void test_hold(void **state) {
  const SlurmId others = {.job = submit("hold", "c", 2, 0, sleeps), .task = -1};
  assert_true(becomes(others.job, "hold", SLURM_RUNNING, 2));
  assert_int_equal(slurm_cancel(cluster, &others, 1), CORE_OK);
  settings.mem = 3000; /* one a node: the fifth waits and can be held */
  const int64_t id = submit("hold", "d", 6, 0, sleeps);
  settings.mem = 0;
  const SlurmId waiting[] = {{id, 4}, {id, 5}}, all = {id, -1};
  assert_true(becomes(id, "hold", SLURM_RUNNING, 4));
  assert_int_equal(slurm_hold(cluster, waiting, 2, true), CORE_OK);
  assert_true(count_reason(id, "hold", "JobHeld") > 0);
  assert_int_equal(slurm_hold(cluster, waiting, 2, false), CORE_OK);
  assert_int_equal(slurm_cancel(cluster, &all, 1), CORE_OK);
}

static bool is_rest(void) { return strcmp(api, "rest") == 0; }

static void test_requeue(void **state) {
  if (is_rest()) { /* slurmrestd has no request for it */
    assert_int_not_equal(slurm_requeue(cluster, (SlurmId){1, -1}), CORE_OK);
    assert_int_equal(slurm_fault(cluster), SLURM_REFUSED);
    return;
  }
  const int64_t id = submit("again", "c", 1, 0, sleeps);
  assert_true(becomes(id, "again", SLURM_RUNNING, 1));
  assert_int_equal(slurm_requeue(cluster, (SlurmId){id, 0}), CORE_OK);
  assert_true(becomes(id, "again", SLURM_PENDING, 1));
  assert_true(becomes(id, "again", SLURM_RUNNING, 1));
  const SlurmId all = {id, -1};
  assert_int_equal(slurm_cancel(cluster, &all, 1), CORE_OK);
  assert_int_not_equal(slurm_requeue(cluster, (SlurmId){99999, 7}), CORE_OK);
  assert_int_equal(slurm_fault(cluster), SLURM_NOT_THERE);
}

static void test_refused(void **state) {
  snprintf(settings.partition, sizeof settings.partition, "nowhere");
  assert_int_equal(submit("refused", "c", 1, 0, ends), -1);
  assert_int_equal(slurm_fault(cluster), SLURM_REFUSED);
  assert_non_null(strstr(core_error_message(), "partition"));
  settings.partition[0] = '\0';
  assert_int_equal(submit("refused", "c", 101, 0, ends), -1); /* MaxArraySize */
  assert_int_equal(slurm_fault(cluster), SLURM_REFUSED);
}

static void test_forecast(void **state) {
  SlurmJob job = {.name = "test", .comment = "c", .directory = "/tmp", .tasks = 4, .settings = &settings};
  SlurmForecast forecast;
  core_text_clear(&script);
  slurm_script_print(&job, ends, &script);
  job.script = core_text_string(&script);
  if (is_rest()) {
    assert_int_not_equal(slurm_test(cluster, &job, &forecast), CORE_OK);
    assert_int_equal(slurm_fault(cluster), SLURM_REFUSED);
    return;
  }
  assert_int_equal(slurm_test(cluster, &job, &forecast), CORE_OK);
  assert_string_equal(forecast.partition, "main");
  assert_true(forecast.start_unix_s > 1700000000);
  const char *name = "test";
  SlurmTasks tasks = {0};
  assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  assert_int_equal(tasks.count, 0); /* nothing was submitted */
  slurm_tasks_free(&tasks);
}

static void test_dependency(void **state) {
  const int64_t first = submit("first", "c", 2, 0, sleeps);
  const SlurmId all = {first, -1};
  SlurmJob job = {.name = "second",
                  .comment = "c",
                  .directory = "/tmp",
                  .tasks = 1,
                  .settings = &settings,
                  .after = &all,
                  .after_count = 1};
  int64_t id;
  core_text_clear(&script);
  slurm_script_print(&job, ends, &script);
  job.script = core_text_string(&script);
  assert_int_equal(slurm_submit(cluster, &job, &id), CORE_OK);
  assert_int_equal(count(id, "second", SLURM_PENDING), 1);
  assert_int_equal(slurm_cancel(cluster, &all, 1), CORE_OK);
  assert_true(becomes(id, "second", SLURM_COMPLETED, 1)); /* afterany: also after a cancelled one */
}

/* The signal before the time limit reaches the batch shell's process, for both methods of submission. */
static void test_signal(void **state) {
  if (!is_rest()) return; /* slurmctld looks at time limits twice a minute: tests/fault has the time for that */
  char directory[] = "/tmp/slurm-signal.XXXXXX", done[64];
  assert_non_null(mkdtemp(directory));
  snprintf(done, sizeof done, "%s/done", directory);
  char waits[256];
  snprintf(waits, sizeof waits, "trap 'touch %s; exit 0' USR2; sleep 1000 & wait", done);
  const char *const command[] = {"bash", "-c", waits, NULL};
  settings.time = 120, settings.signal_lead = 110; /* bash has ten seconds to set its trap */
  const int64_t id = submit("signal", "c", 1, 0, command);
  settings.time = 300, settings.signal_lead = 0;
  assert_true(becomes(id, "signal", SLURM_COMPLETED, 1));
  assert_int_equal(access(done, F_OK), 0);
  assert_int_equal(unlink(done), 0);
  assert_int_equal(rmdir(directory), 0);
}

static void test_unreachable(void **state) {
  SlurmTasks tasks = {0};
  const char *name = "x";
  assert_int_equal(submit("x", "c", 1, 0, ends), -1);
  assert_int_equal(slurm_fault(cluster), SLURM_UNREACHABLE);
  assert_int_not_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  assert_int_equal(slurm_fault(cluster), SLURM_UNREACHABLE);
}

static void test_token(void **state) { /* one that Slurm does not take: it is never repeated */
  const SlurmLimits *limits;
  SlurmTasks tasks = {0};
  if (slurm_limits(cluster, &limits) == CORE_OK)
    print_message("# this version answers a ping without looking at the token\n");
  assert_null(strstr(core_error_message(), getenv("SLURM_JWT")));
  assert_int_not_equal(slurm_list(cluster, &(SlurmSelection){0}, &tasks), CORE_OK);
  assert_null(strstr(core_error_message(), getenv("SLURM_JWT")));
  assert_int_equal(submit("x", "c", 1, 0, ends), -1);
  assert_int_not_equal(slurm_fault(cluster), SLURM_FINE);
  assert_null(strstr(core_error_message(), getenv("SLURM_JWT")));
}

/* Slurm remembers jobs of the other method for five minutes. */
static const char *frozen_name(void) { return strcmp(api, "cli") == 0 ? "frozen-cli" : "frozen-rest"; }

static void test_frozen(void **state) {
  assert_int_equal(submit(frozen_name(), "c", 1, 0, ends), -1);
  assert_int_equal(slurm_fault(cluster), SLURM_TIMED_OUT);
}

static void test_thawed(void **state) { /* the operation that timed out was completed anyway */
  SlurmTasks tasks = {0};
  const char *name = frozen_name();
  for (int i = 0; i < TRIES && tasks.count == 0; i++) {
    if (i > 0) usleep(PAUSE_US);
    assert_int_equal(slurm_list(cluster, &(SlurmSelection){.names = &name, .count = 1}, &tasks), CORE_OK);
  }
  assert_int_equal(tasks.count, 1);
  slurm_tasks_free(&tasks);
}

static void test_absent(void **state) {
  SlurmFault fault;
  slurm_cluster_close(&cluster);
  setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
  assert_int_not_equal(slurm_cluster_open(api, &cluster, &fault), CORE_OK);
  assert_int_equal(fault, SLURM_ABSENT);
}

int main(int argc, char **argv) {
  const struct CMUnitTest healthy[] = {cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_partitions),
                                       cmocka_unit_test_teardown(test_array, cancel_all),
                                       cmocka_unit_test(test_ends),
                                       cmocka_unit_test_teardown(test_hold, cancel_all),
                                       cmocka_unit_test_teardown(test_requeue, cancel_all),
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_forecast),
                                       cmocka_unit_test_teardown(test_dependency, cancel_all),
                                       cmocka_unit_test_teardown(test_signal, cancel_all)};
  const struct CMUnitTest brief[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_partitions),
                                     cmocka_unit_test(test_ends), cmocka_unit_test(test_refused)};
  const struct CMUnitTest down[] = {cmocka_unit_test(test_unreachable)}, frozen[] = {cmocka_unit_test(test_frozen)},
                          token[] = {cmocka_unit_test(test_token)}, thawed[] = {cmocka_unit_test(test_thawed)},
                          absent[] = {cmocka_unit_test(test_absent)};
  if (argc != 3) return 2;
  api = argv[1];
  settings = slurm_settings_default();
  settings.time = 300, settings.signal_lead = 0;
  if (slurm_cluster_open(api, &cluster, NULL) != CORE_OK) {
    printf("not ok 1 - %s\n", core_error_message());
    return 1;
  }
  int failed = 2;
  if (strcmp(argv[2], "healthy") == 0) failed = cmocka_run_group_tests(healthy, NULL, NULL);
  if (strcmp(argv[2], "brief") == 0) failed = cmocka_run_group_tests(brief, NULL, NULL);
  if (strcmp(argv[2], "down") == 0) failed = cmocka_run_group_tests(down, NULL, NULL);
  if (strcmp(argv[2], "token") == 0) failed = cmocka_run_group_tests(token, NULL, NULL);
  if (strcmp(argv[2], "frozen") == 0) failed = cmocka_run_group_tests(frozen, NULL, NULL);
  if (strcmp(argv[2], "thawed") == 0) failed = cmocka_run_group_tests(thawed, NULL, NULL);
  if (strcmp(argv[2], "absent") == 0) failed = cmocka_run_group_tests(absent, NULL, NULL);
  slurm_cluster_close(&cluster);
  core_text_free(&script);
  return failed;
}
