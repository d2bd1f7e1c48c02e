/* sweep/local/queue: the process that has read a request removes it. */
#include "test.h"

#include "store_workspace.h"

#include "sweep/local/queue.h"

/* The directory of the sweep "a". */
static void make_sweep(void) {
  char path[CORE_PATH_MAX];
  assert_ok(store_path_sweep(root, "a", NULL, path));
  assert_ok(core_files_make_directories(path));
}

static SweepQueueRequest read_request(bool expected) {
  SweepQueueRequest request;
  bool present;
  assert_ok(sweep_queue_read(root, "a", &request, &present));
  assert_int_equal(present, expected);
  return request;
}

static void test_claim(void **state) {
  (void)state;
  SweepQueueRequest taken;
  bool present, again;
  make_sweep();
  assert_ok(sweep_queue_claim(root, "a", 7, &taken, &present));
  assert_false(present); /* and nothing was written */
  read_request(false);
  const SweepQueueRequest asked = {.jobs = 3, .force = true, .requested_unix_s = 1.5e9};
  assert_ok(sweep_queue_write(root, "a", &asked));
  assert_ok(sweep_queue_claim(root, "a", 7, &taken, &present));
  assert_true(present);
  assert_true(taken.jobs == 3 && taken.force && taken.executor == 7 && taken.requested_unix_s == 1.5e9);
  assert_int_equal(read_request(true).executor, 7);
  assert_ok(sweep_queue_release(root, "a", 7, &again));
  assert_false(again);
  read_request(false);
}

static void test_asked_again(void **state) {
  (void)state;
  SweepQueueRequest taken;
  bool present, again;
  make_sweep();
  const SweepQueueRequest first = {.jobs = 1}, second = {.jobs = 2};
  assert_ok(sweep_queue_write(root, "a", &first));
  assert_ok(sweep_queue_claim(root, "a", 7, &taken, &present));
  assert_ok(sweep_queue_write(root, "a", &second));
  assert_ok(sweep_queue_release(root, "a", 7, &again));
  assert_true(again);
  assert_int_equal(read_request(true).jobs, 2);
  assert_ok(sweep_queue_claim(root, "a", 7, &taken, &present));
  assert_int_equal(taken.jobs, 2);
  assert_ok(sweep_queue_remove(root, "a")); /* sweep stop */
  assert_ok(sweep_queue_release(root, "a", 7, &again));
  assert_false(again);
  assert_ok(sweep_queue_remove(root, "a"));
}

/* Requests for parts of a sweep add up; one for all runs has them all. */
static void test_parts(void **state) {
  (void)state;
  make_sweep();
  const SweepQueueRequest a = {.where = "where=grid=a\nwhere=seed=0\n"}, b = {.where = "where=grid=b\n"}, all = {0};
  assert_ok(sweep_queue_write(root, "a", &a));
  assert_string_equal(read_request(true).where, a.where);
  assert_ok(sweep_queue_write(root, "a", &b));
  assert_string_equal(read_request(true).where, "where=grid=b\nor\nwhere=grid=a\nwhere=seed=0\n");
  assert_ok(sweep_queue_write(root, "a", &a)); /* again */
  assert_string_equal(read_request(true).where, "where=grid=b\nor\nwhere=grid=a\nwhere=seed=0\n");
  const SweepQueueRequest wide = {.where = "where=grid=a\n"}; /* more runs than the one with a seed */
  assert_ok(sweep_queue_write(root, "a", &wide));
  assert_string_equal(read_request(true).where,
                      "where=grid=a\nor\nwhere=grid=b\nor\nwhere=grid=a\nwhere=seed=0\n");
  assert_ok(sweep_queue_write(root, "a", &all));
  assert_string_equal(read_request(true).where, "");
  assert_ok(sweep_queue_write(root, "a", &b));
  assert_string_equal(read_request(true).where, "");
}

