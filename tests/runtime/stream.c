/* Streams and events. Operations stay in their stream's queue until the host, or a stream that the host waits for,
 * waits for them: the longest possible delay of a GPU. order=forward executes them when issued: the shortest. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"
#include "tests/runtime/runtime.h"

RuntimeCounts runtime_counts;
static struct CUstream_st default_stream[RUNTIME_GPUS_MAX];
static cudaStream_t streams; /* streams created by the program */
static cudaEvent_t events;

cudaStream_t runtime_stream(cudaStream_t handle) {
  if (handle != NULL && handle != cudaStreamLegacy && handle != cudaStreamPerThread) return handle;
  cudaStream_t stream = &default_stream[runtime_device_current()];
  stream->device = runtime_device_current();
  stream->is_default = true;
  return stream;
}

/* Whether the handle exists; searching all streams detects destroyed ones. */
static bool is_stream(cudaStream_t handle) {
  for (cudaStream_t s = streams; s; s = s->next)
    if (s == handle) return true;
  return runtime_stream(handle)->is_default;
}

static bool is_event(cudaEvent_t handle) {
  for (cudaEvent_t e = events; e; e = e->next)
    if (e == handle) return true;
  return false;
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

static void finish_to(cudaStream_t stream, size_t until);

/* Returns the position of a pending record in its stream's queue; SIZE_MAX: it has been executed. */
static size_t find_record(cudaEvent_t event, uint64_t record, cudaStream_t stream) {
  for (size_t i = stream->first; i < stream->count; i++) {
    const RuntimeOperation *o = &stream->queue[i];
    if (o->kind == RUNTIME_RECORD && o->event == event && o->record == record) return i;
  }
  return SIZE_MAX;
}

static void wait_for_record(const RuntimeOperation *o) {
  const size_t position = find_record(o->event, o->record, o->stream);
  if (position != SIZE_MAX) finish_to(o->stream, position + 1);
}

/* Executes a record and notes its time; records in graphs have no time. */
static void note_record(const RuntimeOperation *o) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  o->event->done = o->record;
  o->event->when = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void runtime_stream_perform(const RuntimeOperation *o, int device) {
  switch (o->kind) {
    case RUNTIME_GRAPH: runtime_graph_run(o->graph, device); return;
    case RUNTIME_WAIT: wait_for_record(o); return;
    case RUNTIME_RECORD: note_record(o); return;
    default: break;
  }
  switch (o->kind) {
    case RUNTIME_LAUNCH:
      runtime_launch_run(o);
      runtime_counts.launches++;
      break;
    case RUNTIME_COPY:
      memmove(o->target, o->source, o->bytes);
      runtime_counts.copies++;
      break;
    case RUNTIME_FILL:
      runtime_memory_fill(o->target, o->byte, o->bytes);
      runtime_counts.fills++;
      break;
    default: o->host(o->data); break;
  }
}

static bool is_stuck;
void runtime_stream_stick(void) { is_stuck = true; }

/* Executes a queue up to `until`. Operations may recurse for other streams, but not for this one. */
static void finish_to(cudaStream_t stream, size_t until) {
  if (stream->first == stream->count) return; /* opening memory takes longer than most operations */
  runtime_memory_open(stream->device);
  while (!is_stuck && stream->first < until && stream->first < stream->count) {
    const RuntimeOperation o = stream->queue[stream->first];
    runtime_stream_perform(&o, stream->device);
    stream->first++;
    free(o.arguments);
  }
  runtime_memory_close(stream->device);
  if (stream->first == stream->count) stream->first = stream->count = 0;
}

void runtime_stream_finish(cudaStream_t stream) { finish_to(stream, stream->count); }

void runtime_stream_finish_all(void) {
  for (int i = 0; i < RUNTIME_GPUS_MAX; i++) runtime_stream_finish(&default_stream[i]);
  for (cudaStream_t s = streams; s; s = s->next) runtime_stream_finish(s);
}

cudaError_t runtime_stream_enqueue(cudaStream_t handle, RuntimeOperation operation) {
  cudaStream_t stream = runtime_stream(handle);
  if (!is_stream(handle)) {
    free(operation.arguments);
    return runtime_refuse(cudaErrorInvalidResourceHandle, "a destroyed or unknown stream");
  }
  if (stream->capture) return runtime_capture_add(stream, operation);
  if (stream->count == stream->capacity) {
    stream->capacity = stream->capacity ? 2 * stream->capacity : 256;
    stream->queue = core_memory_resize(stream->queue, stream->capacity * sizeof *stream->queue);
  }
  stream->queue[stream->count++] = operation;
  if (runtime_order() == RUNTIME_FORWARD) runtime_stream_finish(stream);
  return cudaSuccess;
}

/* ---- calls that are illegal during capture ----------------------------------------------------------------------- */

cudaError_t runtime_stream_may_wait(cudaStream_t handle) {
  cudaStream_t stream = runtime_stream(handle);
  if (!is_stream(handle)) return runtime_refuse(cudaErrorInvalidResourceHandle, "a destroyed or unknown stream");
  if (stream->capture == NULL) return cudaSuccess;
  stream->capture->invalid = true;
  return runtime_refuse(cudaErrorStreamCaptureUnsupported, "a call that waits for a stream that is being captured");
}

bool runtime_stream_forbids_unsafe(void) {
  for (cudaStream_t s = streams; s; s = s->next) {
    if (s->capture == NULL || s->capture->mode == cudaStreamCaptureModeRelaxed) continue;
    s->capture->invalid = true;
    runtime_refuse(cudaErrorStreamCaptureUnsupported,
                   "an unsafe call during a capture that is not in relaxed mode");
    return true;
  }
  return false;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  if ((flags & ~(unsigned)cudaStreamNonBlocking) != 0)
    return runtime_refuse(cudaErrorInvalidValue, "a stream's flags %x", flags);
  if (flags == 0) return runtime_refuse(cudaErrorNotSupported, "a stream that waits for the default stream");
  cudaStream_t made = core_memory_zero_allocate(1, sizeof *made);
  made->device = runtime_device_current();
  made->next = streams;
  streams = made;
  *stream = made;
  return cudaSuccess;
}

/* Returns the priorities of an H200; the execution order ignores them. */
cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  if (priority > 0 || priority < -5) return runtime_refuse(cudaErrorInvalidValue, "a stream's priority %d", priority);
  return cudaStreamCreateWithFlags(stream, flags);
}

