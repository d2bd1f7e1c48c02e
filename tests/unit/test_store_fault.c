/* The store under kill -9 and on a full disk: nothing is lost, nothing is there twice, and the next try ends the
 * work. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

#include "store_workspace.h"

enum { RUNS = 4, ROWS = 5000, KILLS = 30 };

#define ITERATIONS "SELECT * FROM iteration ORDER BY run_id, iteration"
#define PROGRESS "SELECT * FROM run_log ORDER BY run_id, attempt, kind"
#define EVALUATIONS "SELECT * FROM evaluation ORDER BY run_id, iteration"

/* ---- a workspace worth killing ---------------------------------------------------------------------------------- */

static void write_many(void) {
  for (int64_t seed = 0; seed < RUNS; seed++) {
    char id[CORE_RUN_ID], path[CORE_PATH_MAX];
    make_run(seed, id);
    write_rows(id, 1, 1, ROWS, (double)seed);
    write_rows(id, 2, ROWS - 100, ROWS + 100, (double)seed + 0.5);
    write_evaluation(id, 1, 10, "public", 0.5);
    /* One line of each is damaged: its count must not double either. */
    assert_ok(store_path_run(root, id, "stats.1.tsv", path));
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "#", 1, 3000 + 100 * seed), 1);
    close(fd);
    write_state(id, STORE_FINISHED, 2, ROWS);
  }
}

static char *digest(void) {
  char *rows = query_text(ITERATIONS), *progress = query_text(PROGRESS), *evaluations = query_text(EVALUATIONS);
  CoreText text = {0};
  core_text_appendf(&text, "%s%s%s", rows, progress, evaluations);
  free(rows);
  free(progress);
  free(evaluations);
  return text.data;
}

/* Runs `work` in a child that is killed after a number of microseconds, counted from when `began`, if any, is true
 * of it. Did it end by itself? */
static bool killed_work(int (*work)(void), bool (*began)(void), long after_us) {
  int status;
  pid_t child = fork();
  if (child == 0) _exit(work());
  while (began && !began()) usleep(500);
  nanosleep(&(struct timespec){.tv_sec = after_us / 1000000, .tv_nsec = after_us % 1000000 * 1000}, NULL);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return WIFEXITED(status);
}

static int import_work(void) {
  StoreDatabase *database;
  StoreImport result;
  int code = store_database_open(database_path, false, &database);
  if (code == CORE_OK) code = store_import(database, root, NULL, true, &result);
  store_database_close(&database);
  return code;
}

static int rebuild_work(void) {
  StoreImport result;
  return store_rebuild(root, &result);
}

/* Measures how long the work takes, in microseconds; kills are spread over it. */
static long measure(int (*work)(void)) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  assert_int_equal(work(), CORE_OK);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - start.tv_sec) * 1000000 + (end.tv_nsec - start.tv_nsec) / 1000;
}

/* ---- kill -9 ---------------------------------------------------------------------------------------------------- */

static void remove_database(void) {
  char path[CORE_PATH_MAX + 8];
  static const char *const endings[] = {"", "-wal", "-shm"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", database_path, endings[i]);
    unlink(path);
  }
}

static void test_import_killed_at_random_moments(void **state) {
  (void)state;
  int killed = 0;
  write_many();
  long whole_us = measure(import_work);
  char *expected = digest();
  srand(7);
  for (int i = 0; i < KILLS || killed < KILLS / 3; i++) { /* a later import may be quicker than the one measured */
    assert_true(i < 20 * KILLS);
    if (i % 3 == 0) remove_database(); /* the others continue where the last was killed */
    killed += !killed_work(import_work, NULL, rand() % whole_us);
    if (i % 3 != 2) continue;
    assert_int_equal(import_work(), CORE_OK);
    char *now = digest();
    assert_string_equal(now, expected);
    free(now);
  }
  assert_query("PRAGMA integrity_check", "ok\n");
  free(expected);
}

static void test_rebuild_killed_at_random_moments(void **state) {
  (void)state;
  write_many();
  assert_int_equal(import_work(), CORE_OK);
  char *expected = digest();
  long whole_us = measure(rebuild_work);
  srand(8);
  for (int i = 0; i < 8; i++) {
    killed_work(rebuild_work, NULL, rand() % whole_us);
    char *now = digest(); /* the old one or the new one, never a part */
    assert_string_equal(now, expected);
    free(now);
  }
  assert_int_equal(rebuild_work(), CORE_OK);
  assert_query("PRAGMA integrity_check", "ok\n");
  free(expected);
}

/* A writer killed while it writes: all lines but the last are good, and the next attempt's lines too. */
static int endless_writer(void) {
  char id[CORE_RUN_ID];
  CoreConfig config = core_config_default();
  StoreRunlog *log;
  core_config_id(&config, id);
  if (store_runlog_open(root, id, 1, STORE_LOG_STATS, &log) != CORE_OK) return 1;
  for (int64_t i = 1;; i++) {
    StoreIteration row = make_row(i, 0);
    store_runlog_iteration(log, &row);
    if (i % 7 == 0 && store_runlog_flush(log, false) != CORE_OK) return 1;
  }
}

static char log_path[CORE_PATH_MAX];
static off_t log_size; /* before the writer that is running */

