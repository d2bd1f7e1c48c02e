/* A worker process: starts it, exchanges requests and replies, and ends it. Every failure of a worker is reported as an
 * error; no wait is unbounded. */
#ifndef TRAINER_BRIDGE_PROCESS_H
#define TRAINER_BRIDGE_PROCESS_H
#include <sys/types.h>

#include "core/text.h"
#include "trainer/envs/bridge/bridge.h"

/* ---- bridge_output.c --------------------------------------------------------------------------------------------- */

/* Forwards the standard error of a process and keeps its last lines for error messages. */

enum { BRIDGE_OUTPUT_TAIL = 400 }; /* size of the text of bridge_output_tail, including NUL */

typedef struct BridgeOutput BridgeOutput;

/* Creates a pipe. The caller passes its write end, *writer, to a process and closes it. */
int bridge_output_open(BridgeOutput **output, int *writer);
/* Returns the last lines written, joined into one line without control characters; "" if there are none. Call it after
 * the process has exited; its child processes may still run. */
void bridge_output_tail(BridgeOutput *output, char tail[BRIDGE_OUTPUT_TAIL]);
/* Forwards the remaining output and closes the pipe. *output may be NULL. */
void bridge_output_close(BridgeOutput **output);

/* ---- bridge_process.c -------------------------------------------------------------------------------------------- */

typedef struct BridgeWorkerOptions {
  const char *task;      /* gym/<id>, atari/<Game>, envpool/<id> */
  const char *options;   /* space-separated key=value pairs for the worker */
  const char *python;    /* env.python; "": $SWEEP_PYTHON, else python3 */
  double timeout_s;      /* time limit of a reply */
  const char *timeout_hint; /* appended to the message of a timeout: "; ..." */
  int64_t spin_ns;       /* BridgeSpin of both sides */
  int worlds;
} BridgeWorkerOptions;

typedef struct BridgeWorker {
  BridgeWorkerOptions opts; /* strings are borrowed */
  Bridge *shared;        /* NULL: the worker is not running */
  uint64_t mapped;       /* size of the mapping in bytes */
  BridgeSpin spin;
  BridgeOutput *output;
  pid_t process;         /* 0: none */
  int file;              /* memfd of the shared memory; -1: none */
} BridgeWorker;

/* Starts a worker and waits until it has created its environments. On failure no process remains. CORE_USAGE: missing
 * Python, package or environment. CORE_REQUEUE: the run received a stop signal. */
int bridge_worker_start(const BridgeWorkerOptions *opts, BridgeWorker *worker);
/* Requests a reset or a step of all its worlds; the result is in shared memory after bridge_worker_await. */
void bridge_worker_request(BridgeWorker *worker, BridgeCommand command);
/* Waits for the reply. On failure the worker is ended. CORE_FAIL: it raised an error, died or timed out.
 * CORE_REQUEUE: the run received a stop signal. */
int bridge_worker_await(BridgeWorker *worker);
/* Ends the worker, if it is running. */
void bridge_worker_end(BridgeWorker *worker);
/* Enables (disables) reuse of workers: bridge_worker_end then caches up to 16 workers that had no request, for the next
 * start with the same options, so that planning many runs of a game starts one Python. Disabling ends them. Initially
 * disabled. */
void bridge_worker_set_reuse(bool enabled);

/* Starts a worker, waits for its first reply and ends it. Appends the reply's message, or the reason why there is none.
 * CORE_FAIL: `text` is that reason. CORE_REQUEUE: the run received a stop signal. */
int bridge_worker_run_once(const BridgeWorkerOptions *opts, CoreText *text);

/* Appends the relative directories of PYTHONPATH, separated by spaces. Workers ignore them. */
void bridge_append_relative_paths(CoreText *list);

/* Prints the tasks of `kind` (gym, atari, envpool) in that Python, one per line or as JSON. CORE_USAGE: missing Python,
 * package or kind; the worker printed the reason. */
int bridge_list(const char *python, const char *kind, bool json);

/* Returns the array at `offset` of the shared memory. */
static inline void *bridge_worker_array(const BridgeWorker *worker, uint64_t offset) {
  return (char *)worker->shared + offset;
}

#endif
