/* core/files: whole reads, writes that keep the old file through every failure, directories, locks
 * between processes. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/wait.h>

#include "core/files.h"

static const char *in_directory(const char *name) {
  static char paths[4][CORE_PATH_MAX];
  static unsigned next;
  char *path = paths[next++ % 4];
  assert_int_equal(core_files_path(path, "%s/%s", test_directory, name), CORE_OK);
  return path;
}

static void assert_holds(const char *path, const char *text) {
  char *data;
  size_t size;
  assert_int_equal(core_files_read(path, 0, &data, &size), CORE_OK);
  assert_int_equal(size, strlen(text));
  assert_string_equal(data, text);
  free(data);
}

static size_t count_files(const char *path) {
  char **names;
  size_t count;
  assert_int_equal(core_files_list(path, &names, &count), CORE_OK);
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return count;
}

static void writes_replace_whole_files(void **state) {
  const char *path = in_directory("a");
  struct stat status;
  (void)state;
  assert_int_equal(core_files_write_atomic(path, "first", 5), CORE_OK);
  assert_holds(path, "first");
  assert_int_equal(core_files_write_atomic(path, "2", 1), CORE_OK);
  assert_holds(path, "2");
  assert_int_equal(core_files_write_atomic(path, NULL, 0), CORE_OK);
  assert_holds(path, "");
  mode_t mask = umask(027);
  assert_int_equal(core_files_write_atomic(in_directory("masked"), "x", 1), CORE_OK);
  umask(mask);
  assert_int_equal(stat(in_directory("masked"), &status), 0);
  assert_int_equal(status.st_mode & 0777, 0640);
  assert_int_equal(count_files(test_directory), 2); /* no temporary stays */
}

static void relative_paths_work(void **state) {
  char before[CORE_PATH_MAX];
  (void)state;
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(test_directory), 0);
  int wrote = core_files_write_atomic("plain", "x", 1), made = core_files_make_directories("b/c/");
  bool there = core_files_exists("b/c");
  assert_int_equal(chdir(before), 0);
  assert_int_equal(wrote, CORE_OK);
  assert_int_equal(made, CORE_OK);
  assert_true(there);
  assert_holds(in_directory("plain"), "x");
}

static void reads_are_bounded_and_name_the_reason(void **state) {
  char *data;
  size_t size;
  (void)state;
  assert_int_equal(core_files_read(in_directory("none"), 0, &data, &size), CORE_FAIL);
  assert_message("none: No such file");
  assert_null(data);
  assert_int_equal(core_files_read(test_directory, 0, &data, &size), CORE_FAIL);
  assert_message("Is a directory");
  assert_int_equal(core_files_write_atomic(in_directory("ten"), "0123456789", 10), CORE_OK);
  assert_int_equal(core_files_read(in_directory("ten"), 9, &data, &size), CORE_FAIL);
  assert_message("larger than 9 bytes");
  assert_int_equal(core_files_read(in_directory("ten"), 10, &data, &size), CORE_OK);
  assert_int_equal(size, 10);
  free(data);
  assert_int_equal(core_files_read("/dev/zero", 100000, &data, &size), CORE_FAIL);
  assert_int_equal(core_files_read("/proc/self/status", 0, &data, &size), CORE_OK); /* st_size is 0 there */
  assert_memory_equal(data, "Name:", 5);
  assert_int_equal(strlen(data), size);
  free(data);
}

/* A directory that takes at most a megabyte. False where this process may not mount. */
static bool mount_small(const char *path) {
  assert_int_equal(core_files_make_directories(path), CORE_OK);
  return mount("tmpfs", path, "tmpfs", 0, "size=1m") == 0;
}

static void a_full_disk_keeps_the_old_file(void **state) {
  const char *small = in_directory("small");
  char path[CORE_PATH_MAX];
  (void)state;
  if (!mount_small(small)) {
    print_message("mounting a small tmpfs needs root\n");
    skip();
  }
  assert_int_equal(core_files_path(path, "%s/file", small), CORE_OK);
  char *large = calloc(1, 4 << 20);
  int first = core_files_write_atomic(path, "old", 3), second = core_files_write_atomic(path, large, 4 << 20);
  char *message = core_text_duplicate(core_error_message()), *data = NULL;
  size_t left = count_files(small), size = 0;
  core_files_read(path, 0, &data, &size);
  int unmounted = umount(small);
  free(large);
  assert_int_equal(unmounted, 0);
  assert_int_equal(first, CORE_OK);
  assert_int_equal(second, CORE_FAIL);
  assert_non_null(strstr(message, "file: No space left on device"));
  assert_int_equal(left, 1);
  assert_string_equal(data, "old");
  free(data);
  free(message);
}

