/* A worker process: started, asked, waited for and ended. Whatever becomes of it is an error of the trainer's with a
 * message, never a wait without end. */
#ifndef TRAINER_BRIDGE_PROCESS_H
#define TRAINER_BRIDGE_PROCESS_H
#include <sys/types.h>

#include "core/text.h"
#include "trainer/envs/bridge/bridge.h"
#include "trainer/envs/bridge/bridge_output.h"

typedef struct BridgeOrder {
  const char *task;      /* gym/<id>, atari/<Game>, envpool/<id> */
  const char *options;   /* words key=value for the worker */
  const char *python;    /* env.python; "": $SWEEP_PYTHON, else python3 */
  double timeout_s;      /* that an answer may take */
  const char *timeout_hint; /* "; what sets it", for the message where it takes longer */
  int64_t look_ns;       /* BridgePatience of both sides */
  int worlds;
} BridgeOrder;

typedef struct BridgeWorker {
  BridgeOrder order;     /* its texts are borrowed */
  Bridge *shared;        /* NULL: none runs */
  uint64_t mapped;       /* bytes of it */
  BridgePatience patience;
  BridgeOutput *output;
  pid_t process;
  int file;
} BridgeWorker;

/* Starts a worker and waits until its environments are made. CORE_USAGE: there is no such Python, package or
 * environment; CORE_REQUEUE: the run was told to stop. Nothing is left then. */
int bridge_worker_start(const BridgeOrder *order, BridgeWorker *worker);
/* Asks for a reset or a step of all its worlds; the answer is in shared memory after bridge_worker_await. */
void bridge_worker_ask(BridgeWorker *worker, BridgeCommand command);
/* CORE_FAIL: it raised an error, died, or did not answer in time; CORE_REQUEUE: the run was told to stop, whatever the
 * worker is doing. It is ended then. */
int bridge_worker_await(BridgeWorker *worker);
/* Ends it; without a worker nothing. */
void bridge_worker_end(BridgeWorker *worker);
/* From now on workers that were asked for nothing wait, where bridge_worker_end would end them, for the next order like
 * theirs: who plans many runs of a game starts one Python. Up to 16; false ends them, and is how it begins. */
void bridge_worker_keep_spares(bool keep);

/* Starts a worker for the order and ends it after its first answer. Appends the text that it told by then, whatever
 * became of it, or the reason why there is none. CORE_FAIL: it is that reason; CORE_REQUEUE: the run was told to
 * stop. */
int bridge_worker_ask_once(const BridgeOrder *order, CoreText *text);

/* Appends those folders of PYTHONPATH that are not whole paths, which workers start without, with blanks between. */
void bridge_relative_folders(CoreText *folders);

/* Lists on stdout what `kind` (gym, atari, envpool) has in that Python, a task a line or as JSON. CORE_USAGE: there is
 * no such Python, package or kind; it has said why. */
int bridge_list(const char *python, const char *kind, bool json);

/* An array of the shared memory. */
static inline void *bridge_worker_array(const BridgeWorker *worker, uint64_t offset) {
  return (char *)worker->shared + offset;
}

#endif