static off_t size_of_log(void) {
  struct stat log;
  return stat(log_path, &log) == 0 ? log.st_size : 0;
}
static bool has_written(void) { return size_of_log() > log_size + 4096; }

static void test_writer_killed(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  make_run(0, id);
  assert_ok(store_path_run(root, id, "stats.1.tsv", log_path));
  for (int i = 0; i < 10; i++) {
    log_size = size_of_log();
    assert_false(killed_work(endless_writer, has_written, 500 * i));
    StoreImport result = import_all();
    assert_true(result.damaged_lines <= 1);
  }
  assert_query("SELECT count(*) = max(iteration) AND min(kl) = 0.25 FROM iteration", "1\n");
}

/* ---- a full disk ------------------------------------------------------------------------------------------------ */

static bool mount_small(void **state) {
  if (workspace_setup(state) != 0) return false;
  return geteuid() == 0 && mount("tmpfs", root, "tmpfs", 0, "size=6m") == 0;
}

/* Takes all but `bytes` of the small disk. */
static void fill_disk(size_t bytes) {
  char path[CORE_PATH_MAX];
  struct statvfs disk;
  assert_int_equal(statvfs(root, &disk), 0);
  assert_ok(core_files_path(path, "%s/filler", root));
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(posix_fallocate(fd, 0, (off_t)(disk.f_bavail * disk.f_frsize - bytes)), 0);
  close(fd);
}

static void empty_disk(void) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/filler", root));
  unlink(path);
}

static void full_disk(void) {
  char id[CORE_RUN_ID];
  StoreImport result;
  make_run(0, id);
  write_rows(id, 1, 1, 500, 0);
  import_all();
  write_rows(id, 1, 501, 4000, 0);
  for (size_t room = 0; room < 24000; room += 3000) {
    StoreDatabase *database = NULL;
    fill_disk(room);
    int code = store_database_open(database_path, false, &database);
    if (code == CORE_OK) code = store_import(database, root, NULL, true, &result);
    assert_int_equal(code, CORE_FAIL);
    assert_message("disk is full");
    store_database_close(&database);
    empty_disk();
    assert_int_equal(query_int("SELECT count(*) FROM iteration"), 500);
  }
  fill_disk(0);
  assert_int_equal(store_rebuild(root, &result), CORE_FAIL);
  StoreState running = {.status = STORE_RUNNING, .attempt = 1, .message = "x"};
  assert_int_equal(store_run_state_write(root, id, &running), CORE_FAIL);
  empty_disk();
  StoreState read;
  assert_ok(store_run_state_read(root, id, false, &read));
  assert_int_equal(read.status, STORE_PENDING);
  assert_int_equal(import_all().rows, 3500);
  assert_query("SELECT count(*), sum(iteration) FROM iteration", "4000|8002000\n");
  assert_query("PRAGMA integrity_check", "ok\n");
}

static void test_full_disk(void **state) {
  if (!mount_small(state)) {
    workspace_teardown(state);
    print_message("# a small tmpfs cannot be mounted here\n");
    skip();
  }
  full_disk();
}

/* For any free space: either all rows are in the new file, or the old one is unchanged. */
static void full_disk_at_rebuild(void) {
  enum { STEP = 8192, RUN_COUNT = 4, ROW_COUNT = 500 };
  char id[CORE_RUN_ID], old[CORE_PATH_MAX], answer[64];
  StoreImport result;
  size_t size, now_size, failed = 0, done = 0;
  for (int run = 0; run < RUN_COUNT; run++) {
    make_run(run, id);
    write_rows(id, 1, 1, ROW_COUNT, 0);
  }
  import_all();
  assert_ok(store_rebuild(root, &result)); /* the file as it is after a rebuild */
  assert_ok(core_files_path(old, "%s.old", database_path));
  snprintf(answer, sizeof answer, "%d\n", RUN_COUNT * ROW_COUNT);
  for (size_t room = 0; done < 4; room += STEP) {
    assert_true(room < (size_t)5 << 20);
    unlink(old);
    char *before = read_text(database_path, &size);
    fill_disk(room);
    int code = store_rebuild(root, &result);
    empty_disk();
    if (code == CORE_OK) {
      done++;
    } else {
      failed++;
      assert_message("disk");
      assert_message("is unchanged");
      char *now = read_text(database_path, &now_size);
      assert_int_equal(now_size, size);
      assert_memory_equal(now, before, size);
      assert_false(core_files_exists(old));
      free(now);
    }
    free(before);
    assert_query("PRAGMA integrity_check", "ok\n");
    assert_query("SELECT count(*) FROM iteration", answer);
  }
  assert_true(failed > 20);
}

static void test_full_disk_at_rebuild(void **state) {
  if (!mount_small(state)) {
    workspace_teardown(state);
    print_message("# a small tmpfs cannot be mounted here\n");
    skip();
  }
  full_disk_at_rebuild();
}

static int unmount(void **state) {
  umount2(root, MNT_DETACH);
  return workspace_teardown(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_import_killed_at_random_moments), WORKSPACE_TEST(test_rebuild_killed_at_random_moments),
    WORKSPACE_TEST(test_writer_killed), cmocka_unit_test_teardown(test_full_disk, unmount),
    cmocka_unit_test_teardown(test_full_disk_at_rebuild, unmount),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
