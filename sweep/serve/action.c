/* Runs this program as `sweep stop NAME` and the like. */
#include "sweep/serve/action.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
enum { OUTPUT_MAX = 8 << 10, ARGUMENTS_MAX = 11 };
static const char *const verb_names[] = {"stop", "retry"};

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Starts the process with stdout and stderr in a memory file, which needs no reader, and in a process group of its own,
 * so that Ctrl-C ends the server but not its actions. */
static int spawn(const char *const *arguments, ServeAction *action) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  const int output = memfd_create("sweep serve", MFD_CLOEXEC);
  if (output < 0) return core_error_errno(CORE_FAIL, "cannot create a memory file");

  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_adddup2(&files, output, 2);

  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  const int number =
    posix_spawn(&action->pid, "/proc/self/exe", &files, &attributes, (char *const *)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  action->output_fd = output;

  if (number == 0) return CORE_OK;
  close(output);
  errno = number;
  return core_error_errno(CORE_FAIL, "cannot start sweep %s", arguments[1]);
}

/* Keeps the end of the output. */
static void read_output(ServeAction *action) {
  char buffer[OUTPUT_MAX];
  const off_t size = lseek(action->output_fd, 0, SEEK_END);
  const ssize_t got = pread(action->output_fd, buffer, sizeof buffer, size > OUTPUT_MAX ? size - OUTPUT_MAX : 0);
  if (got > 0) core_text_append_bytes(&action->output, buffer, (size_t)got);
  close(action->output_fd);
  action->output_fd = -1;
}

/* Takes the exit code of a process that has ended. options: of waitpid. false: it is still running. */
static bool reap(ServeAction *action, int options) {
  int status;
  if (action->pid == 0 || waitpid(action->pid, &status, options) != action->pid) return false;
  action->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  action->pid = 0;
  read_output(action);
  return true;
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

/* Makes the command line. Submitting a sweep again retries its failed runs; --local keeps it on this machine even if
 * there is a Slurm. */
static size_t make_arguments(const char *root, const ServeAction *action, bool is_local,
                             const char *arguments[ARGUMENTS_MAX]) {
  size_t count = 0;
  arguments[count++] = "sweep";
  arguments[count++] = action->verb == SERVE_STOP ? "stop" : "submit";
  arguments[count++] = "--root";
  arguments[count++] = root;
  if (action->verb == SERVE_STOP) arguments[count++] = "--no-wait";
  else arguments[count++] = "--same-environment"; /* not that of the server */
  if (action->verb == SERVE_RETRY && is_local) arguments[count++] = "--local";
  arguments[count++] = "--";
  arguments[count++] = action->sweep;
  if (action->run[0]) arguments[count++] = action->run;
  arguments[count] = NULL;
  return count;
}

int serve_action_start(ServeActions *actions, const char *root, ServeVerb verb, bool is_local, const char *sweep,
                       const char *run, int64_t *number) {
  const char *arguments[ARGUMENTS_MAX];
  ServeAction added = {.number = actions->count + 1, .verb = verb, .started_unix_s = (double)time(NULL)};
  ServeAction *slot = &actions->list[actions->count % SERVE_ACTIONS];
  int running = 0;

  for (size_t i = 0; i < SERVE_ACTIONS; i++)
    running += actions->list[i].pid > 0 && !reap(&actions->list[i], WNOHANG);
  if (running >= SERVE_ACTIONS_RUNNING_MAX || slot->pid > 0)
    return core_error(CORE_FAIL, "%d actions are already running; wait until they end", running);

  snprintf(added.sweep, sizeof added.sweep, "%s", sweep);
  snprintf(added.run, sizeof added.run, "%s", run ? run : "");
  make_arguments(root, &added, is_local, arguments);
  TRY(spawn(arguments, &added));

  core_text_free(&slot->output);
  *slot = added;
  *number = ++actions->count;
  return CORE_OK;
}

json_t *serve_action_list(ServeActions *actions, bool *ended) {
  json_t *list = json_array();
  *ended = false;
  for (int64_t n = actions->count; n > 0 && n > actions->count - SERVE_ACTIONS; n--) {
    ServeAction *action = &actions->list[(n - 1) % SERVE_ACTIONS];
    *ended |= reap(action, WNOHANG);
    const char *state = action->pid > 0 ? "running" : action->exit_code == 0 ? "done" : "failed";
    json_array_append_new(
      list, json_pack("{s:I, s:s, s:s, s:s, s:f, s:s, s:o, s:o}", "id", (json_int_t)action->number, "action",
                      verb_names[action->verb], "sweep", action->sweep, "run", action->run, "started_unix_s",
                      action->started_unix_s, "state", state, "exit_code",
                      action->pid > 0 ? json_null() : json_integer(action->exit_code), "output",
                      core_json_text(core_text_string(&action->output))));
  }
  return list;
}

void serve_action_free(ServeActions *actions) {
  for (size_t i = 0; i < SERVE_ACTIONS; i++) {
    if (actions->list[i].number) reap(&actions->list[i], 0);
    core_text_free(&actions->list[i].output);
  }
}
