/* GPU through the CUDA runtime. The runtime is linked statically and loads the driver at its first use, so a program
 * with CUDA starts on machines without a GPU. Only kernels (kernels_cuda.cu of a directory) are CUDA code. */
#include "core/device/device.h"

#if CORE_HAS_CUDA
#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { POLLS_A_WATCH = 1024, LARGE_KERNELS_MAX = 32 };

/* Lowest compute capability that kernels were compiled for, 80 for 8.0 (the Makefile's CUDA_TARGETS). */
#ifndef CORE_CUDA_MIN
#define CORE_CUDA_MIN 80
#endif
/* Targets of the kernels, as nvcc was told. */
#ifndef CORE_CUDA_TARGETS
#define CORE_CUDA_TARGETS "those of the Makefile"
#endif

typedef struct Gpu {
  CoreDevice table;
  cudaEvent_t event;                 /* for waits between streams */
  cudaStream_t stream[CORE_STREAMS]; /* 0: the default stream */
  bool busy[CORE_STREAMS];           /* pushed since the last stream_wait */
  int entered[CORE_STREAMS], depth;  /* entered[depth]: the current stream; below it those that it was pushed on */
  size_t resident_threads;           /* maximum resident threads of the device */
  bool reads_host_memory;            /* whether the device reads pageable memory through the host's page tables
                                      * (GH200) */
  cudaEvent_t clock[2];              /* begin and end of a timed interval */
  struct {
    const CoreKernel *kernel;
    size_t shared;
  } large[LARGE_KERNELS_MAX];        /* kernels for which ask_for_shared has asked, and how much */
  unsigned large_kernels;
} Gpu;

/* Ends the program on a failure: kernels launched before may have written anything. */
static void check(cudaError_t code, const char *what, const char *kernel) {
  if (code == cudaSuccess) return;
  fprintf(stderr, "CUDA: %s%s%s: %s (%s)\n", what, kernel ? " " : "", kernel ? kernel : "", cudaGetErrorString(code),
          cudaGetErrorName(code));
  core_error_abort(__FILE__, __LINE__, what);
}

static cudaStream_t stream_of(CoreDevice *device) { return device->stream; }

static int allocate(CoreDevice *device, size_t bytes, void **memory) {
  *memory = NULL;
  const cudaError_t code = cudaMalloc(memory, bytes ? bytes : 1);
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return core_error(CORE_FAIL, "out of memory of %s: %zu bytes", device->description, bytes);
  }
  check(code, "cudaMalloc", NULL);
  check(cudaMemsetAsync(*memory, 0, bytes, stream_of(device)), "cudaMemsetAsync", NULL);
  return CORE_OK;
}

static void release(CoreDevice *device, void *memory) {
  (void)device;
  check(cudaFree(memory), "cudaFree", NULL);
}

static int allocate_pinned(CoreDevice *device, size_t bytes, void **memory) {
  *memory = NULL;
  const cudaError_t code = cudaHostAlloc(memory, bytes ? bytes : 1, cudaHostAllocDefault);
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return core_error(CORE_FAIL, "out of page-locked memory for %s: %zu bytes", device->description, bytes);
  }
  check(code, "cudaHostAlloc", NULL);
  memset(*memory, 0, bytes);
  return CORE_OK;
}

static void release_pinned(CoreDevice *device, void *memory) {
  (void)device;
  check(cudaFreeHost(memory), "cudaFreeHost", NULL);
}

static void to_device_async(CoreDevice *device, void *target, const void *pinned, size_t bytes) {
  device->transfers++;
  device->transferred_bytes += bytes;
  check(cudaMemcpyAsync(target, pinned, bytes, cudaMemcpyHostToDevice, stream_of(device)), "copy to the device", NULL);
}

static void to_host_async(CoreDevice *device, void *pinned, const void *source, size_t bytes) {
  device->transfers++;
  device->transferred_bytes += bytes;
  check(cudaMemcpyAsync(pinned, source, bytes, cudaMemcpyDeviceToHost, stream_of(device)), "copy to the host", NULL);
}

