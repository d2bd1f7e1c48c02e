/* sweep/local/queue: the process that has read a request removes it. */
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
                                     WORKSPACE_TEST(test_parts), WORKSPACE_TEST(test_older_file)};
  return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
