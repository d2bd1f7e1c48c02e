/* store/run and store/lease: config.ini, state files of every kind, and write access. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/terminal.h"
#include "store_workspace.h"

static void path_of(const char *id, const char *file, char path[CORE_PATH_MAX]) {
  assert_ok(store_path_run(root, id, file, path));
}

/* ---- config.ini ------------------------------------------------------------------------------------------------- */

static void test_prepare(void **state) {
  (void)state;
  char id[CORE_RUN_ID], again[CORE_RUN_ID], expected[CORE_RUN_ID], path[CORE_PATH_MAX];
  CoreConfig config = make_run(3, id), read = core_config_default();
  core_config_id(&config, expected);
  assert_string_equal(id, expected);
  path_of(id, "config.ini", path);
  assert_ok(core_config_read(path, &read));
  assert_int_equal(read.train.seed, 3);
  assert_ok(store_run_prepare(root, &config, again));
  config.train.threads = 7; /* an execution setting: the same run */
  snprintf(config.train.plan, sizeof config.train.plan, "later"); /* but it began without a plan */
  assert_ok(store_run_prepare(root, &config, again));
  assert_string_equal(again, id);
  read = core_config_default();
  assert_ok(core_config_read(path, &read));
  assert_int_equal(read.train.threads, 7);
  assert_string_equal(read.train.plan, "");
}

static void test_prepare_refuses_another_run(void **state) {
  (void)state;
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  CoreConfig config = make_run(3, id);
  path_of(id, "config.ini", path);
  write_text(path, "[train]\nseed = 4\n");
  assert_int_equal(store_run_prepare(root, &config, id), CORE_FAIL);
  assert_message("changed by hand");
  write_text(path, "[train\n\x01\x02"); /* damaged: rewritten */
  assert_ok(store_run_prepare(root, &config, id));
  config = core_config_default();
  assert_ok(core_config_read(path, &config));
  assert_int_equal(config.train.seed, 3);
}

/* ---- state ------------------------------------------------------------------------------------------------------ */

static void test_state_round_trip(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  StoreState read, written = {
    .status = STORE_FINISHED, .attempt = 2, .host = "node-3", .pid = 4711, .started_unix_s = 1.7e9 + 0.125,
    .heartbeat_unix_s = 1.7e9 + 5, .finished_unix_s = 1.7e9 + 6, .iteration = 100, .iterations = 120,
    .transitions = 52428800, .transitions_total = 3000000000, .steps_per_second = 123456.789, .solve_rate = NAN,
    .train_seconds = 0.1, .device = "cpu", .commit = "abc1234+", .message = "line one\nline two\x1b[31m"};

  make_run(0, id);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_PENDING);
  assert_true(isnan(read.solve_rate));

  assert_ok(store_run_state_write(root, id, &written));
  assert_ok(store_run_state_read(root, id, true, &read));

  assert_int_equal(read.status, STORE_FINISHED);
  assert_int_equal(read.attempt, 2);
  assert_string_equal(read.host, "node-3");
  assert_int_equal(read.pid, 4711);
  assert_true(read.started_unix_s == written.started_unix_s && read.finished_unix_s == written.finished_unix_s);
  assert_int_equal(read.iteration, 100);
  assert_int_equal(read.iterations, 120);
  assert_int_equal(read.transitions_total, 3000000000);
  assert_true(read.steps_per_second == written.steps_per_second && read.train_seconds == 0.1);
  assert_true(isnan(read.solve_rate));
  assert_string_equal(read.commit, "abc1234+");
  assert_string_equal(read.message, "line one line two?[31m"); /* one line, nothing a terminal obeys */

  written.status = STORE_LOST;
  assert_int_equal(store_run_state_write(root, id, &written), CORE_USAGE);
}

static void test_missing_directory_is_pending(void **state) {
  (void)state;
  StoreState read;
  assert_ok(store_run_state_read(root, "0123456789abcdef", true, &read));
  assert_int_equal(read.status, STORE_PENDING);
  assert_int_equal(store_run_state_read(root, "../../etc", true, &read), CORE_USAGE);
}