static void call(CoreDevice *device, CoreHostCall *function, void *argument) {
  check(cudaLaunchHostFunc(stream_of(device), function, argument), "a call of the host", NULL);
}

/* Waits for the current stream. With on_wait the host polls instead of sleeping: NCCL's kernels may wait for a process
 * that died. */
static void wait(CoreDevice *device) {
  cudaError_t code = cudaErrorNotReady;
  const double start = device->on_wait ? core_clock_s() : 0;
  for (unsigned polls = 1; device->on_wait && code == cudaErrorNotReady; polls++) {
    code = cudaStreamQuery(stream_of(device));
    if (polls % POLLS_A_WATCH != 0) continue;
    device->on_wait(device->waiting, core_clock_s() - start);
    sched_yield(); /* NCCL's and CUDA's own threads may be bound to the same processor */
  }
  if (code == cudaErrorNotReady) code = cudaStreamSynchronize(stream_of(device));
  check(code, "waiting", NULL);
}

/* ---- timing ------------------------------------------------------------------------------------------------------ */

static void begin_time(CoreDevice *device) {
  check(cudaEventRecord(((Gpu *)device)->clock[0], stream_of(device)), "event", NULL);
}

static double end_time(CoreDevice *device) {
  const Gpu *gpu = (const Gpu *)device;
  float milliseconds = 0;
  check(cudaEventRecord(gpu->clock[1], stream_of(device)), "event", NULL);
  check(cudaEventSynchronize(gpu->clock[1]), "waiting for an event", NULL);
  check(cudaEventElapsedTime(&milliseconds, gpu->clock[0], gpu->clock[1]), "time between events", NULL);
  return 1e-3 * (double)milliseconds;
}

static bool is_noted(const CoreDevice *device) { return device->times && !device->is_capturing; }
static void note_begin(CoreDevice *device) {
  if (is_noted(device)) begin_time(device);
}
static void note_end(CoreDevice *device, const char *name) {
  if (is_noted(device)) core_device_times_add(device->times, name, end_time(device));
}

/* Returns the time of an empty interval: the overhead of the events in every measurement. */
static double empty_time(CoreDevice *device) {
  enum { TRIES = 16 };
  double min_seconds = 1;
  for (int i = 0; i < TRIES; i++) {
    begin_time(device);
    const double seconds = end_time(device);
    min_seconds = seconds < min_seconds ? seconds : min_seconds;
  }
  return min_seconds;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Copies from pageable memory; returns when the host may change the source. CUDA stages the data first, except where
 * the device reads the host's pages itself. */
static void to_device(CoreDevice *device, void *target, const void *host, size_t bytes) {
  device->transfers++;
  device->transferred_bytes += bytes;
  check(cudaMemcpyAsync(target, host, bytes, cudaMemcpyHostToDevice, stream_of(device)), "copy to the device", NULL);
  if (((Gpu *)device)->reads_host_memory) wait(device);
}

static void synchronize(CoreDevice *device) {
  device->synchronizations++;
  wait(device);
}

/* Makes `later` wait for the work issued to `earlier` so far. The event can be reused as soon as the wait is issued. */
static void order(CoreDevice *device, void *earlier, void *later) {
  const Gpu *gpu = (const Gpu *)device;
  check(cudaEventRecord(gpu->event, earlier), "event", NULL);
  check(cudaStreamWaitEvent(later, gpu->event, 0), "waiting for an event", NULL);
}

static void comm_start(CoreDevice *device, void *memory, size_t bytes) {
  (void)memory;
  (void)bytes;
  order(device, device->stream, device->communication_stream);
}

static void comm_wait(CoreDevice *device) { order(device, device->communication_stream, device->stream); }

static void stream_push(CoreDevice *device, int stream) {
  Gpu *gpu = (Gpu *)device;
  CORE_CHECK(gpu->depth + 1 < CORE_STREAMS);
  order(device, device->stream, gpu->stream[stream]);
  gpu->entered[++gpu->depth] = stream;
  gpu->busy[stream] = true;
  device->stream = gpu->stream[stream];
}

static void stream_pop(CoreDevice *device) {
  Gpu *gpu = (Gpu *)device;
  CORE_CHECK(gpu->depth > 0);
  device->stream = gpu->stream[gpu->entered[--gpu->depth]];
}

/* Skips a stream that was not pushed: during a capture it is not part of the graph. */
static void stream_wait(CoreDevice *device, int stream) {
  Gpu *gpu = (Gpu *)device;
  if (gpu->busy[stream]) order(device, gpu->stream[stream], device->stream);
  gpu->busy[stream] = false;
}

/* Copies to pageable memory, which would block until all earlier work is done, without calling on_wait. */
static void to_host(CoreDevice *device, void *host, const void *source, size_t bytes) {
  device->transfers++;
  device->transferred_bytes += bytes;
  if (device->on_wait) wait(device);
  check(cudaMemcpyAsync(host, source, bytes, cudaMemcpyDeviceToHost, stream_of(device)), "copy to the host", NULL);
  synchronize(device);
}

static void copy(CoreDevice *device, void *target, const void *source, size_t bytes) {
  note_begin(device);
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream_of(device)), "copy", NULL);
  note_end(device, "copy");
}