/* Runs `body` as a user who is not root and may not write everywhere; its result is the exit status. */
static int as_nobody(int (*body)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
    _exit(body());
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int write_into_closed_directory(void) {
  int code = core_files_write_atomic(in_directory("closed/file"), "new", 3);
  if (code != CORE_FAIL || !strstr(core_error_message(), "closed/file: Permission denied")) return 1;
  code = core_files_make_directories(in_directory("closed/x/y"));
  return code == CORE_FAIL && strstr(core_error_message(), "Permission denied") ? 0 : 2;
}

static void no_permission_keeps_the_old_file(void **state) {
  (void)state;
  assert_int_equal(core_files_make_directories(in_directory("closed")), CORE_OK);
  assert_int_equal(core_files_write_atomic(in_directory("closed/file"), "old", 3), CORE_OK);
  assert_int_equal(chmod(test_directory, 0755), 0);
  assert_int_equal(chmod(in_directory("closed"), 0555), 0);
  int result = as_nobody(write_into_closed_directory);
  assert_int_equal(chmod(in_directory("closed"), 0755), 0);
  assert_int_equal(result, 0);
  assert_holds(in_directory("closed/file"), "old");
  assert_int_equal(count_files(in_directory("closed")), 1);
}

static void writes_that_can_not_be(void **state) {
  (void)state;
  assert_int_equal(core_files_make_directories(in_directory("folder/inner")), CORE_OK);
  assert_int_equal(core_files_write_atomic(in_directory("folder"), "x", 1), CORE_FAIL);
  assert_int_equal(core_files_write_atomic(in_directory("absent/x"), "x", 1), CORE_FAIL);
  assert_int_equal(core_files_write_atomic("", "x", 1), CORE_FAIL);
  assert_true(core_files_exists(in_directory("folder/inner")));
  char *endless = calloc(1, 2 * CORE_PATH_MAX);
  memset(endless, 'x', 2 * CORE_PATH_MAX - 1);
  assert_int_equal(core_files_write_atomic(endless, "x", 1), CORE_USAGE);
  assert_int_equal(core_files_make_directories(endless), CORE_USAGE);
  endless[300] = '\0';
  assert_int_equal(core_files_write_atomic(endless, "x", 1), CORE_FAIL);
  free(endless);
}

/* By links, so that a fault here would replace those and not the machine's devices. */
static void devices_and_pipes(void **state) {
  (void)state;
  char got[8] = {0};
  struct stat status;
  assert_int_equal(symlink("/dev/full", in_directory("full")), 0);
  assert_int_equal(core_files_write_atomic(in_directory("full"), "x", 1), CORE_FAIL);
  assert_message("No space left");
  assert_int_equal(lstat(in_directory("full"), &status), 0);
  assert_true(S_ISLNK(status.st_mode));
  assert_int_equal(mkfifo(in_directory("pipe"), 0600), 0);
  const int reader = open(in_directory("pipe"), O_RDONLY | O_NONBLOCK);
  assert_true(reader >= 0);
  assert_int_equal(core_files_write_unsynced(in_directory("pipe"), "told", 4), CORE_OK);
  assert_int_equal(read(reader, got, sizeof got), 4);
  assert_string_equal(got, "told");
  close(reader);
}

/* Opening any kind of file: nothing waits for a pipe's writer, and links are followed. */
static void only_plain_files_are_opened(void **state) {
  (void)state;
  int fd;
  FILE *file;
  assert_int_equal(mkfifo(in_directory("waiting"), 0600), 0);
  assert_int_equal(core_files_open_reading(in_directory("waiting"), &fd), CORE_FAIL);
  assert_message("it is not a regular file but a pipe");
  assert_int_equal(core_files_open_plain(in_directory("waiting"), &file), CORE_FAIL);
  assert_int_equal(symlink("/dev/null", in_directory("nothing")), 0);
  assert_int_equal(core_files_open_reading(in_directory("nothing"), &fd), CORE_FAIL);
  assert_message("it is not a regular file but a device");
  assert_int_equal(core_files_write_atomic(in_directory("plain"), "x", 1), CORE_OK);
  assert_int_equal(symlink("plain", in_directory("link")), 0);
  assert_int_equal(core_files_open_reading(in_directory("link"), &fd), CORE_OK);
  close(fd);
}

static void directories(void **state) {
  (void)state;
  assert_int_equal(core_files_make_directories(in_directory("p/q//r")), CORE_OK);
  assert_int_equal(core_files_make_directories(in_directory("p/q/r")), CORE_OK);
  assert_int_equal(core_files_write_atomic(in_directory("p/file"), "x", 1), CORE_OK);
  assert_int_equal(core_files_make_directories(in_directory("p/file/x")), CORE_FAIL);
  assert_message("p/file: a file of that name exists");
  assert_int_equal(core_files_make_directories(""), CORE_FAIL);
  char **names;
  size_t count;
  assert_int_equal(core_files_write_atomic(in_directory("p/B"), "x", 1), CORE_OK);
  assert_int_equal(core_files_list(in_directory("p"), &names, &count), CORE_OK);
  assert_int_equal(count, 3);
  assert_string_equal(names[0], "B");
  assert_string_equal(names[1], "file");
  assert_string_equal(names[2], "q");
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  assert_int_equal(core_files_list(in_directory("none"), &names, &count), CORE_FAIL);
}

static void removal_spares_what_it_should(void **state) {
  static const char *const refused[] = {"", "/", "//", ".", "..", "x/..", "x/.", "./"};
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    assert_int_equal(core_files_remove_tree(refused[i]), CORE_USAGE);
  assert_int_equal(core_files_make_directories(in_directory("keep")), CORE_OK);
  assert_int_equal(core_files_write_atomic(in_directory("keep/file"), "x", 1), CORE_OK);
  assert_int_equal(core_files_make_directories(in_directory("tree/deep")), CORE_OK);
  assert_int_equal(symlink(in_directory("keep"), in_directory("tree/link")), 0);
  assert_int_equal(core_files_remove_tree(in_directory("tree/")), CORE_OK);
  assert_false(core_files_exists(in_directory("tree")));
  assert_holds(in_directory("keep/file"), "x"); /* links are not followed */
  assert_int_equal(core_files_remove_tree(in_directory("tree")), CORE_OK);
}

/* Another member of the group exchanges a directory for a link to one of ours, again and again. */
static void removal_stays_inside(void **state) {
  enum { ROUNDS = 3, FILES = 200 };
  char name[64], outside[CORE_PATH_MAX], inside[CORE_PATH_MAX], link[CORE_PATH_MAX];
  (void)state;

  assert_int_equal(core_files_path(outside, "%s", in_directory("papers")), CORE_OK);
  assert_int_equal(core_files_path(inside, "%s", in_directory("run/a")), CORE_OK);
  assert_int_equal(core_files_path(link, "%s", in_directory("link")), CORE_OK);
  assert_int_equal(core_files_make_directories(outside), CORE_OK);
  for (int round = 0; round < ROUNDS; round++) {
    assert_int_equal(core_files_make_directories(inside), CORE_OK);
    for (int i = 0; i < FILES; i++) {
      snprintf(name, sizeof name, "papers/%d", i);
      assert_int_equal(core_files_write_unsynced(in_directory(name), "x", 1), CORE_OK);
      snprintf(name, sizeof name, "run/a/%d", i);
      assert_int_equal(core_files_write_unsynced(in_directory(name), "x", 1), CORE_OK);
    }

    assert_int_equal(symlink(outside, link), 0);
    const pid_t child = fork();
    if (child == 0)
      for (;;) renameat2(AT_FDCWD, inside, AT_FDCWD, link, RENAME_EXCHANGE);
    core_files_remove_tree(in_directory("run")); /* may fail: it is changed all the time */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);

    for (int i = 0; i < FILES; i++) {
      snprintf(name, sizeof name, "papers/%d", i);
      assert_holds(in_directory(name), "x");
    }
    assert_int_equal(core_files_remove_tree(in_directory("run")), CORE_OK);
    assert_int_equal(core_files_remove_tree(link), CORE_OK);
  }
}

