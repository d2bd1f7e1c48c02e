/* What --control allows: stop and retry. Each is this program's own command (`sweep stop`, `sweep retry`, `sweep
 * submit --local`) started as a process of its own, without a shell, with names that the workspace is known to have.
 * The server does not wait for it; what it said can be read afterwards. */
#ifndef SWEEP_SERVE_ACTION_H
#define SWEEP_SERVE_ACTION_H
#include <stdbool.h>
#include <sys/types.h>

#include "core/json.h"

enum { SERVE_ACTIONS = 16 /* that are remembered */, SERVE_ACTIONS_AT_ONCE = 4 };

typedef enum ServeVerb { SERVE_STOP, SERVE_RETRY } ServeVerb;

typedef struct ServeAction {
  int64_t number;             /* 1, 2, ...; 0: none */
  ServeVerb verb;
  char sweep[72], run[24];    /* run: "" for the whole sweep */
  pid_t process;              /* 0: has ended */
  int output;                 /* a file in memory with what it said; -1: taken into `said` */
  int exit_code;
  double started_unix_s;
  CoreText said;
} ServeAction;

typedef struct ServeActions { ServeAction of[SERVE_ACTIONS]; int64_t count; } ServeActions; /* zero-initialise */

/* Of sweep `sweep`, or of its run `run` (NULL: all). `is_steered`: by `sweep cancel` and `sweep retry`, which are for
 * what Slurm has, and for runs that a rule has stopped; else by `sweep stop` and `sweep submit --local`. CORE_FAIL:
 * it cannot be started, or too many are under way. */
int serve_action_start(ServeActions *actions, const char *root, ServeVerb verb, bool is_steered, const char *sweep,
                       const char *run, int64_t *number);
/* Lists the remembered actions, the latest first: [{"id", "action", "sweep", "run", "started_unix_s", "state",
 * "exit_code", "output"}]. *ended: whether one has ended since the last call. */
json_t *serve_action_list(ServeActions *actions, bool *ended);
/* Waits for those under way. */
void serve_action_free(ServeActions *actions);

#endif