/* --force does not spread to queued runs, and is not lost to a request for others. */
static void test_force_of_parts(void **state) {
  (void)state;
  bool has_more_runs;

  make_sweep();
  const SweepQueueRequest a = {.jobs = 1, .where = "where=grid=a\n"}, all = {.requested_unix_s = 3e9};
  const SweepQueueRequest b = {.jobs = 1, .force = true, .requested_unix_s = 1.5e9, .where = "where=grid=b\n"};
  const SweepQueueRequest b_again = {.jobs = 2, .requested_unix_s = 1.6e9, .where = "where=grid=b\n"};

  assert_ok(sweep_queue_check(root, "a", &b, &has_more_runs));
  assert_false(has_more_runs);
  assert_ok(sweep_queue_write(root, "a", &a));

  assert_int_equal(sweep_queue_check(root, "a", &b, &has_more_runs), CORE_USAGE);
  assert_int_equal(sweep_queue_write(root, "a", &b), CORE_USAGE);
  assert_message("sweep stop a");
  assert_false(read_request(true).force);

  assert_ok(sweep_queue_check(root, "a", &all, &has_more_runs));
  assert_false(has_more_runs);
  assert_ok(sweep_queue_check(root, "a", &b_again, &has_more_runs));
  assert_true(has_more_runs);

  assert_ok(sweep_queue_write(root, "a", &all));
  assert_int_equal(sweep_queue_write(root, "a", &b), CORE_USAGE);
  assert_ok(sweep_queue_remove(root, "a"));

  assert_ok(sweep_queue_write(root, "a", &b));
  assert_int_equal(sweep_queue_write(root, "a", &a), CORE_USAGE);
  assert_int_equal(sweep_queue_write(root, "a", &all), CORE_USAGE);
  assert_ok(sweep_queue_write(root, "a", &b_again));

  const SweepQueueRequest kept = read_request(true);
  assert_true(kept.force && kept.requested_unix_s == 1.5e9 && kept.jobs == 2);
}

/* Held runs stay held when the sweep is submitted again; stopped ones are queued again. */
static void test_lists(void **state) {
  (void)state;
  static const char ids[][CORE_RUN_ID] = {"0123456789abcdef", "fedcba9876543210"};
  char held[SWEEP_QUEUE_RUNS] = "";
  make_sweep();
  const SweepQueueRequest all = {.jobs = 1}, part = {.jobs = 1, .where = "where=grid=a\n", .held = "all"};
  assert_ok(sweep_queue_hold(root, "a", "all")); /* nothing is queued */
  read_request(false);
  assert_ok(sweep_queue_write(root, "a", &all));
  assert_ok(sweep_queue_list_add(ids[0], held));
  assert_ok(sweep_queue_list_add(ids[0], held));
  assert_int_equal(strlen(held), CORE_RUN_ID);
  assert_ok(sweep_queue_hold(root, "a", held));
  assert_ok(sweep_queue_stop(root, "a", ids + 1, 1));
  SweepQueueRequest request = read_request(true);
  const StoreState pending = {.status = STORE_PENDING}, done = {.status = STORE_FINISHED};
  assert_true(sweep_queue_holds(&request, ids[0]) && !sweep_queue_holds(&request, ids[1]));
  assert_true(sweep_queue_has_stopped(&request, ids[1]) && !sweep_queue_has_stopped(&request, ids[0]));
  assert_true(sweep_queue_waits(&request, ids[0], &pending) && !sweep_queue_waits(&request, ids[1], &pending));
  assert_false(sweep_queue_waits(&request, ids[0], &done));

  assert_ok(sweep_queue_write(root, "a", &all));
  request = read_request(true);
  assert_true(sweep_queue_holds(&request, ids[0]) && !sweep_queue_has_stopped(&request, ids[1]));
  assert_ok(sweep_queue_hold(root, "a", ""));
  request = read_request(true);
  assert_false(sweep_queue_holds(&request, ids[0]));
  assert_ok(sweep_queue_remove(root, "a"));
  assert_ok(sweep_queue_write(root, "a", &part));
  request = read_request(true);
  assert_true(sweep_queue_holds(&request, ids[1]));
  assert_string_equal(request.where, part.where);
}

static void test_long_list(void **state) {
  (void)state;
  char list[SWEEP_QUEUE_RUNS] = "", id[CORE_RUN_ID];
  int code = CORE_OK;
  for (unsigned i = 0; i < 1000 && code == CORE_OK; i++) {
    snprintf(id, sizeof id, "%016x", i);
    code = sweep_queue_list_add(id, list);
  }
  assert_int_equal(code, CORE_USAGE);
  assert_message("name the sweep");
  assert_true(strlen(list) > 480 * CORE_RUN_ID && strlen(list) < SWEEP_QUEUE_RUNS);
}

static void test_older_file(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  make_sweep();
  assert_ok(store_path_sweep(root, "a", "queued", path));
  write_text(path, "jobs=4\nforce=1\nexecutor=9\n");
  const SweepQueueRequest request = read_request(true);
  assert_true(request.jobs == 4 && request.force && request.executor == 9 && request.requested_unix_s == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(test_claim), WORKSPACE_TEST(test_asked_again),
                                     WORKSPACE_TEST(test_parts), WORKSPACE_TEST(test_force_of_parts),
                                     WORKSPACE_TEST(test_older_file), WORKSPACE_TEST(test_lists),
                                     WORKSPACE_TEST(test_long_list)};
  return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
