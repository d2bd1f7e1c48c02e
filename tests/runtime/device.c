/* GPUs, each with the properties of an H200, and errors. CUDA_VISIBLE_DEVICES selects among the machine's GPUs as in
 * the driver. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "tests/runtime/runtime.h"

static const size_t h200_bytes = (size_t)143771 << 20;

static struct {
  bool ready;
  RuntimeOrder order;
  size_t bytes; /* memory of each GPU */
  int gpus, ordinal[RUNTIME_GPUS_MAX]; /* number of visible GPUs, and their indices in the machine */
  int current;
} machine;
static cudaError_t last_error;

cudaError_t runtime_fail(cudaError_t code) { return last_error = code; }

cudaError_t runtime_refuse(cudaError_t code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("CUDA (stand-in): ", stderr);
  vfprintf(stderr, format, list);
  fprintf(stderr, " (%s)\n", cudaGetErrorName(code));
  va_end(list);
  return runtime_fail(code);
}

static void report(void) {
  const RuntimeCounts *n = &runtime_counts;
  fprintf(stderr, "CUDA (stand-in): %llu kernels, %llu copies, %llu fills, %llu waits, ",
          (unsigned long long)n->launches, (unsigned long long)n->copies, (unsigned long long)n->fills,
          (unsigned long long)n->waits);
  fprintf(stderr, "%llu captures, %llu graphs of %llu nodes\n", (unsigned long long)n->captures,
          (unsigned long long)n->graphs, (unsigned long long)n->nodes);
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

const char *runtime_setting(const char *name) {
  const size_t n = strlen(name);
  for (const char *at = getenv("RUNTIME_STAND_IN"); at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, n) == 0 && (at[n] == '=' || at[n] == ',' || at[n] == '\0')) return at + n + (at[n] == '=');
  }
  return NULL;
}

/* Selects the visible GPUs by index; the first invalid index ends the list. */
static void select_gpus(int gpus) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  for (int i = 0; visible == NULL && i < gpus; i++) machine.ordinal[machine.gpus++] = i;
  while (visible && machine.gpus < RUNTIME_GPUS_MAX) {
    char *end;
    const long ordinal = strtol(visible, &end, 10);
    if (end == visible || ordinal < 0 || ordinal >= gpus) return;
    machine.ordinal[machine.gpus++] = (int)ordinal;
    if (*end != ',') return;
    visible = end + 1;
  }
}

static void make_ready(void) {
  if (machine.ready) return;
  const char *gpus = runtime_setting("gpus"), *memory = runtime_setting("memory"), *order = runtime_setting("order");
  const long n = gpus ? strtol(gpus, NULL, 10) : 1;
  machine.ready = true;
  if (order && strncmp(order, "forward", 7) == 0) machine.order = RUNTIME_FORWARD;
  if (order && strncmp(order, "turns", 5) == 0) machine.order = RUNTIME_TURNS;
  machine.bytes = memory ? (size_t)strtoull(memory, NULL, 10) << 20 : h200_bytes;
  select_gpus(n < RUNTIME_GPUS_MAX ? (int)n : RUNTIME_GPUS_MAX);
  if (runtime_setting("report")) atexit(report);
}

RuntimeOrder runtime_order(void) {
  make_ready();
  return machine.order;
}

int runtime_device_current(void) { return machine.current; }
size_t runtime_device_bytes(void) { return machine.bytes; }

cudaError_t cudaDriverGetVersion(int *version) {
  *version = runtime_setting("driver") ? 12040 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }

cudaError_t cudaGetDeviceCount(int *count) {
  make_ready();
  *count = machine.gpus;
  if (runtime_setting("driver")) return runtime_fail(cudaErrorInsufficientDriver);
  return machine.gpus ? cudaSuccess : runtime_fail(cudaErrorNoDevice);
}

static bool is_device(int number) {
  make_ready();
  return number >= 0 && number < machine.gpus;
}

