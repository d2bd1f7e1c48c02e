/* Stream capture by CUDA's rules (CUDA Runtime API, "Stream Management"; CUDA Programming Guide, "Creating a Graph
 * Using Stream Capture"), and graphs as dependencies of nodes. In backward order, the ready node that was captured last
 * runs first, which exposes results that depend on an order that no event enforces. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "tests/runtime/runtime.h"

/* ---- capture: the next node of a stream depends on its front ----------------------------------------------------- */

static void set_front(RuntimeFront *front, const size_t *node, size_t nodes) {
  size_t *copy = core_memory_allocate((nodes + 1) * sizeof *copy);
  if (nodes) memcpy(copy, node, nodes * sizeof *copy);
  free(front->node);
  *front = (RuntimeFront){copy, nodes};
}

/* Sets `front` to the union of the two. */
static void join_front(RuntimeFront *front, const RuntimeFront *with) {
  size_t *all = core_memory_allocate((front->nodes + with->nodes + 1) * sizeof *all), n = 0;
  for (size_t i = 0; i < front->nodes + with->nodes; i++) {
    const size_t node = i < front->nodes ? front->node[i] : with->node[i - front->nodes];
    size_t j = 0;
    while (j < n && all[j] != node) j++;
    if (j == n) all[n++] = node;
  }
  free(front->node);
  *front = (RuntimeFront){all, n};
}

cudaError_t runtime_capture_add(cudaStream_t stream, RuntimeOperation operation) {
  cudaGraph_t graph = stream->capture->graph;
  if (stream->capture->invalid) {
    free(operation.arguments);
    return runtime_fail(cudaErrorStreamCaptureInvalidated);
  }
  if (graph->nodes == graph->capacity) {
    graph->capacity = graph->capacity ? 2 * graph->capacity : 64;
    graph->node = core_memory_resize(graph->node, graph->capacity * sizeof *graph->node);
  }
  const size_t made = graph->nodes++;
  graph->node[made] = (RuntimeNode){operation, stream->front};
  stream->front = (RuntimeFront){0};
  set_front(&stream->front, &made, 1);
  return cudaSuccess;
}

cudaError_t runtime_capture_record(cudaStream_t stream, cudaEvent_t event) {
  if (stream->capture->invalid) return runtime_fail(cudaErrorStreamCaptureInvalidated);
  event->capture = stream->capture;
  set_front(&event->front, stream->front.node, stream->front.nodes);
  return cudaSuccess;
}

static cudaError_t invalidate(RuntimeCapture *capture, cudaError_t code, const char *why) {
  capture->invalid = true;
  return runtime_refuse(code, "%s", why);
}

/* Adds a stream that waits for an event of a capture to that capture. */
cudaError_t runtime_capture_wait(cudaStream_t stream, cudaEvent_t event) {
  if (event->capture == NULL)
    return invalidate(stream->capture, cudaErrorStreamCaptureIsolation, "a capture waits for an event from outside");
  if (stream->capture && stream->capture != event->capture)
    return invalidate(stream->capture, cudaErrorStreamCaptureMerge, "a capture waits for an event of another capture");
  if (event->capture->invalid) return runtime_fail(cudaErrorStreamCaptureInvalidated);
  if (stream->is_default)
    return invalidate(event->capture, cudaErrorStreamCaptureImplicit, "the default stream would be captured");
  if (stream->capture == NULL) set_front(&stream->front, NULL, 0);
  stream->capture = event->capture;
  join_front(&stream->front, &event->front);
  return cudaSuccess;
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode) {
  cudaStream_t stream = runtime_stream(handle);
  if (stream->is_default)
    return runtime_refuse(cudaErrorStreamCaptureUnsupported, "capture of the default stream");
  if (stream->capture) return runtime_refuse(cudaErrorIllegalState, "capture of a stream that is already captured");
  RuntimeCapture *capture = core_memory_zero_allocate(1, sizeof *capture);
  *capture = (RuntimeCapture){core_memory_zero_allocate(1, sizeof(struct CUgraph_st)), stream, mode, false};
  stream->capture = capture;
  set_front(&stream->front, NULL, 0);
  runtime_counts.captures++;
  return cudaSuccess;
}

/* Checks that all captured work has been joined to the origin stream: each node is in its front or a predecessor of a
 * node in it. */
static cudaError_t check_joined(const RuntimeCapture *capture) {
  cudaGraph_t graph = capture->graph;
  const RuntimeFront *last = &capture->origin->front;
  bool *is_joined = core_memory_zero_allocate(graph->nodes + 1, sizeof *is_joined);
  size_t unjoined = 0;
  for (size_t i = 0; i < last->nodes; i++) is_joined[last->node[i]] = true;
  for (size_t i = graph->nodes; i-- > 0;) {
    const RuntimeFront *after = &graph->node[i].after;
    for (size_t j = 0; is_joined[i] && j < after->nodes; j++) is_joined[after->node[j]] = true;
    unjoined += !is_joined[i];
  }
  free(is_joined);
  if (unjoined == 0) return cudaSuccess;
  return runtime_refuse(cudaErrorStreamCaptureUnjoined, "%zu operations of a capture were not joined to its stream",
                        unjoined);
}