static void removal_of_deep_trees(void **state) {
  enum { LEVELS = 1500, BRANCHES = 2 };
  char name[16];
  (void)state;
  assert_int_equal(core_files_make_directories(in_directory("deep")), CORE_OK);
  for (int branch = 0; branch < BRANCHES; branch++) {
    int fd = open(in_directory("deep"), O_RDONLY | O_DIRECTORY);
    for (int level = 0; level < LEVELS; level++) { /* a path longer than any call takes */
      snprintf(name, sizeof name, "d%d", level == 0 ? branch : level % 3);
      assert_int_equal(mkdirat(fd, name, 0777), 0);
      const int next = openat(fd, name, O_RDONLY | O_DIRECTORY);
      close(fd);
      fd = next;
    }
    close(fd);
  }
  assert_int_equal(core_files_remove_tree(in_directory("deep")), CORE_OK);
  char **names;
  size_t count;
  assert_int_equal(core_files_list(in_directory(""), &names, &count), CORE_OK);
  for (size_t i = 0; i < count; i++) {
    assert_null(strstr(names[i], "removed")); /* nothing is left next to it */
    free(names[i]);
  }
  free(names);
}

static void touch(const char *name, int age_s) {
  const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
  assert_int_equal(core_files_write_unsynced(in_directory(name), "x", 1), CORE_OK);
  assert_int_equal(utimensat(AT_FDCWD, in_directory(name), times, 0), 0);
}

