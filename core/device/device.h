/* Device: memory and kernels that run there. The program uses this table and never a vendor's library. There are two
 * implementations: a GPU (device_cuda.c), and an emulator (device_emulated.c) that runs the same kernel bodies on the
 * CPU, for tests, debugging and machines without a GPU. NULL is no device: everything is in host memory. The functions
 * core_device_* below accept NULL and then act on host memory.
 *
 * Host code accesses device memory through the table only. The emulator enforces this by protecting its memory while no
 * operation runs.
 *
 * Operations run asynchronously in streams, as CUDA's do. Stream 0 is the default. stream_push, stream_pop and
 * stream_wait select and order the others. The communication stream runs collective communication; comm_start and
 * comm_wait order it with the current stream. Operations that return data to the host synchronize the current stream.
 *
 * Running out of memory is an error (CORE_FAIL). Every other failure of a device ends the program with a message. */
#ifndef CORE_DEVICE_H
#define CORE_DEVICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device/device_kernel.h"
#include "core/device/device_times.h"

#ifndef CORE_HAS_CUDA
#define CORE_HAS_CUDA 0
#endif

enum { CORE_DEVICES_MAX = 64 }; /* GPUs of a machine */

/* Streams in addition to the default (0): WORLDS steps some worlds while the policy acts for others; AHEAD generates
 * and filters levels before they are needed; ACTOR runs the actor's network concurrently with the critic's. */
enum { CORE_STREAM_WORLDS = 1, CORE_STREAM_AHEAD, CORE_STREAM_ACTOR, CORE_STREAMS };

/* Threads of a kernel that share a barrier: none, the block, or a group of N neighboring threads of a warp (a power of
 * two up to 32). */
enum { CORE_GROUP_NONE = 0, CORE_GROUP_BLOCK = -1 };

/* Kernel: one body (device_kernel.h), compiled for the host and, in a build with CUDA, for the GPU. */
typedef void CoreKernelBody(const CoreDeviceThread *at, const void *arguments);
typedef struct CoreKernel {
  const char *name;
  CoreKernelBody *body;
  const void *(*entry)(void); /* the __global__ function; NULL in a build without CUDA */
  int group;                    /* CORE_GROUP_*, or a number of threads */
  size_t argument_bytes;
} CoreKernel;

/* Communicates on the host: sends `bytes` bytes from source, receives as many into target. */
typedef void CoreExchange(void *target, const void *source, size_t bytes);

/* Host function run as an operation of a stream. */
typedef void CoreHostCall(void *argument);

/* Captured sequence of operations, launched as one (a CUDA graph). */
typedef struct CoreGraph CoreGraph;