static void fill(CoreDevice *device, void *target, int byte, size_t bytes) {
  note_begin(device);
  check(cudaMemsetAsync(target, byte, bytes, stream_of(device)), "fill", NULL);
  note_end(device, "fill");
}

/* Whether this much was requested for the kernel before; remembers it. */
static bool has_asked(Gpu *gpu, const CoreKernel *kernel, size_t shared) {
  unsigned i = 0;
  while (i < gpu->large_kernels && gpu->large[i].kernel != kernel) i++;
  if (i == LARGE_KERNELS_MAX) return false;
  if (i < gpu->large_kernels && gpu->large[i].shared >= shared) return true;
  if (i == gpu->large_kernels) gpu->large_kernels++;
  gpu->large[i].kernel = kernel;
  gpu->large[i].shared = shared;
  return false;
}

/* Requests shared memory beyond 48 KB, as CUDA requires. Where shared memory limits the occupancy, prefers it to L1
 * cache. */
static void ask_for_shared(Gpu *gpu, const void *entry, const CoreKernel *kernel, size_t shared) {
  enum { FREE = 48 * 1024, SMALL = 8 * 1024 };
  if (shared <= SMALL || has_asked(gpu, kernel, shared)) return;
  if (shared > FREE)
    check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared), "shared memory of",
          kernel->name);
  check(cudaFuncSetAttribute(entry, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        "shared memory of", kernel->name);
}

static void launch(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                   const void *arguments) {
  const void *entry = kernel->entry();
  void *parameters[] = {(void *)(uintptr_t)arguments};
  ask_for_shared((Gpu *)device, entry, kernel, shared);
  device->launches++;
  note_begin(device);
  check(cudaLaunchKernel(entry, (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, parameters, shared, stream_of(device)),
        "launch of", kernel->name);
  note_end(device, kernel->name);
}

static size_t stack_bytes(CoreDevice *device, const CoreKernel *kernel) {
  struct cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel->entry()), "asking about", kernel->name);
  return attributes.localSizeBytes * ((const Gpu *)device)->resident_threads;
}

static unsigned resident_blocks(CoreDevice *device, const CoreKernel *kernel, unsigned threads, size_t shared) {
  const void *entry = kernel->entry();
  int blocks = 0;
  ask_for_shared((Gpu *)device, entry, kernel, shared);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry, (int)threads, shared), "asking about",
        kernel->name);
  return blocks > 0 ? (unsigned)blocks : 1;
}

/* A program with code for some GPUs only, and without PTX, would fail at its first launch. */
static int check_kernel(CoreDevice *device, const CoreKernel *kernel) {
  struct cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, kernel->entry());
  if (code == cudaSuccess) return CORE_OK;
  (void)cudaGetLastError();
  return core_error(CORE_USAGE, "%s: this program's kernels cannot run there: %s; rebuild with CUDA_TARGETS for it "
                    "(now %s), or set train.device = cpu", device->description, cudaGetErrorString(code),
                    CORE_CUDA_TARGETS);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* Relaxed mode: libraries may call the runtime during the capture. No other thread uses the device. */
