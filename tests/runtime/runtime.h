/* A stand-in for the CUDA runtime, to run the host side of the CUDA code on machines without a GPU. Programs link it
 * instead of libcudart (tests/tests.mk); all other code, including nvcc's output, is that of a GPU build.
 * docs/cuda-design.md describes what it can and cannot show.
 *
 * - Streams execute nothing until they are waited for, and graphs run their nodes in another order than they were
 *   captured in, wherever no event forbids it: this exposes results that depend on a missing synchronization.
 * - Calls that CUDA rejects are rejected with CUDA's errors, above all those that are illegal during stream capture.
 * - Device memory is host memory that only operations may access; freed memory must not be accessed at all.
 * - Kernels are identified by the names that nvcc's code registers, and run through the bodies of the emulated device.
 *
 * RUNTIME_STAND_IN=gpus=2,memory=1000,order=forward,kernels=none,driver=old,report configures it: the number of GPUs
 * (default 1), MiB of memory per GPU (default: an H200's), the execution order of streams, graph nodes and threads
 * (backward, the default; forward: immediately and in order; turns: as backward, but graph nodes alternately from the
 * end and from the start), kernels for other GPUs only, a driver of CUDA 12.4, statistics on standard error at exit. */
#ifndef RUNTIME_H
#define RUNTIME_H
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device/device.h"
#include "core/error.h"

enum {
  RUNTIME_GPUS_MAX = 8,
  RUNTIME_SHARED_DEFAULT = 48 * 1024,
  RUNTIME_SHARED_MAX = 227 * 1024,
  RUNTIME_REGISTERS = 65536
};

typedef enum RuntimeOrder { RUNTIME_BACKWARD, RUNTIME_TURNS, RUNTIME_FORWARD } RuntimeOrder;

/* A __global__ function, as nvcc's code registered it. */
typedef struct RuntimeFunction {
  const void *entry; /* host address */
  const char *name; /* mangled name */
  const CoreKernel *kernel; /* kernel with a body for the stand-in; NULL: none */
  size_t shared_max; /* maximum dynamic shared memory per launch */
  int registers, stack_bytes; /* per thread, from ptxas (RUNTIME_PTXAS); 0: unknown */
} RuntimeFunction;

typedef struct RuntimeOperation {
  enum { RUNTIME_LAUNCH, RUNTIME_COPY, RUNTIME_FILL, RUNTIME_HOST, RUNTIME_RECORD, RUNTIME_WAIT, RUNTIME_GRAPH } kind;
  const RuntimeFunction *function;
  unsigned blocks, threads;
  size_t shared;
  void *arguments; /* owned copy of a launch's arguments, or of the source of a copy to the device; else NULL */
  void *target;
  const void *source;
  size_t bytes;
  int byte; /* value of a fill */
  cudaHostFn_t host;
  void *data; /* argument of `host` */
  cudaEvent_t event;
  uint64_t record; /* index of the event's record that is made or waited for */
  cudaStream_t stream; /* stream of the record */
  cudaGraphExec_t graph;
} RuntimeOperation;

/* Dependencies of a node: indices of nodes of its graph. */
typedef struct RuntimeFront {
  size_t *node;
  size_t nodes;
} RuntimeFront;

typedef struct RuntimeNode {
  RuntimeOperation operation;
  RuntimeFront after;
} RuntimeNode;

struct CUgraph_st {
  RuntimeNode *node;
  size_t nodes, capacity;
};
struct CUgraphExec_st {
  struct CUgraph_st graph;
  int pending;
  bool destroyed;
};

/* Capture: begins in one stream and extends to streams that wait for its events. */
typedef struct RuntimeCapture {
  cudaGraph_t graph;
  cudaStream_t origin;
  enum cudaStreamCaptureMode mode;
  bool invalid;
} RuntimeCapture;

struct CUstream_st {
  int device;
  bool is_default;
  RuntimeOperation *queue; /* pending operations: [first, count) */
  size_t first, count, capacity;
  RuntimeCapture *capture; /* active capture; NULL: operations are executed */
  RuntimeFront front; /* dependencies of the next captured node */
  struct CUstream_st *next; /* next of all streams */
};

struct CUevent_st {
  int device;
  unsigned flags;
  uint64_t recorded; /* number of records so far */
  cudaStream_t stream; /* stream of the last record */
  RuntimeCapture *capture; /* capture that contains the last record */
  RuntimeFront front;
  uint64_t done;   /* last record that a stream has executed */
  double when;     /* host time of that record in seconds */
  struct CUevent_st *next;
};

/* ---- devices (device.c) ------------------------------------------------------------------------------------------ */
int runtime_device_current(void);
size_t runtime_device_bytes(void);
RuntimeOrder runtime_order(void);
/* Returns the text after `name` in RUNTIME_STAND_IN, up to its end; NULL: the name is not set. */
const char *runtime_setting(const char *name);
/* Sets the error of cudaGetLastError. Returns `code`. */
cudaError_t runtime_fail(cudaError_t code);
/* Like runtime_fail, and prints the violated rule to standard error. */
cudaError_t runtime_refuse(cudaError_t code, const char *format, ...) CORE_PRINTF(2, 3);

/* ---- memory (memory.c) ------------------------------------------------------------------------------------------- */
/* Operations of a device may access its memory between the two calls, which are paired; all other accesses fault. */
void runtime_memory_open(int device);
void runtime_memory_close(int device);
/* Finds the live allocation that contains `address`. Returns 0 if there is none. */
int runtime_memory_find(uint64_t address, uint64_t *first, uint64_t *end);
void runtime_memory_fill(void *target, int byte, size_t bytes);

/* ---- streams (stream.c) ------------------------------------------------------------------------------------------ */
/* Returns the stream of a handle. */
cudaStream_t runtime_stream(cudaStream_t handle);
/* Captures the operation or appends it to the stream's queue, and takes ownership of its arguments. */
cudaError_t runtime_stream_enqueue(cudaStream_t handle, RuntimeOperation operation);
/* Executes all pending operations of a stream, or of all streams. */
void runtime_stream_finish(cudaStream_t stream);
void runtime_stream_finish_all(void);
void runtime_stream_perform(const RuntimeOperation *operation, int device);
/* Whether an active capture has a mode that forbids calls which may wait for the device. */
bool runtime_stream_forbids_unsafe(void);
/* Returns cudaSuccess if the host may wait for the stream; invalidates its capture otherwise. */
cudaError_t runtime_stream_may_wait(cudaStream_t handle);
/* Lets no stream complete any more, like a kernel that never ends; for the other stand-ins. */
__attribute__((visibility("default"))) void runtime_stream_stick(void);
/* Ends a capture: its streams execute operations again. */
void runtime_stream_leave_capture(const RuntimeCapture *capture);

/* ---- graphs (graph.c) -------------------------------------------------------------------------------------------- */
cudaError_t runtime_capture_add(cudaStream_t stream, RuntimeOperation operation);
cudaError_t runtime_capture_record(cudaStream_t stream, cudaEvent_t event);
cudaError_t runtime_capture_wait(cudaStream_t stream, cudaEvent_t event);
void runtime_graph_run(cudaGraphExec_t graph, int device);

/* ---- kernels (launch.c) ------------------------------------------------------------------------------------------ */
void runtime_launch_run(const RuntimeOperation *launch);

/* ---- counters ---------------------------------------------------------------------------------------------------- */
typedef struct RuntimeCounts {
  uint64_t launches, copies, fills, graphs, nodes, waits, captures;
} RuntimeCounts;
extern RuntimeCounts runtime_counts;
#endif
