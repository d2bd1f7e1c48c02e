/* Recorded updates: a device runs all minibatches of an iteration as CUDA graphs, without the host, where ops offer it
 * (trainer/ops/update.h). Holds the plan, the scalars of an iteration's steps, and the graph of a minibatch's
 * operations. Learners say what a minibatch is.
 *
 * The first minibatch is launched operation by operation, so that libraries choose their algorithms. The second is
 * recorded (device.h); from then on a minibatch is one launch. Iterations that measure have a graph of their own.
 * Arguments by value (sizes, addresses, settings) must not change while a graph lives. */
#ifndef TRAINER_RECORDED_H
#define TRAINER_RECORDED_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/communicator.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

typedef struct RecordedUpdate {
  CoreDevice *device;          /* NULL: the host decides on each step, and nothing below is used */
  OpsUpdatePlan plan;
  OpsUpdateScalars *scalars;   /* [steps] on the host */
  float *before[OPS_UPDATE_NETWORKS]; /* [n] weights before a step that is measured */
  bool measures;               /* the present iteration measures; graph and is_warm are indexed by it */
  CoreGraph *graph[2];
  bool is_warm[2];             /* a minibatch has been launched */
  Communicator *communicator;  /* of the present update; NULL: one rank */
} RecordedUpdate;

/* rows: of a minibatch; divided: ranks or shards divide them; steps: at most, between begin and finish.
 * joint: gradients of both networks are clipped together. The limit of norms is the optimizer's. TRAINER_QUEUE=none in
 * the environment lets the host decide on each step, for tests. */
void recorded_register(RecordedUpdate *recorded, const Agent *agent, const Optimizer *optimizer, bool joint, int rows,
                       bool divided, int steps, CoreArena *arena);
/* What was recorded is to be recorded anew: an argument by value has changed. */
void recorded_forget(RecordedUpdate *recorded);
void recorded_destroy(RecordedUpdate *recorded);
/* Whether updates can be recorded: not where sums over ranks go through host memory. */
static inline bool recorded_is_possible(const RecordedUpdate *recorded, const Agent *agent) {
  return recorded->device && (agent->communicator == NULL || agent->communicator->is_queued);
}

/* Begins an iteration's (or an epoch's) steps on the agent's networks (critic NULL: on its actor alone) by these
 * gradients. Takes the optimizers and the proximal weights (NULL: none) as they are before it. */
void recorded_begin(RecordedUpdate *recorded, const LearnerStep *step, const Agent *agent,
                    const AgentGradient *gradient, const Optimizer *actor, const Optimizer *critic,
                    const Proximal *proximal, double rate);
/* Runs one minibatch: launches, records, or launches the graph. minibatch(context) calls ops and the communicator only,
 * recorded_step last. Called by all ranks, which record and launch the same communication. */
void recorded_minibatch(RecordedUpdate *recorded, void (*minibatch)(void *context), void *context);
/* In a divided minibatch, before its pieces. */
void recorded_begin_gradient(const RecordedUpdate *recorded, Gradient *gradient, const Minibatch *minibatch);
/* In a divided minibatch, after the losses of a piece: adds its sums to the others'. After the last piece it starts the
 * sum over ranks, which runs beside what comes next. */
void recorded_add_sums(RecordedUpdate *recorded, Ops *ops, bool is_first, bool is_last);
/* The step, once the gradients are summed over ranks. */
void recorded_step(RecordedUpdate *recorded, Ops *ops);
/* Synchronises. Counts the steps done in the optimizers and the proximal weights, and adds the statistics to *update,
 * as descent.c does. Returns the number of the step that was not finite, counted from recorded_begin, or -1. Means are
 * of this rank, as where the host decides; the first rank has what ranks summed. */
int recorded_finish(RecordedUpdate *recorded, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal,
                    OpsUpdateStats *stats, LearnerUpdate *update);
/* The error of a step that was not finite. code: of the host, when it repeated the step; CORE_FAIL if that
 * succeeded. */
int recorded_explain(int code);

#endif
