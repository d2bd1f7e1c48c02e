/* Captured updates: a device runs all minibatches of an iteration as CUDA graphs, without the host, where ops support
 * it (trainer/ops/update.h). Holds the plan, the scalars of an iteration's steps, and the graph of a minibatch's
 * operations. Learners define the operations of a minibatch.
 *
 * The first minibatch is launched operation by operation, so that libraries choose their algorithms. The second is
 * captured (device.h); from then on a minibatch is one graph launch. Iterations that measure have a separate graph.
 * Arguments passed by value (sizes, addresses, settings) must not change while a graph lives. */
#ifndef TRAINER_CAPTURED_H
#define TRAINER_CAPTURED_H
#include "core/device/arena.h"
#include "trainer/learners/learner.h"
#include "trainer/nets/agent.h"
#include "trainer/ranks/communicator.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

/* Steps of more kernels are launched one by one, as long rollouts are (ROLLOUT_GRAPH_NODES_MAX). */
enum { CAPTURED_NODES_MAX = 50000 };

typedef struct CapturedUpdate {
  CoreDevice *device;          /* NULL: the host drives each step, and nothing below is used */
  OpsUpdatePlan plan;
  OpsUpdateScalars *scalars;   /* [steps] on the host */
  bool is_measured;            /* whether the current iteration measures; index of graph and is_warm */
  CoreGraph *graph[2];
  bool is_warm[2];             /* whether a minibatch has been launched */
  uint64_t launches[2];        /* kernels of a minibatch; more than CAPTURED_NODES_MAX are never captured */
  Communicator *communicator;  /* for the current update; NULL: one rank */
} CapturedUpdate;

/* Whether micro-batches divide a minibatch on a device: several pieces, or those of ranks or shards. */
static inline bool captured_is_divided(const Minibatch *minibatch, const Shards *shards) {
  return shards->global_shards > 1 || minibatch->pieces > 1;
}
/* Registers buffers. rows: of a minibatch. divided: captured_is_divided. steps: maximum between begin
 * and finish. joint: gradients of both networks are clipped together. The clipping limit is the optimizer's. With
 * TRAINER_QUEUE=none in the environment the host drives each step, for tests. */
void captured_register(CapturedUpdate *captured, const Optimizer *optimizer, bool joint, int rows, bool divided,
                       int steps, CoreArena *arena);
/* Discards the captured graphs, because an argument passed by value has changed. */
void captured_invalidate(CapturedUpdate *captured);
void captured_destroy(CapturedUpdate *captured);
/* Whether updates can be captured. Not where sums over ranks go through host memory. */
static inline bool captured_is_available(const CapturedUpdate *captured, const Agent *agent) {
  return captured->device && (agent->communicator == NULL || agent->communicator->is_queued);
}

/* Begins the steps of an iteration (or an epoch) on the agent's networks (critic NULL: its actor only) with these
 * gradients. Reads the optimizers and the proximal weights (NULL: none) as they are before it. */
void captured_begin(CapturedUpdate *captured, const UpdateContext *context, const Agent *agent,
                    const AgentGradient *gradient, const Optimizer *actor, const Optimizer *critic,
                    const Proximal *proximal, double lr);
/* Runs one minibatch: launches its operations, captures them, or launches the graph. minibatch(argument) may call ops
 * and the communicator only, and must end with captured_step(). All ranks must call it, since they capture and launch
 * the same communication. */
void captured_minibatch(CapturedUpdate *captured, void (*minibatch)(void *argument), void *argument);
/* Begins a divided minibatch and its gradient, before its micro-batches. */
void captured_begin_gradient(const CapturedUpdate *captured, Ops *ops, Gradient *gradient, Minibatch *minibatch,
                             const Rollout *rollout);
/* Adds the loss sums of a micro-batch to those of the divided minibatch. After the last micro-batch it starts the sum
 * over ranks, which overlaps the operations that follow. */
void captured_add_sums(CapturedUpdate *captured, Ops *ops, bool is_first, bool is_last);
/* Enqueues the optimizer step, once the gradients are summed over ranks. */
void captured_step(CapturedUpdate *captured, Ops *ops);
/* Synchronizes. Adds the steps to the counters of the optimizers and the proximal weights, and the statistics to
 * *update, as optim.c does. Returns the index, counted from captured_begin(), of the first step that was not finite, or
 * -1. Means cover this rank's rows, as where the host drives the steps; the first rank has what the ranks summed. */
int captured_finish(CapturedUpdate *captured, Ops *ops, Optimizer *actor, Optimizer *critic, Proximal *proximal,
                    OpsUpdateStats *sums, UpdateStats *stats);
/* Returns the error of a step that was not finite. code: result of repeating the step on the host; CORE_FAIL if that
 * succeeded. */
int captured_diagnose(int code);

#endif