typedef struct CoreDevice CoreDevice;
struct CoreDevice {
  const char *name;           /* "cuda", "emulated" */
  char description[128];      /* "NVIDIA H200, compute capability 9.0, 139.8 GiB" */
  size_t memory_bytes;        /* memory of the device; SIZE_MAX where it is the host's */
  size_t shared_bytes;        /* maximum shared memory of a block */
  unsigned processors;        /* streaming multiprocessors, each with shared_bytes */
  /* Allocates zeroed memory, aligned to 256 bytes; the caller releases it. CORE_FAIL: out of memory. */
  int (*allocate)(CoreDevice *device, size_t bytes, void **memory);
  void (*release)(CoreDevice *device, void *memory);
  void (*to_device)(CoreDevice *device, void *target, const void *host, size_t bytes);
  void (*to_host)(CoreDevice *device, void *host, const void *source, size_t bytes); /* synchronizes */
  /* Allocates page-locked host memory, zeroed; the caller releases it. CORE_FAIL: out of memory. */
  int (*allocate_pinned)(CoreDevice *device, size_t bytes, void **memory);
  void (*release_pinned)(CoreDevice *device, void *memory);
  /* Issue operations of the current stream without blocking the host: copies between page-locked memory and device
   * memory, and a host call. The host may access the memory in such a call, or after synchronizing. The function may
   * run in another thread and must not use the device; `argument` must stay valid until it has run. */
  void (*to_device_async)(CoreDevice *device, void *target, const void *pinned, size_t bytes);
  void (*to_host_async)(CoreDevice *device, void *pinned, const void *source, size_t bytes);
  void (*call)(CoreDevice *device, CoreHostCall *function, void *argument);
  void (*copy)(CoreDevice *device, void *target, const void *source, size_t bytes);
  void (*fill)(CoreDevice *device, void *target, int byte, size_t bytes);
  void (*launch)(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                 const void *arguments);
  void (*synchronize)(CoreDevice *device); /* waits for the current stream */
  /* Returns the local memory that the device reserves when the kernel first runs, and keeps: stacks of all threads that
   * it can hold at once. Kernels share it, so the deepest stack counts. */
  size_t (*stack_bytes)(CoreDevice *device, const CoreKernel *kernel);
  /* Returns the blocks of a launch that a multiprocessor holds at once: registers and shared memory limit them. */
  unsigned (*resident_blocks)(CoreDevice *device, const CoreKernel *kernel, unsigned threads, size_t shared);
  /* Checks that the program has code of the kernel for this device. CORE_USAGE: none; the message says for which. */
  int (*check_kernel)(CoreDevice *device, const CoreKernel *kernel);
  /* comm_start lends `memory` to the communication stream, ordered after all work issued to the current stream. Until
   * comm_wait no other stream may read or write it. comm_wait returns all lent memory and makes later operations wait
   * for the communication stream. */
  void (*comm_start)(CoreDevice *device, void *memory, size_t bytes);
  void (*comm_wait)(CoreDevice *device);
  /* stream_push makes `stream` the current one, ordered after all work issued to the previous one; stream_pop returns
   * to that. Calls may nest. stream_wait makes the current stream wait for the work issued to `stream`. Without such a
   * wait, no stream may access what another writes. */
  void (*stream_push)(CoreDevice *device, int stream);
  void (*stream_pop)(CoreDevice *device);
  void (*stream_wait)(CoreDevice *device, int stream);
  /* Replaces NCCL in the emulator: a host function (an MPI call), run as an operation of the communication stream if
   * target is lent to it, else of the current one. The emulator makes the memory accessible for the call. NULL on a
   * GPU. */
  void (*exchange)(CoreDevice *device, CoreExchange *function, void *target, const void *source, size_t bytes);
  /* Between begin_capture and end_capture operations are captured, not run: launches, copies, fills, exchanges, and
   * stream operations. Nothing may be copied to or from the host, and nothing synchronized. A launched graph repeats
   * the operations with the captured arguments, so whatever changes between launches must be in device memory. At the
   * end of the capture every pushed stream must be popped and waited for, and all lent memory returned. The caller
   * destroys the graph. */
  void (*begin_capture)(CoreDevice *device);
  CoreGraph *(*end_capture)(CoreDevice *device);
  void (*launch_graph)(CoreDevice *device, CoreGraph *graph);
  void (*destroy_graph)(CoreDevice *device, CoreGraph *graph);
  /* Measure the seconds of the operations issued to the current stream between the two; the host waits. Not during a
   * capture. NULL: the device has no clock. */
  void (*begin_time)(CoreDevice *device);
  double (*end_time)(CoreDevice *device);
  /* times of CORE_DEVICE_TIMES, for operations that callers time; graphs must not be captured then. NULL: off */
  CoreDeviceTimes *times;
  bool is_capturing;          /* whether a graph is being captured */
  void *stream;               /* cudaStream_t of the current stream; NULL: not a GPU */
  void *communication_stream; /* cudaStream_t; NULL: not a GPU */
  /* Optional callback, called repeatedly with `waiting` and the seconds so far while the host waits for the device, to
   * detect waits that would never end (after the death of a rank). */
  void (*on_wait)(void *waiting, double seconds);
  void *waiting;
  int phase;                  /* part of an iteration that issues work (CoreDevicePhase), for access_counts.h, */
  bool is_encoding;           /* and whether an encoder does */
  uint64_t launches;          /* kernels launched outside graphs so far */
  uint64_t transfers;         /* copies between host and device so far */
  uint64_t transferred_bytes; /* and their bytes */
  uint64_t synchronizations;  /* waits of the host for the device so far */
  uint64_t graphs;            /* graphs launched so far */
  void (*destroy)(CoreDevice *device);
};

/* Parts of an iteration. MINIBATCHES: gradients and steps; UPDATE: what an update computes apart from them. */
typedef enum CoreDevicePhase {
  CORE_PHASE_OTHER, CORE_PHASE_SEARCH, CORE_PHASE_ROLLOUT, CORE_PHASE_UPDATE, CORE_PHASE_MINIBATCHES,
  CORE_PHASE_MEASURE, CORE_PHASES
} CoreDevicePhase;
/* Begins a phase and returns the previous one; device NULL: does nothing. */
static inline int core_device_begin_phase(CoreDevice *device, CoreDevicePhase phase) {
  const int before = device ? device->phase : CORE_PHASE_OTHER;
  if (device) device->phase = (int)phase;
  return before;
}
/* Begins or ends the work of an encoder; device NULL: does nothing. */
static inline void core_device_set_encoding(CoreDevice *device, bool is_encoding) {
  if (device) device->is_encoding = is_encoding;
}

