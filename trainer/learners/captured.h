/* Recorded updates: a device runs all minibatches of an iteration as CUDA graphs, without the host, where ops offer it
 * (trainer/ops/update.h). Holds the plan, the scalars of an iteration's steps, and the graph of a minibatch's
 * operations. Learners say what a minibatch is.
 *
 * The first minibatch is launched operation by operation, so that libraries choose their algorithms. The second is
 * recorded (device.h); from then on a minibatch is one launch. Iterations that measure have a graph of their own.
 * Arguments by value (sizes, addresses, settings) must not change while a graph lives. */
#ifndef TRAINER_CAPTURED_H
#define TRAINER_CAPTURED_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/communicator.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

typedef struct CapturedUpdate {
  CoreDevice *device;          /* NULL: the host decides on each step, and nothing below is used */
  OpsUpdatePlan plan;
  OpsUpdateScalars *scalars;   /* [steps] on the host */
  float *before[OPS_UPDATE_NETWORKS]; /* [n] weights before a step that is measured */
  bool is_measured;               /* the present iteration measures; graph and is_warm are indexed by it */
  CoreGraph *graph[2];
  bool is_warm[2];             /* a minibatch has been launched */
  Communicator *communicator;  /* of the present update; NULL: one rank */
} CapturedUpdate;

/* rows: of a minibatch; divided: ranks or shards divide them; steps: at most, between begin and finish.
 * joint: gradients of both networks are clipped together. The limit of norms is the optimizer's. TRAINER_QUEUE=none in
 * the environment lets the host decide on each step, for tests. */
void captured_register(CapturedUpdate *captured, const Agent *agent, const Optimizer *optimizer, bool joint, int rows,
                       bool divided, int steps, CoreArena *arena);
/* What was recorded is to be recorded anew: an argument by value has changed. */
void captured_invalidate(CapturedUpdate *captured);
void captured_destroy(CapturedUpdate *captured);
/* Whether updates can be recorded: not where sums over ranks go through host memory. */
static inline bool captured_is_available(const CapturedUpdate *captured, const Agent *agent) {
  return captured->device && (agent->communicator == NULL || agent->communicator->is_queued);
}

/* Begins an iteration's (or an epoch's) steps on the agent's networks (critic NULL: on its actor alone) by these
 * gradients. Takes the optimizers and the proximal weights (NULL: none) as they are before it. */
void captured_begin(CapturedUpdate *captured, const UpdateContext *step, const Agent *agent,
                    const AgentGradient *gradient, const Optimizer *actor, const Optimizer *critic,
                    const Proximal *proximal, double lr);
/* Runs one minibatch: launches, records, or launches the graph. minibatch(context) calls ops and the communicator only,
 * captured_step last. Called by all ranks, which record and launch the same communication. */
void captured_minibatch(CapturedUpdate *captured, void (*minibatch)(void *context), void *context);
/* In a divided minibatch, before its pieces. */
void captured_begin_gradient(const CapturedUpdate *captured, Gradient *gradient, const Minibatch *minibatch);
/* In a divided minibatch, after the losses of a piece: adds its sums to the others'. After the last piece it starts the
 * sum over ranks, which runs beside what comes next. */
void captured_add_sums(CapturedUpdate *captured, Ops *ops, bool is_first, bool is_last);
/* The step, once the gradients are summed over ranks. */
void captured_step(CapturedUpdate *captured, Ops *ops);
/* Synchronises. Counts the steps done in the optimizers and the proximal weights, and adds the statistics to *update,
 * as descent.c does. Returns the number of the step that was not finite, counted from captured_begin, or -1. Means are
 * of this rank, as where the host decides; the first rank has what ranks summed. */
int captured_finish(CapturedUpdate *captured, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal,
                    OpsUpdateStats *stats, UpdateStats *update);
/* The error of a step that was not finite. code: of the host, when it repeated the step; CORE_FAIL if that
 * succeeded. */
int captured_diagnose(int code);

#endif
