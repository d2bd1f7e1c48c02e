/* Forks, delivers signals through a descriptor, and decodes wait statuses (process.h). */
#include "sweep/supervise/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"

/* ---- the start --------------------------------------------------------------------------------------------------- */

/* Reads the first line of a file into `line`, with its carriage return; false: it cannot be read. */
static bool read_first_line(const char *path, char *line, size_t capacity) {
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, line, capacity - 1);
  close(file);
  line[length > 0 ? length : 0] = '\0';
  line[strcspn(line, "\n")] = '\0';
  return *line != '\0';
}

const char *sweep_process_explain(const char *path, char *buffer, size_t capacity) {
  char line[256];
  *buffer = '\0';
  if (!read_first_line(path, line, sizeof line) || strncmp(line, "#!", 2) != 0) return buffer;

  const char *interpreter = line + 2 + strspn(line + 2, " \t");
  const size_t length = strcspn(interpreter, " \t\r");
  const bool is_windows = strchr(interpreter, '\r') != NULL;
  line[interpreter - line + strcspn(interpreter, "\r")] = '\0';

  if (is_windows) {
    snprintf(buffer, capacity, "the script has Windows line ends, so its interpreter is '%s\\r'; convert it with "
             "sed -i 's/\\r$//' %s", interpreter, path);
  } else {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)length, interpreter);
    if (access(name, X_OK) != 0)
      snprintf(buffer, capacity, "its interpreter '%s' is missing (first line of the script)", name);
  }
  return buffer;
}

static _Noreturn void fail_exec(const char *program) {
  char explanation[512];
  const int error = errno;
  const char *why = strchr(program, '/') ? sweep_process_explain(program, explanation, sizeof explanation) : "";
  fprintf(stderr, "cannot start %s: %s\n", program, *why ? why : strerror(error));
  _exit(SWEEP_EXIT_NOT_EXECUTABLE);
}

static _Noreturn void execute(const SweepProcess *process, pid_t parent) {
  sigset_t none;
  const struct sigaction default_action = {.sa_handler = SIG_DFL};
  if (process->has_group) setpgid(0, 0);
  for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &default_action, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);

  prctl(PR_SET_PDEATHSIG, process->death_signal);
  if (getppid() != parent) _exit(CORE_REQUEUE); /* the parent died before prctl */

  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(process->error, STDERR_FILENO);
  dup2(process->output, STDOUT_FILENO);

  process->prepare(process->context);
  execvp(process->arguments[0], process->arguments);
  fail_exec(process->arguments[0]);
}

int sweep_process_start(const SweepProcess *process, pid_t *id) {
  const pid_t parent = getpid(), child = fork();
  if (child == 0) execute(process, parent);
  if (child < 0) return core_error_errno(CORE_FAIL, "cannot start a process");
  if (process->has_group) setpgid(child, child); /* in both processes, so that the order does not matter */
  *id = child;
  return CORE_OK;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

int sweep_signals_open(const int *signals, size_t count, int *fd) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
  sigprocmask(SIG_BLOCK, &set, NULL);
  *fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  return *fd < 0 ? core_error_errno(CORE_FAIL, "cannot wait for signals") : CORE_OK;
}

int sweep_signals_wait(int fd, const int *inputs, size_t count, int timeout_ms, pid_t *sender) {
  enum { INPUTS_MAX = 8 };
  struct signalfd_siginfo info;
  struct pollfd polled[1 + INPUTS_MAX] = {{.fd = fd, .events = POLLIN}};
  CORE_CHECK(count <= INPUTS_MAX);
  for (size_t i = 0; i < count; i++) polled[1 + i] = (struct pollfd){.fd = inputs[i], .events = POLLIN};
  if (poll(polled, (nfds_t)(1 + count), timeout_ms) < 0 && errno != EINTR) usleep((useconds_t)timeout_ms * 1000);

  if (read(fd, &info, sizeof info) != (ssize_t)sizeof info) return 0;
  *sender = (pid_t)info.ssi_pid;
  return (int)info.ssi_signo;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

int sweep_process_signal(int status, bool below_launcher) {
  enum { SIGNALED = 128 };
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  return below_launcher && WEXITSTATUS(status) > SIGNALED ? WEXITSTATUS(status) - SIGNALED : 0;
}

double sweep_process_cpu_s(const struct rusage *usage) {
  return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
         1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

bool sweep_process_is_cpu_limit(double cpu_s, double limit_s) {
  static const double tolerance = 0.75; /* the kernel counts ticks, and time stolen from a virtual machine */
  return cpu_s >= tolerance * limit_s;
}
