/* A stand-in for the CUDA runtime, so that the host's side of the CUDA code runs on machines without a GPU. Programs
 * are linked with it in the place of libcudart (tests/tests.mk); everything else of them, what nvcc
 * made included, is what runs on a GPU. docs/cuda-design.md says what it shows and what it cannot.
 *
 * - Streams do nothing until somebody waits for them, and graphs take their nodes in another order than they were
 * recorded in, wherever no event forbids it: a result that needs an order which nobody asked for shows itself.
 * - Calls that CUDA refuses are refused, with CUDA's errors: above all what may not be asked for while a stream is
 * recorded.
 * - Device memory is the host's, which only operations may touch; what was freed nobody may.
 * - Kernels are known by the names that nvcc's code registers and run through the bodies that the emulated device runs.
 *
 * RUNTIME_STAND_IN=gpus=2,memory=1000,order=forward,kernels=none,driver=old,report sets it up: GPUs of the machine (1),
 * MiB that each has (an H200's), the order in which streams, nodes of graphs and threads are taken (backward; forward:
 * at once and as given; turns: as backward, but one node of a graph from its end and one from its begin), kernels of
 * other GPUs only, a driver of CUDA 12.4, a line on standard error at the end. */
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
  RUNTIME_SHARED_FREE = 48 * 1024,
  RUNTIME_SHARED_MOST = 227 * 1024,
  RUNTIME_REGISTERS = 65536
};

typedef enum RuntimeOrder { RUNTIME_BACKWARD, RUNTIME_TURNS, RUNTIME_FORWARD } RuntimeOrder;

/* A __global__ function, as nvcc's code registered it. */
typedef struct RuntimeFunction {
  const void *entry; /* its address on the host */
  const char *name; /* as C++ writes it */
  const CoreKernel *kernel; /* NULL: none that the stand-in has a body for */
  size_t shared_most; /* dynamic shared memory that a launch may ask for */
  int registers, stack_bytes; /* of a thread, by ptxas (RUNTIME_PTXAS); 0: not known */
} RuntimeFunction;

typedef struct RuntimeOperation {
  enum { RUNTIME_LAUNCH, RUNTIME_COPY, RUNTIME_FILL, RUNTIME_HOST, RUNTIME_RECORD, RUNTIME_WAIT, RUNTIME_GRAPH } kind;
  const RuntimeFunction *function;
  unsigned blocks, threads;
  size_t shared;
  void *arguments; /* a copy; of a copy to the device, the source's contents; else NULL. Owned */
  void *target;
  const void *source;
  size_t bytes;
  int byte; /* that memory is filled with */
  cudaHostFn_t host;
  void *data; /* for it */
  cudaEvent_t event;
  uint64_t record; /* the event's record that is made, or waited for */
  cudaStream_t stream; /* that it was recorded in */
  cudaGraphExec_t graph;
} RuntimeOperation;

/* What comes before a node: others of its graph, by number. */
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
  size_t nodes, room;
};
struct CUgraphExec_st {
  struct CUgraph_st graph;
  int pending;
  bool destroyed;
};

/* A recording: it begins in one stream and takes in those that wait for its events. */
typedef struct RuntimeCapture {
  cudaGraph_t graph;
  cudaStream_t origin;
  enum cudaStreamCaptureMode mode;
  bool invalid;
} RuntimeCapture;

struct CUstream_st {
  int device;
  bool is_default;
  RuntimeOperation *queue; /* given and not done: [first, count) */
  size_t first, count, room;
  RuntimeCapture *capture; /* NULL: operations are done */
  RuntimeFront front; /* what the next one that is recorded comes after */
  struct CUstream_st *next; /* of all */
};

struct CUevent_st {
  int device;
  unsigned flags;
  uint64_t recorded; /* records so far */
  cudaStream_t stream; /* of the last */
  RuntimeCapture *capture; /* that the last is a part of */
  RuntimeFront front;
  uint64_t done;   /* the last record that a stream came to, */
  double when;     /* and the host's seconds then */
  struct CUevent_st *next;
};

/* ---- devices (device.c) ------------------------------------------------------------------------------------------ */
int runtime_device_current(void);
size_t runtime_device_bytes(void);
RuntimeOrder runtime_order(void);
/* The text behind the name in RUNTIME_STAND_IN, up to its end; NULL: the name is not there. */
const char *runtime_setting(const char *name);
/* Keeps an error for cudaGetLastError. Gives `code`. */
cudaError_t runtime_fail(cudaError_t code);
/* The same with a line on standard error, since the error alone would not say which rule was broken. */
cudaError_t runtime_refuse(cudaError_t code, const char *format, ...) CORE_PRINTF(2, 3);

/* ---- memory (memory.c) ------------------------------------------------------------------------------------------- */
/* Operations of a device may touch its memory between the two, which go in pairs, nobody else. */
void runtime_memory_open(int device);
void runtime_memory_close(int device);
/* The live allocation that `address` lies in; 0: none. */
int runtime_memory_find(uint64_t address, uint64_t *first, uint64_t *end);
void runtime_memory_fill(void *target, int byte, size_t bytes);

/* ---- streams (stream.c) ------------------------------------------------------------------------------------------ */
/* The stream that a handle stands for. */
cudaStream_t runtime_stream(cudaStream_t handle);
/* Records the operation or puts it into the stream's queue; owns what it owns from now on. */
cudaError_t runtime_stream_give(cudaStream_t handle, RuntimeOperation operation);
/* Does all that a stream, or every one of them, has been given. */
void runtime_stream_finish(cudaStream_t stream);
void runtime_stream_finish_all(void);
void runtime_stream_perform(const RuntimeOperation *operation, int device);
/* Whether something is being recorded in a mode that forbids calls which may wait for the device. */
bool runtime_stream_forbids_unsafe(void);
/* cudaSuccess where the host may wait for the stream. Where it is recorded the recording is lost. */
cudaError_t runtime_stream_may_wait(cudaStream_t handle);
/* A recording has ended: its streams do what they are given again. */
void runtime_stream_leave_capture(const RuntimeCapture *capture);

/* ---- graphs (graph.c) -------------------------------------------------------------------------------------------- */
cudaError_t runtime_capture_add(cudaStream_t stream, RuntimeOperation operation);
cudaError_t runtime_capture_record(cudaStream_t stream, cudaEvent_t event);
cudaError_t runtime_capture_wait(cudaStream_t stream, cudaEvent_t event);
void runtime_graph_run(cudaGraphExec_t graph, int device);

/* ---- kernels (launch.c) ------------------------------------------------------------------------------------------ */
void runtime_launch_run(const RuntimeOperation *launch);

/* ---- what was done ----------------------------------------------------------------------------------------------- */
typedef struct RuntimeCounts {
  uint64_t launches, copies, fills, graphs, nodes, waits, captures;
} RuntimeCounts;
extern RuntimeCounts runtime_counts;
#endif