static void destroy_nodes(cudaGraph_t graph) {
  for (size_t i = 0; i < graph->nodes; i++) {
    free(graph->node[i].operation.arguments);
    free(graph->node[i].after.node);
  }
  free(graph->node);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
  cudaStream_t stream = runtime_stream(handle);
  RuntimeCapture *capture = stream->capture;
  *graph = NULL;
  if (capture == NULL) return runtime_refuse(cudaErrorIllegalState, "the end of a capture that was not begun");
  if (capture->origin != stream)
    return invalidate(capture, cudaErrorStreamCaptureUnmatched, "a capture ends in another stream than it began in");
  const cudaError_t code = capture->invalid ? runtime_fail(cudaErrorStreamCaptureInvalidated) : check_joined(capture);
  runtime_stream_leave_capture(capture);
  if (code == cudaSuccess) *graph = capture->graph;
  else (void)cudaGraphDestroy(capture->graph);
  free(capture);
  return code;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  destroy_nodes(graph);
  free(graph);
  return cudaSuccess;
}

/* Arguments are those at the time of capture. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  if (flags != 0) return runtime_refuse(cudaErrorNotSupported, "a graph with flags %llx", flags);
  cudaGraphExec_t made = core_memory_zero_allocate(1, sizeof *made);
  made->graph =
      (struct CUgraph_st){core_memory_allocate((graph->nodes + 1) * sizeof *graph->node), graph->nodes, graph->nodes};
  for (size_t i = 0; i < graph->nodes; i++) {
    const RuntimeNode *node = &graph->node[i];
    RuntimeNode *copy = &made->graph.node[i];
    *copy = (RuntimeNode){.operation = node->operation};
    set_front(&copy->after, node->after.node, node->after.nodes);
    if (node->operation.arguments == NULL) continue;
    copy->operation.arguments = core_memory_allocate(node->operation.bytes);
    memcpy(copy->operation.arguments, node->operation.arguments, node->operation.bytes);
  }
  *exec = made;
  return cudaSuccess;
}

static void free_exec(cudaGraphExec_t exec) {
  destroy_nodes(&exec->graph);
  free(exec);
}

/* Defers the destruction until pending launches are complete. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  exec->destroyed = true;
  if (exec->pending == 0) free_exec(exec);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  RuntimeCapture *capture = runtime_stream(stream)->capture;
  if (exec->destroyed) return runtime_refuse(cudaErrorInvalidResourceHandle, "a graph that does not exist");
  if (capture) return invalidate(capture, cudaErrorStreamCaptureUnsupported, "a graph within a capture");
  exec->pending++;
  runtime_counts.graphs++;
  return runtime_stream_enqueue(stream, (RuntimeOperation){.kind = RUNTIME_GRAPH, .graph = exec});
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

/* Successors of node i: later[first[i]] to later[first[i + 1]]. waits_for: number of open dependencies. */
typedef struct Schedule {
  size_t *first, *later, *waits_for, *ready, waiting;
} Schedule;

static Schedule make_schedule(const struct CUgraph_st *graph) {
  Schedule s = {core_memory_zero_allocate(graph->nodes + 2, sizeof *s.first), NULL,
                core_memory_zero_allocate(graph->nodes + 1, sizeof *s.waits_for),
                core_memory_zero_allocate(graph->nodes + 1, sizeof *s.ready), 0};
  for (size_t i = 0; i < graph->nodes; i++)
    for (size_t j = 0; j < graph->node[i].after.nodes; j++) s.first[graph->node[i].after.node[j] + 2]++;
  for (size_t i = 2; i < graph->nodes + 2; i++) s.first[i] += s.first[i - 1];
  s.later = core_memory_zero_allocate(s.first[graph->nodes + 1] + 1, sizeof *s.later);
  for (size_t i = 0; i < graph->nodes; i++) {
    const RuntimeFront *after = &graph->node[i].after;
    for (size_t j = 0; j < after->nodes; j++) s.later[s.first[after->node[j] + 1]++] = i;
    s.waits_for[i] = after->nodes;
    if (after->nodes == 0) s.ready[s.waiting++] = i;
  }
  return s;
}

/* Returns the ready node that was captured first or last; with RUNTIME_TURNS, alternately. */
static size_t take_next(Schedule *s, size_t done) {
  const RuntimeOrder order = runtime_order();
  const bool last = order == RUNTIME_BACKWARD || (order == RUNTIME_TURNS && done % 2 == 0);
  size_t chosen = 0;
  for (size_t i = 1; i < s->waiting; i++)
    if (last == (s->ready[i] > s->ready[chosen])) chosen = i;
  const size_t node = s->ready[chosen];
  s->ready[chosen] = s->ready[--s->waiting];
  return node;
}

void runtime_graph_run(cudaGraphExec_t exec, int device) {
  Schedule s = make_schedule(&exec->graph);
  for (size_t done = 0; s.waiting; done++) {
    const size_t node = take_next(&s, done);
    runtime_stream_perform(&exec->graph.node[node].operation, device);
    runtime_counts.nodes++;
    for (size_t i = s.first[node]; i < s.first[node + 1]; i++)
      if (--s.waits_for[s.later[i]] == 0) s.ready[s.waiting++] = s.later[i];
  }
  free(s.first), free(s.later), free(s.waits_for), free(s.ready);
  exec->pending--;
  if (exec->destroyed && exec->pending == 0) free_exec(exec);
}
