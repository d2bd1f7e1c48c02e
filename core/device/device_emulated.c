/* Emulated device: runs kernel bodies on the CPU, for every block and thread. So tests execute the code of a GPU, and
 * compare it with the CPU's own implementation.
 *
 * - Threads: emulated_threads.h. Streams: CoreDeviceOrder (device.h).
 * - Memory: emulated_memory.h.
 * - NCCL is replaced by a host function (exchange). In the communication stream it runs at comm_wait: earlier the host
 *   must not wait for other processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/access_counts.h"
#include "core/device/device.h"
#include "core/device/emulated_code.h"
#include "core/device/emulated_memory.h"
#include "core/device/emulated_threads.h"
#include "core/error.h"
#include "core/memory.h"

enum { PROCESSORS = 3, LAG_MAX = 1024 };

typedef struct Exchange { CoreExchange *function; void *target; const void *source; size_t bytes; } Exchange;

typedef struct Emulator {
  CoreDevice table;
  CoreDeviceOrder order;
  CoreEmulatedMemory memory, pinned; /* device memory; page-locked memory, which the host may always access */
  bool is_open;               /* whether `memory` is accessible */
  Exchange waiting[CORE_EMULATED_LENT_MAX]; /* exchanges of the communication stream */
  int exchanges;
  CoreEmulatedThreads *threads;
  const CoreEmulatedBody *bodies; /* bodies of CORE_DEVICE_CODE that replace the kernels' own; or NULL */
  CoreGraph *recording;       /* graph being captured; NULL: operations are issued */
  struct Stream *stream;      /* [CORE_STREAMS] */
  int entered[CORE_STREAMS], depth; /* entered[depth]: the current stream; below it those that it was pushed on */
} Emulator;

/* WAIT: until `stream` has finished its first `until` operations. */
typedef struct Operation {
  enum { LAUNCH, COPY, FILL, COMM_START, COMM_WAIT, EXCHANGE, ENTER, LEAVE, JOIN, WAIT, CALL } kind;
  int stream;
  size_t until;
  const CoreKernel *kernel;
  unsigned blocks, threads;
  size_t shared;
  void *arguments;            /* a copy */
  void *target;
  const void *source;
  size_t bytes;
  int byte;
  CoreExchange *exchange;
  CoreHostCall *call;         /* argument: `target` */
  CoreAccessBy by;
} Operation;

struct CoreGraph {
  Operation *operation;
  size_t count, capacity;
  bool is_forked;             /* during a capture: whether memory is lent to the communication stream */
};

/* Operations issued to a stream. */
typedef struct Stream {
  CoreGraph queue;
  size_t done;                /* operations finished since the start */
  size_t popped;              /* operations removed from the queue since the start */
} Stream;

static Emulator *emulator_of(CoreDevice *device) { return (Emulator *)device; }
static void run_pending(Emulator *emulator, int stream);

static int allocate(CoreDevice *device, size_t bytes, void **memory) {
  return core_emulated_memory_allocate(&emulator_of(device)->memory, bytes, device->memory_bytes, memory);
}

static void release(CoreDevice *device, void *memory) {
  run_pending(emulator_of(device), 0);
  core_emulated_memory_release(&emulator_of(device)->memory, memory);
}

/* Opens the memory for a batch of operations; close_memory() closes it before the host continues. */
static void open_memory(Emulator *emulator) {
  if (!emulator->is_open) core_emulated_memory_open(&emulator->memory);
  emulator->is_open = true;
}
static void close_memory(Emulator *emulator) {
  if (emulator->is_open) core_emulated_memory_close(&emulator->memory);
  emulator->is_open = false;
}

static void move(Emulator *emulator, void *target, const void *source, size_t bytes) {
  open_memory(emulator);
  memmove(target, source, bytes);
}

/* ---- operations and their processors ----------------------------------------------------------------------------- */

/* Checks that no graph is captured: operations that involve the host cannot be part of one. */
static void check_not_recording(CoreDevice *device) { CORE_CHECK(emulator_of(device)->recording == NULL); }