/* UUID of a GPU: the same in all processes of a machine, whichever GPUs each of them sees. */
typedef struct CoreDeviceId { unsigned char byte[16]; } CoreDeviceId;
/* Lists the ids of at most `max_ids` GPUs that this process may use, in CUDA's order (CUDA_VISIBLE_DEVICES), and
 * returns their number. */
int core_device_list(CoreDeviceId *id, int max_ids);

/* Opens the device that `wanted` names (train.device: auto, cpu, cuda); *device is NULL for the CPU. Close it with
 * core_device_close. number: index of the GPU in core_device_list's order. reason (at least 256 bytes): why auto fell
 * back to the CPU, or empty. CORE_USAGE: cuda, but the build lacks it or the machine has no such GPU. Environment
 * variables:
 * - CORE_DEVICE=emulated: the emulator instead of the GPU. Options may follow a colon, separated by commas: gpus=N (one
 *   of N; without it each process has its own), memory=BYTES (with K, M or G for 2^10 ...; else unlimited),
 *   order=forward|backward|isolated (CoreDeviceOrder).
 * - CORE_DEVICE_CODE=LIBRARY: emulators run that library's kernel bodies (emulated_code.h).
 * - CORE_DEVICE_SHARE=0.25: the part of the device's memory that this program may use.
 * - CORE_DEVICE_TIMES=1: print the time of each kernel on a GPU to stderr when the device is closed
 * (device_times.h). */
int core_device_open(const char *wanted, int number, CoreDevice **device, char *reason);
void core_device_close(CoreDevice **device);
/* Describes the available device, or why there is none, for `trainer info`. */
const char *core_device_description(void);

/* Order in which the emulator runs threads and streams. A correct program has the same result under all three.
 * - FORWARD: threads by index between two barriers, and each warp until it waits for the block; operations in the order
 *   of their calls.
 * - BACKWARD: threads in reverse; streams lag behind until something waits for them.
 * - ISOLATED: each thread sees shared memory as the last barrier left it, with its own writes. Two threads that write
 *   different values to one address between two barriers end the program. Streams run one operation each after each one
 *   of the default stream. A group smaller than the block gets an equal share of the block's shared memory.
 * Results that differ by the order of threads indicate a missing barrier. Results that differ by the order of streams
 * indicate a missing stream_wait, or memory that two streams use at once. */
typedef enum CoreDeviceOrder { CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED } CoreDeviceOrder;
/* Create emulators; memory_bytes: size of their memory, SIZE_MAX for as much as the host has. */
CoreDevice *core_device_emulated(CoreDeviceOrder order);
CoreDevice *core_device_emulated_sized(CoreDeviceOrder order, size_t memory_bytes);
/* Open a GPU by index, count GPUs, and return a GPU's id. CORE_USAGE: there is none; the message says why. */
int core_device_cuda(int number, CoreDevice **device);
int core_device_cuda_count(int *count);
int core_device_cuda_id(int number, CoreDeviceId *id);

/* Copies, fills and calls. With device NULL: within host memory and synchronous, and no copy where source and target
 * are the same. */
void core_device_to_device(CoreDevice *device, void *target, const void *host, size_t bytes);
void core_device_to_host(CoreDevice *device, void *host, const void *source, size_t bytes);
void core_device_to_device_async(CoreDevice *device, void *target, const void *pinned, size_t bytes);
void core_device_to_host_async(CoreDevice *device, void *pinned, const void *source, size_t bytes);
void core_device_call(CoreDevice *device, CoreHostCall *function, void *argument);
int core_device_allocate_pinned(CoreDevice *device, size_t bytes, void **memory);
void core_device_release_pinned(CoreDevice *device, void *memory);
void core_device_copy(CoreDevice *device, void *target, const void *source, size_t bytes);
void core_device_zero(CoreDevice *device, void *target, size_t bytes);
/* Returns device memory as readable host memory: without a device `source` itself, and *copy is NULL; else a copy in
 * *copy, which the caller frees. */
const void *core_device_view(CoreDevice *device, const void *source, size_t bytes, void **copy);
/* Returns one element of an array in device memory; synchronizes. */
float core_device_float(CoreDevice *device, const float *array, size_t i);

/* Returns the number of blocks of `threads` threads that cover n elements: at least 1, at most `max_blocks`. */
static inline unsigned core_device_blocks(size_t n, unsigned threads, unsigned max_blocks) {
  const size_t blocks = (n + threads - 1) / threads;
  return blocks < 1 ? 1 : blocks < max_blocks ? (unsigned)blocks : max_blocks;
}

#endif
