/* Child processes (process.h). Both output pipes are read concurrently, so that a child never blocks on them. */
#include "core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/terminal.h"

extern char **environ;
enum { OUTPUT_MAX = 256 << 20 };
static const double KILLED_S = 2; /* grace after SIGKILL */

bool core_process_exists(const char *name) {
  char path[CORE_PATH_MAX];
  const char *directories = getenv("PATH");
  for (const char *c = directories ? directories : "/usr/bin:/bin"; *c; c += *c == ':') {
    const size_t length = strcspn(c, ":");
    if (length > 0 && core_files_path(path, "%.*s/%s", (int)length, c, name) == CORE_OK && access(path, X_OK) == 0)
      return true;
    c += length;
  }
  return false;
}

typedef struct Child {
  pid_t pid;
  int in, out, error; /* parent's pipe ends; -1: closed */
} Child;

static int make_pipes(int in[2], int out[2], int error[2]) {
  if (pipe2(in, O_CLOEXEC) != 0) return -1;
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]), close(in[1]);
    return -1;
  }
  if (pipe2(error, O_CLOEXEC) == 0) return 0;
  close(in[0]), close(in[1]), close(out[0]), close(out[1]);
  return -1;
}

static int start(const char *const *arguments, char *const *environment, Child *child) {
  int in[2], out[2], error[2];
  if (make_pipes(in, out, error) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);

  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, error[1], 2);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  /* Own process group: Ctrl-C stops the parent, not a submission in progress. */
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  const int number = posix_spawnp(&child->pid, arguments[0], &actions, &attributes, (char *const *)arguments,
                                  environment ? environment : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]), close(out[1]), close(error[1]);
  child->in = in[1], child->out = out[0], child->error = error[0];

  if (number == 0) return CORE_OK;
  close(in[1]), close(out[0]), close(error[0]);
  errno = number;
  return core_error_errno(CORE_FAIL, "cannot start %s", arguments[0]);
}

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void take(int *fd, CoreText *text) {
  char buffer[65536];
  const ssize_t got = read(*fd, buffer, sizeof buffer);
  if (got > 0 && text->length < OUTPUT_MAX) core_text_append_bytes(text, buffer, (size_t)got);
  else if (got >= 0 || errno != EINTR) close_end(fd);
}

static void give(int *fd, const char **input) {
  const ssize_t put = write(*fd, *input, strlen(*input));
  if (put > 0) *input += put;
  if ((put < 0 && errno != EINTR && errno != EAGAIN) || !**input) close_end(fd);
}

/* Reads until both outputs are closed or the deadline has passed. */
static bool talk(Child *child, const char *input, double end_s, CoreProcessOutput *output) {
  if (!input || !*input) close_end(&child->in);
  else fcntl(child->in, F_SETFL, O_NONBLOCK);
  while (child->out >= 0 || child->error >= 0) {
    struct pollfd ends[3] = {{child->out, POLLIN, 0}, {child->error, POLLIN, 0}, {child->in, POLLOUT, 0}};
    const double left_s = end_s - core_clock_s();
    if (left_s <= 0) return false;
    if (poll(ends, 3, (int)(1000 * left_s) + 1) < 0) continue;
    if (child->out >= 0 && ends[0].revents) take(&child->out, &output->out);
    if (child->error >= 0 && ends[1].revents) take(&child->error, &output->error);
    if (child->in >= 0 && ends[2].revents) give(&child->in, &input);
  }
  return true;
}

/* Polls for the child's end until end_s, since waitpid has no deadline. Returns false if it still runs. */
static bool reap(pid_t pid, double end_s, int *status) {
  for (useconds_t pause_us = 1000;; pause_us = pause_us < 50000 ? 2 * pause_us : pause_us) {
    const pid_t got = waitpid(pid, status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return true;
    if (core_clock_s() >= end_s) return false;
    usleep(pause_us);
  }
}

/* Waits for the child until end_s, then kills its process group. A child in uninterruptible sleep (a lost disk or
 * network file system) is abandoned. */
static int finish(pid_t pid, double end_s, bool *timed_out) {
  int status = 0;
  if (!*timed_out && reap(pid, end_s, &status)) return status;
  *timed_out = true;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  return reap(pid, core_clock_s() + KILLED_S, &status) ? status : SIGKILL;
}

int core_process_run(const char *const *arguments, char *const *environment, const char *input, int timeout_s,
                     CoreProcessOutput *output) {
  Child child;
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
  *output = (CoreProcessOutput){0};
  TRY(start(arguments, environment, &child));
  sigaction(SIGPIPE, &ignore, &before); /* the child may not read its input */
  const double end_s = core_clock_s() + timeout_s;
  output->timed_out = !talk(&child, input, end_s, output);
  sigaction(SIGPIPE, &before, NULL);
  close_end(&child.in), close_end(&child.out), close_end(&child.error);
  const int status = finish(child.pid, end_s, &output->timed_out);
  output->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return CORE_OK;
}

void core_process_output_free(CoreProcessOutput *output) {
  core_text_free(&output->out);
  core_text_free(&output->error);
}

size_t core_process_read_proc(pid_t process, const char *file, char *buffer, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)process, file);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  ssize_t got = 1;
  while (fd >= 0 && got > 0 && length + 1 < capacity) {
    got = read(fd, buffer + length, capacity - 1 - length);
    if (got > 0) length += (size_t)got;
  }
  if (fd >= 0) close(fd);
  buffer[length] = '\0';
  return length;
}

bool core_process_find_parent(pid_t process, pid_t *parent, pid_t *group, char *state) {
  char text[512];
  int parent_id, group_id;
  core_process_read_proc(process, "stat", text, sizeof text);

  const char *end = strrchr(text, ')'); /* the name may contain any character */
  if (!end || sscanf(end + 1, " %c %d %d", state, &parent_id, &group_id) != 3) return false;
  *parent = parent_id;
  *group = group_id;
  return true;
}

/* ---- this program ------------------------------------------------------------------------------------------------ */

int core_program_path(char path[CORE_PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, CORE_PATH_MAX - 1);
  if (length <= 0) return core_error_errno(CORE_FAIL, "/proc/self/exe");
  path[length] = '\0';
  /* After an upgrade, the running file has no name; the new one has its place. */
  static const char deleted[] = " (deleted)";
  const size_t suffix = sizeof deleted - 1;
  if ((size_t)length > suffix && strcmp(path + length - suffix, deleted) == 0 && access(path, F_OK) < 0)
    path[(size_t)length - suffix] = '\0';
  return CORE_OK;
}

int core_program_directory(char directory[CORE_PATH_MAX]) {
  TRY(core_program_path(directory));
  *strrchr(directory, '/') = '\0'; /* the path is absolute */
  return CORE_OK;
}

int core_program_library_file(const char *name, char path[CORE_PATH_MAX]) {
  char directory[CORE_PATH_MAX];
  TRY(core_program_path(directory));
  for (char *slash; (slash = strrchr(directory, '/')) != NULL;) {
    *slash = '\0';
    TRY(core_files_path(path, "%s/lib/sweep/%s", directory, name));
    if (core_files_exists(path)) return CORE_OK;
  }
  return core_error(CORE_FAIL, "lib/sweep/%s is not there; make it with `make`, or install it with `make install`",
                    name);
}
