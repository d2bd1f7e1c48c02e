/* Starts this program again as `sweep stop NAME` and the like (action.h). */
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
enum { SAID_MAX = 8 << 10, ARGUMENTS_MAX = 11 };
static const char *const verbs[] = {"stop", "retry"};

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Both outputs into a file in memory, so that nobody has to read along; a group of its own, since Ctrl-C here ends the
 * page and not what somebody has asked for. */
static int start(const char *const *arguments, ServeAction *action) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  const int output = memfd_create("sweep serve", MFD_CLOEXEC);
  if (output < 0) return core_error_errno(CORE_FAIL, "cannot make a file in memory");
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
    posix_spawn(&action->process, "/proc/self/exe", &files, &attributes, (char *const *)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  action->output = output;
  if (number == 0) return CORE_OK;
  close(output);
  errno = number;
  return core_error_errno(CORE_FAIL, "cannot start sweep %s", arguments[1]);
}

/* The end of what it said. */
static void take_output(ServeAction *action) {
  char buffer[SAID_MAX];
  const off_t size = lseek(action->output, 0, SEEK_END);
  const ssize_t got = pread(action->output, buffer, sizeof buffer, size > SAID_MAX ? size - SAID_MAX : 0);
  if (got > 0) core_text_append_bytes(&action->said, buffer, (size_t)got);
  close(action->output);
  action->output = -1;
}

static bool note_end(ServeAction *action, int how) {
  int status;
  if (action->process == 0 || waitpid(action->process, &status, how) != action->process) return false;
  action->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  action->process = 0;
  take_output(action);
  return true;
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

/* A failed run on this machine is taken up again by submitting its sweep: what is finished stays. It stays here, too,
 * where there is a Slurm. */
static size_t make_arguments(const char *root, const ServeAction *action, bool is_steered,
                             const char *arguments[ARGUMENTS_MAX]) {
  size_t count = 0;
  arguments[count++] = "sweep";
  arguments[count++] = action->verb == SERVE_STOP ? is_steered ? "cancel" : "stop" : is_steered ? "retry" : "submit";
  arguments[count++] = "--root";
  arguments[count++] = root;
  if (!is_steered) arguments[count++] = action->verb == SERVE_STOP ? "--no-wait" : "--local";
  if (action->verb == SERVE_RETRY) arguments[count++] = "--same-environment"; /* nobody meant the server's */
  arguments[count++] = "--";
  if (is_steered || action->verb == SERVE_RETRY || !action->run[0]) arguments[count++] = action->sweep;
  if (action->run[0] && (is_steered || action->verb == SERVE_STOP)) arguments[count++] = action->run;
  arguments[count] = NULL;
  return count;
}

int serve_action_start(ServeActions *actions, const char *root, ServeVerb verb, bool is_steered, const char *sweep,
                       const char *run, int64_t *number) {
  const char *arguments[ARGUMENTS_MAX];
  ServeAction made = {.number = actions->count + 1, .verb = verb, .started_unix_s = (double)time(NULL)};
  ServeAction *place = &actions->of[actions->count % SERVE_ACTIONS];
  int under_way = 0;
  for (size_t i = 0; i < SERVE_ACTIONS; i++)
    under_way += actions->of[i].process > 0 && !note_end(&actions->of[i], WNOHANG);
  if (under_way >= SERVE_ACTIONS_AT_ONCE || place->process > 0)
    return core_error(CORE_FAIL, "%d actions are under way; wait for their end", under_way);
  snprintf(made.sweep, sizeof made.sweep, "%s", sweep);
  snprintf(made.run, sizeof made.run, "%s", run ? run : "");
  make_arguments(root, &made, is_steered, arguments);
  TRY(start(arguments, &made));
  core_text_free(&place->said);
  *place = made;
  *number = ++actions->count;
  return CORE_OK;
}

json_t *serve_action_list(ServeActions *actions, bool *ended) {
  json_t *list = json_array();
  *ended = false;
  for (int64_t n = actions->count; n > 0 && n > actions->count - SERVE_ACTIONS; n--) {
    ServeAction *action = &actions->of[(n - 1) % SERVE_ACTIONS];
    *ended |= note_end(action, WNOHANG);
    const char *state = action->process > 0 ? "running" : action->exit_code == 0 ? "done" : "failed";
    json_array_append_new(
      list, json_pack("{s:I, s:s, s:s, s:s, s:f, s:s, s:o, s:o}", "id", (json_int_t)action->number, "action",
                      verbs[action->verb], "sweep", action->sweep, "run", action->run, "started_unix_s",
                      action->started_unix_s, "state", state, "exit_code",
                      action->process > 0 ? json_null() : json_integer(action->exit_code), "output",
                      core_json_text(core_text_string(&action->said))));
  }
  return list;
}

void serve_action_free(ServeActions *actions) {
  for (size_t i = 0; i < SERVE_ACTIONS; i++) {
    if (actions->of[i].number) note_end(&actions->of[i], 0);
    core_text_free(&actions->of[i].said);
  }
}