static void test_hostile_states(void **state) {
  (void)state;
  static const char *const texts[] = {
    "status", "status=", "status=lost\n", "status=dancing\n", "host=x\n", "status=running\nattempt=-1\n",
    "status=running\nattempt=99999999999\n", "status=running\npid=12x\n", "status=running\nsolve_rate=nan\n",
    "status=running\niteration=1e99\n"};
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  StoreState read;

  make_run(0, id);
  path_of(id, "state", path);

  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_text(path, texts[i]);
    assert_int_equal(store_run_state_read(root, id, true, &read), CORE_FAIL);
    assert_message(id);
  }

  /* Unknown keys are another version's; long and binary text is cut and cleaned. */
  FILE *file = fopen(path, "w");
  fputs("status=failed\nfuture=1\nno equals sign\nhost=", file);
  for (int i = 0; i < 5000; i++) fputc('h', file);
  fputs("\nmessage=\xff\xfe\x07 bad\n", file);
  fclose(file);

  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_FAILED);
  assert_int_equal(strlen(read.host), sizeof read.host - 1);
  assert_string_equal(read.message, "??? bad");

  file = fopen(path, "w");
  for (int i = 0; i < 1000; i++) fwrite("status=failed\0\0\x80\n", 1, 17, file);
  fclose(file);
  assert_int_equal(store_run_state_read(root, id, true, &read), CORE_FAIL);
}

static void test_random_states_never_crash(void **state) {
  (void)state;
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  StoreState read;
  size_t size;
  make_run(0, id);
  write_state(id, STORE_RUNNING, 1, 10);
  path_of(id, "state", path);
  char *good = read_text(path, &size);
  srand(1);
  for (int i = 0; i < 500; i++) {
    char *bad = core_text_duplicate(good);
    for (int flips = 1 + rand() % 4; flips; flips--) bad[(size_t)rand() % size] = (char)rand();
    FILE *file = fopen(path, "w");
    fwrite(bad, 1, (size_t)rand() % (size + 1), file);
    fclose(file);
    free(bad);
    if (store_run_state_read(root, id, true, &read) == CORE_OK) assert_true(read.attempt >= 0);
  }
  free(good);
}

static void test_status_names(void **state) {
  (void)state;
  StoreStatus status;
  for (int i = STORE_PENDING; i <= STORE_LOST; i++) {
    assert_true(store_status_from_name(store_status_name((StoreStatus)i), &status));
    assert_int_equal(status, i);
  }
  assert_false(store_status_from_name("Running", &status));
}

/* ---- leases ----------------------------------------------------------------------------------------------------- */