/* Appends an operation with a copy of its arguments. */
static void record(CoreGraph *graph, Operation operation) {
  if (graph->count == graph->capacity) {
    graph->capacity = graph->capacity ? 2 * graph->capacity : 64;
    graph->operation = core_memory_resize(graph->operation, graph->capacity * sizeof *graph->operation);
  }
  if (operation.kernel) {
    void *kept = core_memory_allocate(operation.kernel->argument_bytes);
    memcpy(kept, operation.arguments, operation.kernel->argument_bytes);
    operation.arguments = kept;
  }
  graph->operation[graph->count++] = operation;
}

static int current_stream(const Emulator *emulator) { return emulator->entered[emulator->depth]; }

/* Adds an operation to the captured graph, or issues it to a stream. With FORWARD all go to the default stream, in the
 * order of their calls. That stream lags behind the host only to open memory once for many operations, since opening
 * takes longer than most of them. */
static void issue(Emulator *emulator, Operation operation) {
  operation.by = (CoreAccessBy){emulator->table.phase, emulator->table.is_encoding};
  const int stream = emulator->order == CORE_DEVICE_FORWARD ? 0 : current_stream(emulator);
  if (emulator->recording) {
    record(emulator->recording, operation);
    return;
  }
  if (stream > 0) run_pending(emulator, 0);
  record(&emulator->stream[stream].queue, operation);
  if (stream == 0 && emulator->stream[0].queue.count == LAG_MAX) run_pending(emulator, 0);
}

static void to_device(CoreDevice *device, void *target, const void *host, size_t bytes) {
  check_not_recording(device);
  core_emulated_memory_check(&emulator_of(device)->memory, target, bytes);
  run_pending(emulator_of(device), current_stream(emulator_of(device)));
  core_emulated_memory_check_host(&emulator_of(device)->memory, host, bytes);
  device->transfers++;
  device->transferred_bytes += bytes;
  move(emulator_of(device), target, host, bytes);
  close_memory(emulator_of(device));
}

static void to_host(CoreDevice *device, void *host, const void *source, size_t bytes) {
  check_not_recording(device);
  core_emulated_memory_check(&emulator_of(device)->memory, source, bytes);
  run_pending(emulator_of(device), current_stream(emulator_of(device)));
  core_emulated_memory_check_host(&emulator_of(device)->memory, host, bytes);
  device->transfers++;
  device->transferred_bytes += bytes;
  device->synchronizations++;
  move(emulator_of(device), host, source, bytes);
  close_memory(emulator_of(device));
}

static int allocate_pinned(CoreDevice *device, size_t bytes, void **memory) {
  CoreEmulatedMemory *pinned = &emulator_of(device)->pinned;
  TRY(core_emulated_memory_allocate(pinned, bytes, SIZE_MAX, memory));
  core_emulated_memory_open(pinned);
  return CORE_OK;
}

static void release_pinned(CoreDevice *device, void *memory) {
  run_pending(emulator_of(device), 0);
  core_emulated_memory_release(&emulator_of(device)->pinned, memory);
}

static void to_device_async(CoreDevice *device, void *target, const void *pinned, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->memory, target, bytes);
  core_emulated_memory_check(&emulator->pinned, pinned, bytes);
  device->transfers++;
  device->transferred_bytes += bytes;
  issue(emulator, (Operation){.kind = COPY, .target = target, .source = pinned, .bytes = bytes});
}

static void to_host_async(CoreDevice *device, void *pinned, const void *source, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->pinned, pinned, bytes);
  core_emulated_memory_check(&emulator->memory, source, bytes);
  device->transfers++;
  device->transferred_bytes += bytes;
  issue(emulator, (Operation){.kind = COPY, .target = pinned, .source = source, .bytes = bytes});
}

static void call(CoreDevice *device, CoreHostCall *function, void *argument) {
  issue(emulator_of(device), (Operation){.kind = CALL, .call = function, .target = argument});
}

static void copy(CoreDevice *device, void *target, const void *source, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->memory, target, bytes);
  core_emulated_memory_check(&emulator->memory, source, bytes);
  issue(emulator, (Operation){.kind = COPY, .target = target, .source = source, .bytes = bytes});
}

static void fill(CoreDevice *device, void *target, int byte, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->memory, target, bytes);
  issue(emulator, (Operation){.kind = FILL, .target = target, .byte = byte, .bytes = bytes});
}