/* Executes pending operations first. */
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaStream_t *link = &streams;
  while (*link && *link != stream) link = &(*link)->next;
  if (*link == NULL) return runtime_refuse(cudaErrorInvalidResourceHandle, "destruction of an unknown stream");
  if (stream->capture) return runtime_refuse(cudaErrorIllegalState, "a stream that is being captured is destroyed");
  runtime_stream_finish(stream);
  *link = stream->next;
  free(stream->queue);
  free(stream->front.node);
  free(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const cudaError_t code = runtime_stream_may_wait(handle);
  if (code != cudaSuccess) return code;
  runtime_counts.waits++;
  runtime_stream_finish(runtime_stream(handle));
  while (is_stuck) pause();
  return cudaSuccess;
}

/* Executes one more operation, so that polling terminates. */
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const cudaError_t code = runtime_stream_may_wait(handle);
  cudaStream_t stream = runtime_stream(handle);
  if (code != cudaSuccess) return code;
  if (is_stuck) return cudaErrorNotReady;
  if (stream->first == stream->count) return cudaSuccess;
  finish_to(stream, stream->first + 1);
  return cudaErrorNotReady;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data) {
  return runtime_stream_enqueue(handle, (RuntimeOperation){.kind = RUNTIME_HOST, .host = function, .data = data});
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  cudaEvent_t made = core_memory_zero_allocate(1, sizeof *made);
  made->device = runtime_device_current();
  made->flags = flags;
  made->next = events;
  events = made;
  *event = made;
  return cudaSuccess;
}

/* Unlinks the event; the object stays because streams may still wait for it. */
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  cudaEvent_t *link = &events;
  while (*link && *link != event) link = &(*link)->next;
  if (*link == NULL) return runtime_refuse(cudaErrorInvalidResourceHandle, "destruction of an unknown event");
  *link = event->next;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  cudaStream_t stream = runtime_stream(handle);
  if (!is_event(event) || !is_stream(handle))
    return runtime_refuse(cudaErrorInvalidResourceHandle, "a record of an unknown event or in an unknown stream");
  if (stream->device != event->device)
    return runtime_refuse(cudaErrorInvalidResourceHandle, "an event of one GPU is recorded in a stream of another");
  if (stream->capture) return runtime_capture_record(stream, event);
  event->capture = NULL;
  event->recorded++;
  event->stream = stream;
  return runtime_stream_enqueue(handle,
                             (RuntimeOperation){.kind = RUNTIME_RECORD, .event = event, .record = event->recorded});
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (!is_event(event)) return runtime_refuse(cudaErrorInvalidResourceHandle, "the host waits for an unknown event");
  if (event->capture) {
    event->capture->invalid = true;
    return runtime_refuse(cudaErrorCapturedEvent, "the host waits for an event of a capture");
  }
  if (event->recorded == 0) return cudaSuccess;
  runtime_counts.waits++;
  wait_for_record(&(RuntimeOperation){.event = event, .record = event->recorded, .stream = event->stream});
  return cudaSuccess;
}

/* Returns the host time between the two events; a GPU's time is unknown. */
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t first, cudaEvent_t last) {
  const cudaEvent_t both[] = {first, last};
  for (int i = 0; i < 2; i++) {
    if (!is_event(both[i]) || both[i]->flags & cudaEventDisableTiming || both[i]->recorded == 0)
      return runtime_refuse(cudaErrorInvalidResourceHandle, "the time of an event without timing");
    if (both[i]->done < both[i]->recorded) return runtime_fail(cudaErrorNotReady);
  }
  *milliseconds = (float)(1e3 * (last->when - first->when));
  return cudaSuccess;
}

/* Does nothing for an event that was never recorded. */
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  cudaStream_t stream = runtime_stream(handle);
  (void)flags;
  if (!is_event(event) || !is_stream(handle))
    return runtime_refuse(cudaErrorInvalidResourceHandle, "a wait for an unknown event or in an unknown stream");
  if (stream->capture || event->capture) return runtime_capture_wait(stream, event);
  if (event->recorded == 0) return cudaSuccess;
  return runtime_stream_enqueue(
      handle,
      (RuntimeOperation){.kind = RUNTIME_WAIT, .event = event, .record = event->recorded, .stream = event->stream});
}

void runtime_stream_leave_capture(const RuntimeCapture *capture) {
  for (cudaStream_t s = streams; s; s = s->next)
    if (s->capture == capture) s->capture = NULL;
  for (cudaEvent_t e = events; e; e = e->next) {
    if (e->capture != capture) continue;
    e->capture = NULL;
    e->recorded = 0;
  }
}