/* A child that holds the lease and writes "running" until it is killed. */
static pid_t start_holder(const char *id) {
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    StoreLease *lease;
    StoreState running = {.status = STORE_RUNNING, .attempt = 1, .pid = getpid(),
                          .heartbeat_unix_s = core_clock_unix_s()};
    gethostname(running.host, sizeof running.host - 1);
    bool good = store_run_acquire(root, id, &lease) == CORE_OK && store_run_state_write(root, id, &running) == CORE_OK;
    if (write(ready[1], good ? "y" : "n", 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(byte, 'y');
  close(ready[0]);
  close(ready[1]);
  return child;
}

static void kill_holder(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void test_lease_of_another_process(void **state) {
  (void)state;
  char id[CORE_RUN_ID], pid[32];
  StoreLease *lease = NULL;
  StoreState read;
  make_run(0, id);
  pid_t child = start_holder(id);
  assert_int_equal(store_run_acquire(root, id, &lease), CORE_FAIL);
  assert_null(lease);
  snprintf(pid, sizeof pid, "process %ld", (long)child);
  assert_message(pid);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_RUNNING);
  assert_int_equal(store_run_acquire(root, id, &lease), CORE_FAIL); /* asking does not free it */
  kill_holder(child);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_LOST);
  assert_ok(store_run_state_read(root, id, false, &read));
  assert_int_equal(read.status, STORE_RUNNING);
  assert_ok(store_run_acquire(root, id, &lease)); /* the stale lease is taken over */
  store_run_release(&lease);
  assert_null(lease);
}

static void test_lease_of_this_process(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  StoreLease *lease, *second = NULL;
  StoreState read, running = {.status = STORE_RUNNING, .attempt = 1};
  make_run(0, id);
  assert_ok(store_run_acquire(root, id, &lease));
  gethostname(running.host, sizeof running.host - 1);
  assert_ok(store_run_state_write(root, id, &running));
  assert_int_equal(store_run_acquire(root, id, &second), CORE_FAIL);
  assert_null(second);
  /* Reading the state must not drop the lock: another process is still refused. */
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_RUNNING);
  pid_t child = fork();
  if (child == 0) {
    StoreLease *other;
    _exit(store_run_acquire(root, id, &other) == CORE_FAIL ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  store_run_release(&lease);
  assert_ok(store_run_acquire(root, id, &lease));
  store_run_release(&lease);
}

/* Backdates the state's last write by `age_s`. */
static void set_age(const char *id, double age_s) {
  char path[CORE_PATH_MAX];
  path_of(id, "state", path);
  const struct timespec at = {.tv_sec = (time_t)(core_clock_unix_s() - age_s)}, times[2] = {at, at};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Two machines whose clocks are an hour apart: only the files' times count. */
static void test_other_hosts(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  StoreLease *lease;
  StoreState read, running = {.status = STORE_RUNNING, .attempt = 1, .host = "some-other-host", .pid = 12};
  make_run(0, id);
  running.heartbeat_unix_s = core_clock_unix_s() - 3600;
  assert_ok(store_run_state_write(root, id, &running));
  assert_true(fabs(store_run_age_s(root, id)) < STORE_LOST_AFTER_S);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_RUNNING);
  assert_int_equal(store_run_acquire(root, id, &lease), CORE_FAIL);
  assert_message("some-other-host");
  running.heartbeat_unix_s = core_clock_unix_s() + 3600;
  assert_ok(store_run_state_write(root, id, &running));
  set_age(id, STORE_LOST_AFTER_S + 5);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.status, STORE_LOST);
  assert_ok(store_run_acquire(root, id, &lease));
  store_run_release(&lease);
}

static void test_lease_without_directory(void **state) {
  (void)state;
  StoreLease *lease;
  assert_int_equal(store_run_acquire(root, "0123456789abcdef", &lease), CORE_FAIL);
  assert_int_equal(store_run_acquire(root, "nonsense", &lease), CORE_USAGE);
}

/* A file truncated by a power failure counts as never written; a flipped bit is detected; a state without a checksum
 * is read. */
static void test_states_of_a_bad_disk(void **state) {
  (void)state;
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  StoreState written = {.status = STORE_FINISHED, .attempt = 2, .iteration = 1234567}, read;
  size_t size;

  make_run(1, id);
  assert_ok(store_run_state_write(root, id, &written));
  assert_ok(store_path_run(root, id, "state", path));

  char *text = NULL;
  assert_ok(core_files_read(path, 0, &text, &size));
  const size_t digit = (size_t)(strstr(text, "1234567") - text);
  text[digit] ^= 8;
  write_text(path, text);
  assert_int_equal(store_run_state_read(root, id, true, &read), CORE_FAIL);
  assert_message("checksum");

  text[digit] ^= 8;
  *strstr(text, "crc32=") = '\0';
  write_text(path, text);
  assert_ok(store_run_state_read(root, id, true, &read));
  assert_int_equal(read.iteration, 1234567);
  free(text);

  for (int i = 0; i < 2; i++) {
    write_text(path, "");
    if (i) assert_int_equal(truncate(path, 300), 0);
    assert_ok(store_run_state_read(root, id, true, &read));
    assert_int_equal(read.status, STORE_PENDING);
  }

  assert_ok(store_path_run(root, id, "config.ini", path));
  write_text(path, "");
  make_run(1, id); /* rewritten */
  text = read_text(path, &size);
  assert_true(size > 100);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_prepare), WORKSPACE_TEST(test_prepare_refuses_another_run),
    WORKSPACE_TEST(test_state_round_trip), WORKSPACE_TEST(test_missing_directory_is_pending),
    WORKSPACE_TEST(test_hostile_states),
    WORKSPACE_TEST(test_random_states_never_crash), WORKSPACE_TEST(test_states_of_a_bad_disk),
    cmocka_unit_test(test_status_names),
    WORKSPACE_TEST(test_lease_of_another_process), WORKSPACE_TEST(test_lease_of_this_process),
    WORKSPACE_TEST(test_other_hosts), WORKSPACE_TEST(test_lease_without_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