/* ---- the communication stream ------------------------------------------------------------------------------------ */

static void comm_start(CoreDevice *device, void *memory, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->memory, memory, bytes);
  if (emulator->recording) {
    emulator->recording->is_forked = true;
    record(emulator->recording, (Operation){.kind = COMM_START, .target = memory, .bytes = bytes});
    return;
  }
  run_pending(emulator, 0);
  open_memory(emulator);
  core_emulated_memory_lend(&emulator->memory, memory, bytes);
  close_memory(emulator);
}

static void comm_wait(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  if (emulator->recording) {
    emulator->recording->is_forked = false;
    record(emulator->recording, (Operation){.kind = COMM_WAIT});
    return;
  }

  run_pending(emulator, 0);
  open_memory(emulator);
  for (int i = 0; i < emulator->exchanges; i++) {
    const Exchange *e = &emulator->waiting[i];
    e->function(e->target, e->source, e->bytes);
  }
  emulator->exchanges = 0;
  core_emulated_memory_return(&emulator->memory);
  close_memory(emulator);
}

static void exchange(CoreDevice *device, CoreExchange *function, void *target, const void *source, size_t bytes) {
  Emulator *emulator = emulator_of(device);
  core_emulated_memory_check(&emulator->memory, target, bytes);
  core_emulated_memory_check(&emulator->memory, source, bytes);

  if (emulator->recording) {
    record(emulator->recording, (Operation){.kind = EXCHANGE, .exchange = function, .target = target, .source = source,
                                            .bytes = bytes});
    return;
  }
  const Exchange e = {function, core_emulated_memory_where(&emulator->memory, target),
                      core_emulated_memory_where(&emulator->memory, source), bytes};
  if (e.target != target) {
    /* otherwise another stream might change its source */
    CORE_CHECK(e.source != source && emulator->exchanges < CORE_EMULATED_LENT_MAX);
    emulator->waiting[emulator->exchanges++] = e;
    return;
  }

  run_pending(emulator, 0);
  open_memory(emulator);
  function(target, source, bytes);
  close_memory(emulator);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Checks limits of a GPU: empty launches, too large blocks or arguments. */
static void check_launch(const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared) {
  enum { ARGUMENT_BYTES = 4096 };
  CORE_CHECK(blocks >= 1 && blocks <= INT32_MAX && threads >= 1 && threads <= CORE_EMULATED_THREADS);
  CORE_CHECK(shared <= CORE_EMULATED_SHARED_BYTES);
  CORE_CHECK(kernel->argument_bytes <= ARGUMENT_BYTES);
}

static size_t stack_bytes(CoreDevice *device, const CoreKernel *kernel) { return (void)device, (void)kernel, 0; }
static int check_kernel(CoreDevice *device, const CoreKernel *kernel) { return (void)device, (void)kernel, CORE_OK; }

/* By shared memory alone, of which CUDA reserves some for each block. */
static unsigned resident_blocks(CoreDevice *device, const CoreKernel *kernel, unsigned threads, size_t shared) {
  enum { RESERVED = 1024 };
  (void)kernel, (void)threads;
  const size_t fit = device->shared_bytes / (shared + RESERVED);
  return fit > 0 ? (unsigned)fit : 1;
}

static void launch(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                   const void *arguments) {
  Emulator *emulator = emulator_of(device);
  check_launch(kernel, blocks, threads, shared);
  if (emulator->recording == NULL) device->launches++;
  issue(emulator, (Operation){.kind = LAUNCH, .kernel = kernel, .blocks = blocks, .threads = threads, .shared = shared,
                              .arguments = (void *)(uintptr_t)arguments});
}

static void synchronize(CoreDevice *device) {
  check_not_recording(device);
  run_pending(emulator_of(device), current_stream(emulator_of(device)));
  device->synchronizations++;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Returns the operations issued to the stream since the start. */
static size_t issued_count(const Stream *stream) { return stream->popped + stream->queue.count; }

static void clear_queue(Stream *stream) {
  stream->popped = issued_count(stream);
  stream->queue.count = 0;
}

static void run_operation(Emulator *emulator, const Operation *o);
static void run_one_each(Emulator *emulator);

/* Runs a stream's operations until `until` of them are finished. */
static void advance(Emulator *emulator, int number, size_t until) {
  Stream *stream = &emulator->stream[number];
  while (stream->done < until) {
    const Operation o = stream->queue.operation[stream->done - stream->popped];
    stream->done++;
    if (o.kind == WAIT) advance(emulator, o.stream, o.until);
    else run_operation(emulator, &o);
    free(o.arguments);
    if (number == 0 && emulator->order == CORE_DEVICE_ISOLATED) run_one_each(emulator);
  }
  if (stream->done == issued_count(stream)) clear_queue(stream);
}

/* Runs one pending operation of each stream except the default one. */
static void run_one_each(Emulator *emulator) {
  for (int stream = 1; stream < CORE_STREAMS; stream++)
    if (emulator->stream[stream].done < issued_count(&emulator->stream[stream]))
      advance(emulator, stream, emulator->stream[stream].done + 1);
}

/* Runs all pending operations of the default stream, then those of `stream`. */
static void run_pending(Emulator *emulator, int stream) {
  advance(emulator, 0, issued_count(&emulator->stream[0]));
  advance(emulator, stream, issued_count(&emulator->stream[stream]));
  close_memory(emulator);
}

/* Makes the current stream wait for the work issued to `stream`. No other stream receives operations while the default
 * one lags behind, and with FORWARD none ever does. */
static void wait_for(Emulator *emulator, int stream) {
  const int waiting = current_stream(emulator);
  if (stream == 0 || emulator->order == CORE_DEVICE_FORWARD) return;
  run_pending(emulator, 0);
  const size_t until = issued_count(&emulator->stream[stream]);
  if (emulator->stream[stream].done == until) return;
  if (waiting == 0) run_pending(emulator, stream);
  else record(&emulator->stream[waiting].queue, (Operation){.kind = WAIT, .stream = stream, .until = until});
}

static void stream_push(CoreDevice *device, int stream) {
  Emulator *emulator = emulator_of(device);
  const int from = current_stream(emulator);
  CORE_CHECK(stream > 0 && stream < CORE_STREAMS && emulator->depth + 1 < CORE_STREAMS);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = ENTER, .stream = stream});
  emulator->entered[++emulator->depth] = stream;
  if (emulator->recording == NULL) wait_for(emulator, from);
}