static void leftovers_are_removed(void **state) {
  static const char *const kept[] = {"sweep.ini", ".sweep.ini.tmp", ".sweep.ini.x-1.tmp", ".1-2.tmp", ".a.1-2.tmp.x",
                                     "a.4194305-1.tmp", ".lock", ".a.4194305.tmp"};
  char living[64];
  (void)state;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) touch(kept[i], 7200);
  snprintf(living, sizeof living, ".sweep.ini.%ld-0.tmp", (long)getpid());
  touch(living, 7200);
  touch(".young.4194305-0.tmp", 60);
  touch(".sweep.ini.4194305-0.tmp", 7200); /* beyond the largest process number */
  touch(".my.long.name.4194305-12.tmp", 7200);
  core_files_remove_leftovers(in_directory(""));
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) assert_true(core_files_exists(in_directory(kept[i])));
  assert_true(core_files_exists(in_directory(living)));
  assert_true(core_files_exists(in_directory(".young.4194305-0.tmp")));
  assert_false(core_files_exists(in_directory(".sweep.ini.4194305-0.tmp")));
  assert_false(core_files_exists(in_directory(".my.long.name.4194305-12.tmp")));
  core_files_remove_leftovers(in_directory("none"));
}

static int try_lock(void) {
  int fd;
  int code = core_files_lock(in_directory("lock"), false, &fd);
  char holder[64];
  snprintf(holder, sizeof holder, "lock is locked by process %ld on ", (long)getppid());
  if (code == CORE_FAIL) return strstr(core_error_message(), holder) && fd == -1 ? 10 : 11;
  return code;
}

static void locks_exclude_and_die_with_their_owner(void **state) {
  int fd, ready[2];
  char byte;
  (void)state;

  assert_int_equal(core_files_lock(in_directory("lock"), false, &fd), CORE_OK);
  assert_int_equal(chmod(test_directory, 0755) + chmod(in_directory("lock"), 0666), 0);
  assert_int_equal(as_nobody(try_lock), 10);
  core_files_unlock(&fd);
  assert_int_equal(fd, -1);
  core_files_unlock(&fd);
  assert_int_equal(as_nobody(try_lock), CORE_OK);

  assert_int_equal(pipe(ready), 0);
  pid_t owner = fork();
  if (owner == 0) {
    int code = core_files_lock(in_directory("lock"), false, &fd);
    if (write(ready[1], code == CORE_OK ? "y" : "n", 1) == 1) pause();
    _exit(1);
  }

  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(byte, 'y');
  assert_int_equal(core_files_lock(in_directory("lock"), false, &fd), CORE_FAIL);
  kill(owner, SIGKILL);
  assert_int_equal(core_files_lock(in_directory("lock"), true, &fd), CORE_OK); /* waits until the owner is gone */
  waitpid(owner, NULL, 0);

  core_files_unlock(&fd);
  close(ready[0]);
  close(ready[1]);
  assert_int_equal(core_files_lock(in_directory("none/lock"), false, &fd), CORE_FAIL);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, test_directory_make, test_directory_remove)
  const struct CMUnitTest tests[] = {
    IN_FOLDER(writes_replace_whole_files),
    IN_FOLDER(relative_paths_work),
    IN_FOLDER(reads_are_bounded_and_name_the_reason),
    IN_FOLDER(a_full_disk_keeps_the_old_file),
    IN_FOLDER(no_permission_keeps_the_old_file),
    IN_FOLDER(writes_that_can_not_be),
    IN_FOLDER(devices_and_pipes),
    IN_FOLDER(only_plain_files_are_opened),
    IN_FOLDER(directories),
    IN_FOLDER(removal_spares_what_it_should), IN_FOLDER(removal_stays_inside), IN_FOLDER(removal_of_deep_trees),
    IN_FOLDER(leftovers_are_removed),
    IN_FOLDER(locks_exclude_and_die_with_their_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