static void begin_capture(CoreDevice *device) {
  check(cudaStreamBeginCapture(stream_of(device), cudaStreamCaptureModeRelaxed), "beginning a graph", NULL);
  device->is_capturing = true;
}

static CoreGraph *end_capture(CoreDevice *device) {
  cudaGraph_t captured;
  cudaGraphExec_t ready;
  device->is_capturing = false;
  check(cudaStreamEndCapture(stream_of(device), &captured), "ending a graph", NULL);
  check(cudaGraphInstantiate(&ready, captured, 0), "making a graph ready", NULL);
  check(cudaGraphDestroy(captured), "releasing a graph's record", NULL);
  return (CoreGraph *)ready;
}

static void launch_graph(CoreDevice *device, CoreGraph *graph) {
  device->graphs++;
  note_begin(device);
  check(cudaGraphLaunch((cudaGraphExec_t)graph, stream_of(device)), "launch of a graph", NULL);
  note_end(device, "a graph");
}

/* CUDA lets a running graph finish first. The host must not wait for it: other ranks may have left its exchange. */
static void destroy_graph(CoreDevice *device, CoreGraph *graph) {
  (void)device;
  if (graph == NULL) return;
  check(cudaGraphExecDestroy((cudaGraphExec_t)graph), "releasing a graph", NULL);
}

static void destroy(CoreDevice *device) {
  Gpu *gpu = (Gpu *)device;
  if (device->times) core_device_times_print(device->times, empty_time(device), stderr);
  core_device_times_close(&device->times);
  cudaEventDestroy(gpu->event);
  for (int i = 0; i < 2; i++) cudaEventDestroy(gpu->clock[i]);
  cudaStreamDestroy(device->communication_stream);
  for (int stream = 0; stream < CORE_STREAMS; stream++) cudaStreamDestroy(gpu->stream[stream]);
  free(device);
}

/* Reports a driver that is older than this program's runtime, or missing. */
static int report_driver(void) {
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  const int major = runtime / 1000;
  if (driver == 0)
    return core_error(CORE_USAGE, "no GPU is available: no NVIDIA driver is loaded; check nvidia-smi");
  return core_error(CORE_USAGE, "no GPU is available: the driver supports CUDA %d.%d, but this program was built with "
                    "CUDA %d.%d, which needs driver %s; update the driver, or rebuild with CUDA %d", driver / 1000,
                    driver % 1000 / 10, major, runtime % 1000 / 10, major >= 13 ? "580 or later" : "525 or later",
                    driver / 1000);
}

int core_device_cuda_count(int *count) {
  const cudaError_t code = cudaGetDeviceCount(count);
  if (code == cudaSuccess && *count > 0) return CORE_OK;
  *count = 0;
  (void)cudaGetLastError();
  if (code == cudaErrorInsufficientDriver) return report_driver();
  return core_error(CORE_USAGE, "no GPU is available: %s; check nvidia-smi and CUDA_VISIBLE_DEVICES",
                    code == cudaSuccess ? "none is visible" : cudaGetErrorString(code));
}

int core_device_cuda_id(int number, CoreDeviceId *id) {
  struct cudaDeviceProp properties;
  const cudaError_t code = cudaGetDeviceProperties(&properties, number);
  _Static_assert(sizeof properties.uuid == sizeof *id, "CUDA's names of GPUs have 16 bytes");
  if (code != cudaSuccess) return core_error(CORE_USAGE, "GPU %d: %s", number, cudaGetErrorString(code));
  memcpy(id, &properties.uuid, sizeof *id);
  return CORE_OK;
}

/* Checks the compute capability now: kernels for another architecture fail only at the first launch, when it is too
 * late to fall back to the CPU. */
