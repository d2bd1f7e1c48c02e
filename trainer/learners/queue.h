/* Updates that the host only queues, where ops offer them (trainer/ops/update.h): the plan, the scalars of an
 * iteration's steps, and the graph that one minibatch's operations are recorded in. Learners say what a minibatch is.
 *
 * The first minibatch is launched operation by operation, so that libraries choose their algorithms; the second is
 * recorded (core/device/device.h), and all from then on are one launch each. Iterations that measure have a graph of
 * their own. Whatever the operations are given by value, sizes and addresses and settings, must stay the same as
 * long as the queue lives. */
#ifndef TRAINER_LEARNERS_QUEUE_H
#define TRAINER_LEARNERS_QUEUE_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/communicator.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

typedef struct Queue {
  CoreDevice *device;          /* NULL: nothing is queued, and nothing below is used */
  OpsUpdatePlan plan;
  OpsUpdateScalars *scalars;   /* [steps] on the host */
  float *before[OPS_UPDATE_NETWORKS]; /* [n] weights before a step that is measured */
  bool measures;               /* the iteration at hand is one that measures: what follows is of either kind */
  CoreGraph *graph[2];
  bool is_warm[2];             /* a minibatch has been launched */
  Communicator *communicator;  /* of the update at hand; NULL: one rank */
} Queue;

/* rows: of a minibatch; divided: ranks or shards divide them; steps: that are queued between begin and finish.
 * joint: gradients of both networks are clipped together. The limit of norms is the optimizer's. TRAINER_QUEUE=none in
 * the environment lets the host decide on each step, for tests. */
void queue_register(Queue *queue, const Agent *agent, const Optimizer *optimizer, bool joint, int rows, bool divided,
                    int steps, CoreArena *arena);
void queue_destroy(Queue *queue);
/* Whether updates can go without the host: not where ranks' sums go through the hosts. */
static inline bool queue_takes(const Queue *queue, const Agent *agent) {
  return queue->device && (agent->communicator == NULL || agent->communicator->is_queued);
}

/* Opens the stats of an iteration's (or an epoch's) steps on the agent's networks (critic NULL: on its actor alone) by
 * these gradients; the optimizers and the proximal weights (NULL: none) as they stand before it. */
void queue_begin(Queue *queue, const LearnerStep *step, const Agent *agent, const AgentGradient *gradient,
                 const Optimizer *actor, const Optimizer *critic, const Proximal *proximal, double rate);
/* minibatch(context) calls ops and the communicator for one minibatch, queue_step last, and nothing else. All ranks,
 * which then record and launch the same calls between ranks. */
void queue_minibatch(Queue *queue, void (*minibatch)(void *context), void *context);
/* In a minibatch that is divided, before its pieces. */
void queue_begin_gradient(const Queue *queue, Gradient *gradient, const Minibatch *minibatch);
/* In a minibatch that is divided: after the losses of a piece, whose sums join those of the others; after the last one,
 * those of all ranks, beside whatever comes next. */
void queue_add_sums(Queue *queue, Ops *ops, bool is_first, bool is_last);
/* The step by the gradients, of all ranks by now. */
void queue_step(Queue *queue, Ops *ops);
/* Waits; counts the steps that were done in the optimizers and the proximal weights, and adds what the stats has to
 * *update, as descent.c does. Returns the number of the step that could not be done, from queue_begin on, or -1. The
 * stats's means are those of this rank, as where the host decides: the first has all of what ranks summed. */
int queue_finish(Queue *queue, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal, OpsUpdateStats *stats,
                 LearnerUpdate *update);
/* What is wrong with a step that could not be done: the code that the host came to when it took it once more, or
 * CORE_FAIL where that went well. */
int queue_explain(int code);

#endif
