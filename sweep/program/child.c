/* Builds the command line, forks, sets the environment and executes the program (child.h). */
#include "sweep/program/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/version.h"

enum { ARGUMENTS_MAX = 65536 };

/* Arguments of the whole command line: launcher, shell for setup, command, resume. */
typedef struct Arguments {
  char **items;                 /* [count] borrowed; NULL-terminated */
  size_t count;
  char **command, **resume;     /* owned */
  char *setup;                  /* owned */
} Arguments;

static void add_argument(Arguments *arguments, const char *argument) {
  arguments->items = core_memory_resize(arguments->items, (arguments->count + 2) * sizeof *arguments->items);
  arguments->items[arguments->count++] = (char *)argument;
  arguments->items[arguments->count] = NULL;
}

/* Adds a shell that runs the setup. `exec "$@"` passes the command's arguments on unchanged, so the shell parses only
 * the setup. */
static void add_setup(Arguments *arguments, const char *setup) {
  static const char rest[] = "\nstatus=$?\n[ $status -eq 0 ] || { echo \"setup failed with exit code $status\" >&2; "
                             "exit $status; }\nexec \"$@\"\n";
  CoreText text = {0};
  core_text_appendf(&text, "%s%s", setup, rest);
  arguments->setup = text.data;
  const char *shell = core_process_exists("bash") ? "bash" : "sh";
  add_argument(arguments, shell);
  add_argument(arguments, "-c");
  add_argument(arguments, arguments->setup);
  add_argument(arguments, "setup");
}

static int make_arguments(const ProgramStart *start, Arguments *arguments) {
  const CoreScript *program = start->config->program;
  const char *setup = core_script_text(program, CORE_SCRIPT_setup);
  size_t count;
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_command), &start->run, &arguments->command,
                        &count));
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_resume), &start->run, &arguments->resume,
                        &count));
  for (char *const *item = start->launcher; item && *item; item++) add_argument(arguments, *item);
  if (*setup) add_setup(arguments, setup);
  for (char **item = arguments->command; *item; item++) add_argument(arguments, *item);
  for (char **item = arguments->resume; *item && start->continues; item++) add_argument(arguments, *item);
  if (arguments->count < ARGUMENTS_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "the command has %zu arguments; at most %d are supported", arguments->count,
                    ARGUMENTS_MAX - 1);
}

static void free_arguments(Arguments *arguments) {
  core_script_argv_free(&arguments->command);
  core_script_argv_free(&arguments->resume);
  free(arguments->setup);
  free(arguments->items);
}

int program_child_log(const ProgramStart *start) {
  const CoreScript *program = start->config->program;
  CoreText line = {0};
  int code = core_script_quote(program, core_script_text(program, CORE_SCRIPT_command), &start->run, &line);
  if (code == CORE_OK && start->continues)
    code = core_script_quote(program, core_script_text(program, CORE_SCRIPT_resume), &start->run, &line);
  if (code == CORE_OK)
    core_info("attempt %d, version %s commit %s: %s", start->attempt, core_version(), core_commit(),
              core_text_string(&line));
  core_text_free(&line);
  return code;
}

static void set_environment(const ProgramStart *start) {
  char text[32];
  setenv("SWEEP_RUN", start->run.id, 1);
  setenv("SWEEP_DIR", start->run.dir, 1);
  setenv("SWEEP_CONFIG", start->run.config, 1);
  setenv("SWEEP_METRICS", start->metrics, 1);
  snprintf(text, sizeof text, "%lld", (long long)start->run.seed);
  setenv("SWEEP_SEED", text, 1);
  snprintf(text, sizeof text, "%d", start->attempt);
  setenv("SWEEP_ATTEMPT", text, 1);
  setenv("PYTHONUNBUFFERED", "1", 0); /* so that its output is shown immediately */
  snprintf(text, sizeof text, "%lld", (long long)start->threads);
  if (start->threads > 0) setenv("OMP_NUM_THREADS", text, 0);
}

static _Noreturn void exec_program(const ProgramStart *start, const Arguments *arguments, int out, int error,
                                     pid_t parent) {
  sigset_t none;
  struct sigaction default_action = {.sa_handler = SIG_DFL};
  setpgid(0, 0);
  for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &default_action, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* without a supervisor its metrics would be lost */
  if (getppid() != parent) _exit(1);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(error, STDERR_FILENO);
  if (start->output) {
    const int file = open(start->output, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0) out = file;
  }
  dup2(out, STDOUT_FILENO);
  set_environment(start);
  if (chdir(start->directory) != 0) {
    fprintf(stderr, "cannot change to %s: %s\n", start->directory, strerror(errno));
    _exit(126);
  }
  execvp(arguments->items[0], arguments->items);
  fprintf(stderr, "cannot start %s: %s\n", arguments->items[0], strerror(errno));
  _exit(127);
}

static int start_process(const ProgramStart *start, const Arguments *arguments, ProgramChild *child) {
  int out[2], error[2];
  if (pipe2(out, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");
  if (pipe2(error, O_CLOEXEC) != 0) {
    close(out[0]);
    close(out[1]);
    return core_error_errno(CORE_FAIL, "cannot make a pipe");
  }
  const pid_t parent = getpid(), process = fork();
  if (process == 0) exec_program(start, arguments, out[1], error[1], parent);
  close(out[1]);
  close(error[1]);
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  fcntl(error[0], F_SETFL, O_NONBLOCK);
  if (process < 0) {
    close(out[0]);
    close(error[0]);
    return core_error_errno(CORE_FAIL, "cannot start a process");
  }
  setpgid(process, process); /* in both processes, so that the order does not matter */
  *child = (ProgramChild){process, out[0], error[0]};
  return CORE_OK;
}

int program_child_start(const ProgramStart *start, ProgramChild *child) {
  Arguments arguments = {0};
  int code = make_arguments(start, &arguments);
  if (code == CORE_OK) code = start_process(start, &arguments, child);
  free_arguments(&arguments);
  return code;
}

void program_child_kill(ProgramChild *child) {
  kill(-child->process, SIGKILL);
  if (child->out >= 0) close(child->out);
  if (child->error >= 0) close(child->error);
  child->out = -1;
  child->error = -1;
}