static int check_capability(int number, const struct cudaDeviceProp *properties) {
  if (10 * properties->major + properties->minor >= CORE_CUDA_MIN) return CORE_OK;
  return core_error(CORE_USAGE, "GPU %d, %.64s: compute capability is %d.%d, but this program's kernels need %d.%d: "
                    "rebuild with CUDA_TARGETS for it, or set train.device = cpu", number, properties->name,
                    properties->major, properties->minor, CORE_CUDA_MIN / 10, CORE_CUDA_MIN % 10);
}

/* Creates the streams. What other ranks wait for goes first; levels that are drawn ahead go last. */
static cudaError_t create_streams(cudaStream_t stream[CORE_STREAMS], cudaStream_t *communication) {
  int lowest = 0, highest = 0; /* smaller numbers go first */
  cudaError_t code = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
  const int ordinary = lowest - 1 > highest ? lowest - 1 : lowest;
  for (int i = 0; code == cudaSuccess && i < CORE_STREAMS; i++)
    code = cudaStreamCreateWithPriority(&stream[i], cudaStreamNonBlocking, i == CORE_STREAM_AHEAD ? lowest : ordinary);
  if (code == cudaSuccess) code = cudaStreamCreateWithPriority(communication, cudaStreamNonBlocking, highest);
  return code;
}

int core_device_cuda(int number, CoreDevice **device) {
  struct cudaDeviceProp properties;
  cudaStream_t stream[CORE_STREAMS], communication;
  cudaEvent_t event, clock[2];
  *device = NULL;

  cudaError_t code = cudaGetDeviceProperties(&properties, number);
  if (code == cudaSuccess) TRY(check_capability(number, &properties));
  if (code == cudaSuccess) code = cudaSetDevice(number);
  if (code == cudaSuccess) code = create_streams(stream, &communication);
  if (code == cudaSuccess) code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  for (int i = 0; code == cudaSuccess && i < 2; i++) code = cudaEventCreateWithFlags(&clock[i], cudaEventDefault);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    return core_error(CORE_USAGE, "GPU %d cannot be used: %s", number, cudaGetErrorString(code));
  }

  Gpu *gpu = core_memory_zero_allocate(1, sizeof *gpu);
  CoreDevice *created = &gpu->table;
  gpu->event = event;
  memcpy(gpu->stream, stream, sizeof stream);
  memcpy(gpu->clock, clock, sizeof clock);
  gpu->resident_threads = (size_t)properties.multiProcessorCount * (size_t)properties.maxThreadsPerMultiProcessor;
  gpu->reads_host_memory = properties.pageableMemoryAccessUsesHostPageTables != 0;

  *created = (CoreDevice){
    .name = "cuda", .memory_bytes = properties.totalGlobalMem, .shared_bytes = properties.sharedMemPerBlockOptin,
    .processors = (unsigned)properties.multiProcessorCount,
    .allocate = allocate, .release = release, .to_device = to_device, .to_host = to_host, .copy = copy, .fill = fill,
    .allocate_pinned = allocate_pinned, .release_pinned = release_pinned, .to_device_async = to_device_async,
      .to_host_async = to_host_async, .call = call,
    .launch = launch, .synchronize = synchronize, .stack_bytes = stack_bytes, .check_kernel = check_kernel,
      .resident_blocks = resident_blocks,
    .comm_start = comm_start, .comm_wait = comm_wait,
    .stream_push = stream_push, .stream_pop = stream_pop, .stream_wait = stream_wait,
    .begin_capture = begin_capture, .end_capture = end_capture, .launch_graph = launch_graph,
    .destroy_graph = destroy_graph,
    .begin_time = begin_time, .end_time = end_time, .times = core_device_times_open(),
    .stream = stream[0], .communication_stream = communication, .destroy = destroy};

  snprintf(created->description, sizeof created->description, "%.64s, compute capability %d.%d, %.1f GiB",
           properties.name, properties.major, properties.minor, (double)properties.totalGlobalMem / (double)(1 << 30));
  *device = created;
  return CORE_OK;
}
#endif