cudaError_t cudaSetDevice(int number) {
  if (!is_device(number)) return runtime_fail(machine.gpus ? cudaErrorInvalidDevice : cudaErrorNoDevice);
  machine.current = number;
  return cudaSuccess;
}

/* Fills the properties of an H200 that core/ and the stand-in for cuBLASLt read. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int number) {
  if (!is_device(number)) return runtime_fail(machine.gpus ? cudaErrorInvalidDevice : cudaErrorNoDevice);
  *properties = (struct cudaDeviceProp){.name = "stand-in for an NVIDIA H200",
                                        .totalGlobalMem = machine.bytes,
                                        .sharedMemPerBlock = RUNTIME_SHARED_DEFAULT,
                                        .sharedMemPerBlockOptin = RUNTIME_SHARED_MAX,
                                        .sharedMemPerMultiprocessor = 228 * 1024,
                                        .reservedSharedMemPerBlock = 1024,
                                        .regsPerBlock = RUNTIME_REGISTERS,
                                        .regsPerMultiprocessor = RUNTIME_REGISTERS,
                                        .warpSize = 32,
                                        .maxThreadsPerBlock = 1024,
                                        .maxThreadsDim = {1024, 1024, 64},
                                        .maxGridSize = {INT32_MAX, 65535, 65535},
                                        .totalConstMem = 65536,
                                        .multiProcessorCount = 132,
                                        .maxThreadsPerMultiProcessor = 2048,
                                        .maxBlocksPerMultiProcessor = 32,
                                        .major = 9,
                                        .l2CacheSize = 60 << 20,
                                        .unifiedAddressing = 1,
                                        .concurrentKernels = 1,
                                        .asyncEngineCount = 3};
  memset(&properties->uuid, 0x5a, sizeof properties->uuid);
  properties->uuid.bytes[15] = (char)machine.ordinal[number];
  return cudaSuccess;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

#define ERRORS(E)                                                                                                      \
  E(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                      \
  E(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")                      \
  E(cudaSuccess, "no error")                                                                                           \
  E(cudaErrorInvalidValue, "invalid argument") E(cudaErrorMemoryAllocation, "out of memory") E(                        \
      cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") E(cudaErrorNoDevice,                       \
                                                                              "no CUDA-capable device is detected")    \
      E(cudaErrorInvalidDevice, "invalid device ordinal") E(cudaErrorInvalidDeviceFunction, "invalid device function") \
          E(cudaErrorInvalidConfiguration, "invalid configuration argument") E(cudaErrorInvalidResourceHandle,         \
                                                                               "invalid resource handle")              \
              E(cudaErrorIllegalState, "the operation cannot be performed in the present state") E(                    \
                  cudaErrorNotReady,                                                                                   \
                  "device not ready") E(cudaErrorLaunchOutOfResources,                                                 \
                                        "too many resources requested for launch") E(cudaErrorNotSupported,            \
                                                                                     "operation not supported")        \
                  E(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing") E(          \
                      cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")    \
                      E(cudaErrorStreamCaptureMerge,                                                                   \
                        "operation would result in a merge of separate capture sequences")                             \
                          E(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")   \
                              E(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work") E(               \
                                  cudaErrorStreamCaptureIsolation,                                                     \
                                  "dependency created on uncaptured work in another stream")                           \
                                  E(cudaErrorStreamCaptureImplicit,                                                    \
                                    "operation would make the legacy stream depend on a capturing blocking stream")    \
                                      E(cudaErrorCapturedEvent,                                                        \
                                        "operation not permitted on an event last recorded in a capturing stream")

const char *cudaGetErrorName(cudaError_t code) {
  switch (code) {
#define E(name, text) \
  case name: return #name;
    ERRORS(E)
#undef E
    default: return "unrecognized error code";
  }
}

const char *cudaGetErrorString(cudaError_t code) {
  switch (code) {
#define E(name, text) \
  case name: return text;
    ERRORS(E)
#undef E
    default: return "unrecognized error code";
  }
}

cudaError_t cudaGetLastError(void) {
  const cudaError_t code = last_error;
  last_error = cudaSuccess;
  return code;
}
