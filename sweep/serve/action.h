/* Actions of --control: stop and retry. Each runs a command of this program (`sweep stop`, `sweep submit`) as a child
 * process, without a shell and with names that exist in the workspace. The server does not wait for it; its output can
 * be read afterwards. */
#ifndef SWEEP_SERVE_ACTION_H
#define SWEEP_SERVE_ACTION_H
#include <stdbool.h>
#include <sys/types.h>

#include "core/json.h"

enum { SERVE_ACTIONS = 16 /* remembered */, SERVE_ACTIONS_RUNNING_MAX = 4 };

typedef enum ServeVerb { SERVE_STOP, SERVE_RETRY } ServeVerb;

typedef struct ServeAction {
  int64_t number;             /* 1, 2, ...; 0: none */
  ServeVerb verb;
  char sweep[72], run[24];    /* run: "" for the whole sweep */
  pid_t pid;                  /* 0: has exited */
  int output_fd;              /* memory file with stdout and stderr; -1: already in `output` */
  int exit_code;
  double started_unix_s;
  CoreText output;
} ServeAction;

typedef struct ServeActions { ServeAction list[SERVE_ACTIONS]; int64_t count; } ServeActions; /* zero-initialize */

/* Starts an action on a sweep, or on its run `run` (NULL: all runs). is_local: retries it on
 * this machine even if there is a Slurm. CORE_FAIL: it
 * cannot be started, or too many actions are running. */
int serve_action_start(ServeActions *actions, const char *root, ServeVerb verb, bool is_local, const char *sweep,
                       const char *run, int64_t *number);
/* Lists the remembered actions, the latest first: [{"id", "action", "sweep", "run", "started_unix_s", "state",
 * "exit_code", "output"}]. *ended: whether one has ended since the last call. */
json_t *serve_action_list(ServeActions *actions, bool *ended);
/* Waits for running actions and frees all. */
void serve_action_free(ServeActions *actions);

#endif
