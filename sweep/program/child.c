/* Builds the command line and the environment, starts the program, reads its pipes and judges its exit (child.h). */
#include "sweep/program/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/text.h"
#include "core/version.h"
#include "sweep/supervise/process.h"

enum {
  ARGUMENTS_MAX = 65536,
  LOG_BYTES_MAX = 64 << 20      /* limit of a program's output in log.txt, per attempt */
};

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
  static const char end[] = "\nstatus=$?\n[ $status -eq 0 ] || { echo \"setup failed with exit code $status\" >&2; "
                             "exit $status; }\nexec \"$@\"\n";
  CoreText text = {0};
  core_text_appendf(&text, "%s%s", setup, end);
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
  if (count == 0) return core_error(CORE_USAGE, "the command of this run is empty; correct its conditions");
  TRY(core_script_argv(program, core_script_text(program, CORE_SCRIPT_resume), &start->run, &arguments->resume,
                        &count));

  for (char *const *item = start->launcher; item && *item; item++) add_argument(arguments, *item);
  if (*setup) add_setup(arguments, setup);
  for (char **item = arguments->command; *item; item++) add_argument(arguments, *item);
  if (start->continues) {
    for (char **item = arguments->resume; *item; item++) add_argument(arguments, *item);
  }

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

/* Prepares the child: its environment and directory, and once more that its code is unchanged. */
static void prepare_child(void *context) {
  enum { EXIT_NOT_PREPARED = 126 };
  const ProgramStart *start = context;
  set_environment(start);
  if (chdir(start->directory) != 0) {
    fprintf(stderr, "cannot change to %s: %s\n", start->directory, strerror(errno));
    _exit(EXIT_NOT_PREPARED);
  }
  const char *changed = program_code_watch_find_changed(start->code);
  if (!changed) return;
  fprintf(stderr, "not started: its code %s was changed just now, and others can change it\n", changed);
  _exit(EXIT_NOT_PREPARED);
}

/* Makes a pipe whose read end does not block, and which the program does not inherit. */
static int make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) return core_error_errno(CORE_FAIL, "cannot make a pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return CORE_OK;
}

/* Starts the first process. It is killed with its supervisor, without which its metrics would be lost. output: file for
 * standard output; -1: the pipe. */
static int start_process(const ProgramStart *start, const Arguments *arguments, int output, ProgramChild *child) {
  int out[2], error[2];
  TRY(make_pipe(out));
  int code = make_pipe(error);
  if (code != CORE_OK) {
    close(out[0]);
    close(out[1]);
    return code;
  }

  const SweepProcess process = {.arguments = arguments->items, .output = output >= 0 ? output : out[1],
                                .error = error[1], .death_signal = SIGKILL, .has_group = true,
                                .prepare = prepare_child, .context = (void *)start};
  *child = (ProgramChild){.out = out[0], .error = error[0], .cpu_limit_s = INFINITY};
  code = sweep_process_start(&process, &child->process);
  close(out[1]);
  close(error[1]);
  if (code != CORE_OK) program_child_close(child);
  return code;
}

/* Makes way for the files of a new attempt, in a directory that others may write: a link of another user at their place
 * would let the program write to any file of this one. */
static int prepare_files(const ProgramStart *start, int *output) {
  *output = -1;
  TRY(core_files_remove(start->metrics));
  if (!start->output) return CORE_OK;
  TRY(core_files_open(start->output, CORE_FILES_NEW, output));
  fcntl(*output, F_SETFL, O_APPEND);
  return CORE_OK;
}

int program_child_start(const ProgramStart *start, ProgramChild *child) {
  Arguments arguments = {0};
  int output = -1, code = make_arguments(start, &arguments);
  if (code == CORE_OK) code = prepare_files(start, &output);
  if (code == CORE_OK) code = start_process(start, &arguments, output, child);
  if (output >= 0) close(output);
  free_arguments(&arguments);
  return code;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Returns the limit of CPU time of a process that has ended but is not reaped; INFINITY: none. */
static double read_cpu_limit(pid_t process) {
  static const char key[] = "Max cpu time";
  char limits[4096], hard[32];
  double limit_s;
  core_process_read_proc(process, "limits", limits, sizeof limits);
  const char *line = strstr(limits, key);
  const bool is_read = line && sscanf(line + sizeof key - 1, " %*s %31s", hard) == 1;
  return is_read && core_text_to_real(hard, &limit_s) ? limit_s : INFINITY;
}

static void note_end(ProgramChild *child) {
  struct rusage usage;
  child->cpu_limit_s = read_cpu_limit(child->process);
  if (wait4(child->process, &child->status, WNOHANG, &usage) != child->process) return;
  child->has_ended = true;
  child->cpu_s = sweep_process_cpu_s(&usage);
}

bool program_child_reap(ProgramChild *child) {
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      child->has_ended = true; /* ECHILD */
      return false;
    }
    if (info.si_pid == 0) return true;
    if (info.si_pid == child->process) note_end(child);
    else waitpid(info.si_pid, NULL, WNOHANG);
  }
}

void program_child_close(ProgramChild *child) {
  if (child->out >= 0) close(child->out);
  if (child->error >= 0) close(child->error);
  child->out = -1;
  child->error = -1;
}

int program_child_signal(const ProgramChild *child) {
  static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV};
  enum { PYTHON = 256, SIGNALS = 31 };
  const int code = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : 0;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    if (code == PYTHON - crashes[i]) return crashes[i]; /* sys.exit(subprocess.call(...)) */
  const int signal = sweep_process_signal(child->status, true);
  return WIFSIGNALED(child->status) || signal <= SIGNALS ? signal : 0;
}

bool program_child_has_used_cpu(const ProgramChild *child) {
  const int signal = program_child_signal(child);
  return signal == SIGXCPU || (signal == SIGKILL && sweep_process_is_cpu_limit(child->cpu_s, child->cpu_limit_s));
}

/* ---- its output -------------------------------------------------------------------------------------------------- */

void program_output_add(ProgramOutput *output, const char *bytes, size_t count) {
  if (output->logged_bytes >= LOG_BYTES_MAX) return;
  fwrite(bytes, 1, count, output->log);
  output->logged_bytes += (int64_t)count;
  if (output->logged_bytes >= LOG_BYTES_MAX)
    core_warn("the program has printed %d MiB; further output is not logged", LOG_BYTES_MAX >> 20);
}

static void add_error_line(void *context, const char *line, size_t length) {
  ProgramOutput *output = context;
  program_reason_add(&output->reason, line, length);
}

static void read_pipe(ProgramOutput *output, int *fd, bool is_error) {
  char buffer[65536];
  ssize_t bytes_read = -1;
  for (int i = 0; *fd >= 0 && i < 64; i++) {
    bytes_read = read(*fd, buffer, sizeof buffer);
    if (bytes_read <= 0) break;
    program_output_add(output, buffer, (size_t)bytes_read);
    if (is_error) program_tail_bytes(&output->error, buffer, (size_t)bytes_read, add_error_line, output);
  }
  fflush(output->log);
  if (bytes_read != 0) return;
  close(*fd);
  *fd = -1;
}

void program_output_read(ProgramOutput *output, ProgramChild *child) {
  read_pipe(output, &child->out, false);
  read_pipe(output, &child->error, true);
}

void program_output_end(ProgramOutput *output) { program_tail_end(&output->error, add_error_line, output); }