static void stream_pop(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  CORE_CHECK(emulator->depth > 0);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = LEAVE});
  emulator->depth--;
}

static void stream_wait(CoreDevice *device, int stream) {
  Emulator *emulator = emulator_of(device);
  if (emulator->recording) record(emulator->recording, (Operation){.kind = JOIN, .stream = stream});
  else wait_for(emulator, stream);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Emulator whose kernel runs or ran last. */
static Emulator *launching;

static int find_memory(uint64_t address, uint64_t *first, uint64_t *end) {
  return core_emulated_memory_find(&launching->memory, address, first, end);
}

static void run_operation(Emulator *emulator, const Operation *o) {
  if (o->kernel) {
    open_memory(emulator);
    launching = emulator;
    CoreKernelBody *body = core_emulated_code_of(emulator->bodies, o->kernel);
    core_access_begin(&emulator->memory, o->kernel->name, o->by);
    core_emulated_threads_run(emulator->threads, o->kernel, body, o->blocks, o->threads, o->shared, o->arguments);
    core_access_end();
  } else if (o->call) {
    close_memory(emulator); /* inaccessible to the host again */
    o->call(o->target);
  } else if (o->source) {
    core_access_move(&emulator->memory, o->target, o->source, o->bytes, o->by);
    move(emulator, o->target, o->source, o->bytes);
  } else {
    core_access_move(&emulator->memory, o->target, NULL, o->bytes, o->by);
    open_memory(emulator);
    memset(o->target, o->byte, o->bytes);
  }
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void begin_capture(CoreDevice *device) {
  check_not_recording(device);
  emulator_of(device)->recording = core_memory_zero_allocate(1, sizeof(CoreGraph));
}

/* Checks that streams pushed in the graph are popped and waited for, as CUDA requires. */
static void check_streams(const CoreGraph *graph) {
  bool busy[CORE_STREAMS] = {false};
  int depth = 0;
  for (size_t i = 0; i < graph->count; i++) {
    const Operation *o = &graph->operation[i];
    if (o->kind == ENTER) {
      busy[o->stream] = true;
      depth++;
    }
    if (o->kind == LEAVE) depth--;
    if (o->kind == JOIN) busy[o->stream] = false;
  }
  for (int stream = 1; stream < CORE_STREAMS; stream++) CORE_CHECK(!busy[stream] && depth == 0);
}

static CoreGraph *end_capture(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  CoreGraph *graph = emulator->recording;
  CORE_CHECK(graph != NULL && !graph->is_forked); /* CUDA requires a capture to end in the stream where it began */
  check_streams(graph);
  emulator->recording = NULL;
  return graph;
}

static void perform(CoreDevice *device, const Operation *o) {
  switch (o->kind) {
    case COMM_START: comm_start(device, o->target, o->bytes); return;
    case COMM_WAIT: comm_wait(device); return;
    case EXCHANGE: exchange(device, o->exchange, o->target, o->source, o->bytes); return;
    case ENTER: stream_push(device, o->stream); return;
    case LEAVE: stream_pop(device); return;
    case JOIN: stream_wait(device, o->stream); return;
    default: issue(emulator_of(device), *o);
  }
}

static void launch_graph(CoreDevice *device, CoreGraph *graph) {
  check_not_recording(device);
  const bool is_encoding = device->is_encoding;
  device->graphs++;
  for (size_t i = 0; i < graph->count; i++) {
    device->is_encoding = graph->operation[i].by.is_encoding;
    perform(device, &graph->operation[i]);
  }
  device->is_encoding = is_encoding;
}

static void destroy_graph(CoreDevice *device, CoreGraph *graph) {
  (void)device;
  if (graph == NULL) return;
  for (size_t i = 0; i < graph->count; i++) free(graph->operation[i].arguments);
  free(graph->operation);
  free(graph);
}

static void destroy(CoreDevice *device) {
  Emulator *emulator = emulator_of(device);
  for (int stream = 0; stream < CORE_STREAMS; stream++) {
    run_pending(emulator, stream);
    free(emulator->stream[stream].queue.operation);
  }
  free(emulator->stream);
  core_emulated_memory_release_all(&emulator->memory);
  core_emulated_memory_release_all(&emulator->pinned);
  core_emulated_threads_destroy(emulator->threads);
  free(emulator);
}

CoreDevice *core_device_emulated(CoreDeviceOrder order) { return core_device_emulated_sized(order, SIZE_MAX); }

CoreDevice *core_device_emulated_sized(CoreDeviceOrder order, size_t memory_bytes) {
  Emulator *emulator = core_memory_zero_allocate(1, sizeof *emulator);
  emulator->order = order;
  emulator->stream = core_memory_zero_allocate(CORE_STREAMS, sizeof *emulator->stream);
  emulator->threads = core_emulated_threads_create(order);
  core_emulated_memory_acquire_key(&emulator->memory);

  static const CoreEmulatedServices services = CORE_EMULATED_SERVICES(find_memory);
  emulator->bodies = core_access_bodies() ? core_access_bodies() : core_emulated_code(&services);

  emulator->table = (CoreDevice){
    .name = "emulated", .description = "emulated on the CPU", .memory_bytes = memory_bytes,
    .shared_bytes = CORE_EMULATED_SHARED_BYTES, .processors = PROCESSORS,
    .allocate = allocate, .release = release, .to_device = to_device, .to_host = to_host, .copy = copy, .fill = fill,
    .allocate_pinned = allocate_pinned, .release_pinned = release_pinned, .to_device_async = to_device_async,
      .to_host_async = to_host_async, .call = call,
    .launch = launch, .synchronize = synchronize, .stack_bytes = stack_bytes, .check_kernel = check_kernel,
      .resident_blocks = resident_blocks,
    .comm_start = comm_start, .comm_wait = comm_wait, .exchange = exchange,
    .stream_push = stream_push, .stream_pop = stream_pop, .stream_wait = stream_wait,
    .begin_capture = begin_capture, .end_capture = end_capture, .launch_graph = launch_graph,
      .destroy_graph = destroy_graph,
    .destroy = destroy};

  return &emulator->table;
}
