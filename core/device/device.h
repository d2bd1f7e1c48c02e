/* A device: memory of its own and kernels that run there. The program sees this table and never a vendor's library.
 * There are two: a GPU (device_cuda.c), and an emulator (device_emulated.c) that runs the same kernel bodies on the
 * CPU, for tests, debugging and machines without a GPU. NULL is no device: everything is in the host's memory. The
 * functions core_device_* below take NULL and then do the plain thing.
 *
 * Host code touches device memory through the table only. The emulator protects its memory while no operation runs, so
 * that a program which works there keeps this rule.
 *
 * Operations run asynchronously in streams, as CUDA's do. Stream 0 is the default. Others are entered, left and joined
 * (enter, leave, join). The communication stream carries what processes send each other; memory is handed over to it
 * and taken back. Operations that give the host something synchronise with the stream at hand.
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

/* Streams beside the default (0): WORLDS steps some worlds while the policy acts for others; AHEAD draws and filters
 * levels before they are needed; ACTOR runs the actor's network beside the critic's. */
enum { CORE_STREAM_WORLDS = 1, CORE_STREAM_AHEAD, CORE_STREAM_ACTOR, CORE_STREAMS };

/* The threads of a kernel that meet at a barrier: none, the block, or a group of so many neighbouring threads of a warp
 * (a power of two up to 32). */
enum { CORE_GROUP_NONE = 0, CORE_GROUP_BLOCK = -1 };

/* A kernel: one body (device_kernel.h), compiled for the host and, in a build with CUDA, for the GPU. */
typedef void CoreKernelBody(const CoreDeviceThread *at, const void *arguments);
typedef struct CoreKernel {
  const char *name;
  CoreKernelBody *body;
  const void *(*entry)(void); /* the __global__ function; NULL in a build without CUDA */
  int group;                    /* CORE_GROUP_*, or a number of threads */
  size_t argument_bytes;
} CoreKernel;

/* Host code that communicates: sends `bytes` bytes from source, receives as many to target. */
typedef void CoreExchange(void *target, const void *source, size_t bytes);

/* Host code as an operation of a stream. */
typedef void CoreHostCall(void *argument);

/* A recorded sequence of operations, launched as one (a CUDA graph). */
typedef struct CoreGraph CoreGraph;

typedef struct CoreDevice CoreDevice;
struct CoreDevice {
  const char *name;           /* "cuda", "emulated" */
  char description[128];      /* "NVIDIA H200, compute capability 9.0, 139.8 GiB" */
  size_t memory_bytes;        /* of the device; SIZE_MAX where it is the host's */
  size_t shared_bytes;        /* shared memory that a block may have */
  unsigned processors;        /* streaming multiprocessors, each with shared_bytes */
  /* Zeroed memory, aligned to 256 bytes; the caller releases it. CORE_FAIL: out of memory. */
  int (*allocate)(CoreDevice *device, size_t bytes, void **memory);
  void (*release)(CoreDevice *device, void *memory);
  void (*to_device)(CoreDevice *device, void *target, const void *host, size_t bytes);
  void (*to_host)(CoreDevice *device, void *host, const void *source, size_t bytes); /* synchronises */
  /* Page-locked memory of the host, zeroed; the caller releases it. CORE_FAIL: out of memory. */
  int (*allocate_pinned)(CoreDevice *device, size_t bytes, void **memory);
  void (*release_pinned)(CoreDevice *device, void *memory);
  /* Operations of the stream at hand that the host does not wait for: copies between page-locked memory and the
   * device's, and a call. The host may touch what they read or write in such a call, or when it has waited. The
   * function may run in another thread and must not use the device; `argument` lasts until it has run. */
  void (*to_device_async)(CoreDevice *device, void *target, const void *pinned, size_t bytes);
  void (*to_host_async)(CoreDevice *device, void *pinned, const void *source, size_t bytes);
  void (*call)(CoreDevice *device, CoreHostCall *function, void *argument);
  void (*copy)(CoreDevice *device, void *target, const void *source, size_t bytes);
  void (*fill)(CoreDevice *device, void *target, int byte, size_t bytes);
  void (*launch)(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                 const void *arguments);
  void (*synchronize)(CoreDevice *device); /* the host waits for the stream at hand */
  /* Local memory that the device reserves when it first runs the kernel, and keeps: for stacks of all threads that it
   * can hold at once. Kernels share it, so the one with the deepest stack counts. */
  size_t (*stack_bytes)(CoreDevice *device, const CoreKernel *kernel);
  /* Gives `memory` to the communication stream, after what the stream at hand was given so far. Until comm_wait no
   * other stream may read or write it. comm_wait returns all that was handed over; later operations wait for the
   * communication stream. */
  void (*comm_start)(CoreDevice *device, void *memory, size_t bytes);
  void (*comm_wait)(CoreDevice *device);
  /* enter makes `stream` the stream at hand; leave returns to the one before. The entered stream first waits for what
   * the one before was given so far. Calls may nest. join: the stream at hand waits for what `stream` was given so far.
   * Without such a wait, no stream may touch what another writes. */
  void (*stream_push)(CoreDevice *device, int stream);
  void (*stream_pop)(CoreDevice *device);
  void (*stream_wait)(CoreDevice *device, int stream);
  /* The emulator's stand-in for NCCL: a host function (a call of MPI), run as an operation of a stream. It goes to the
   * communication stream where target was handed over. The emulator makes the memory accessible for the call. NULL on a
   * GPU. */
  void (*exchange)(CoreDevice *device, CoreExchange *function, void *target, const void *source, size_t bytes);
  /* Between begin_capture and end_capture operations are recorded, not done: launches, copies, fills, exchanges, and
   * all that concerns streams. Nothing may be copied to or from the host, and nothing synchronised. A launched graph
   * repeats the operations with the arguments that were recorded, so what changes between launches must be in device
   * memory. At its end every stream that it entered must be left and joined, and all memory taken back. The caller
   * destroys the graph. */
  void (*begin_capture)(CoreDevice *device);
  CoreGraph *(*end_capture)(CoreDevice *device);
  void (*launch_graph)(CoreDevice *device, CoreGraph *graph);
  void (*destroy_graph)(CoreDevice *device, CoreGraph *graph);
  /* A GPU's: seconds that the stream at hand takes for what it is given between the two. The host waits. Not while a
   * graph is recorded. NULL: the device has no clock. */
  void (*begin_time)(CoreDevice *device);
  double (*end_time)(CoreDevice *device);
  CoreDeviceTimes *times;     /* of CORE_DEVICE_TIMES, where callers note what they time; graphs are then not to be
                               * recorded. NULL: nothing is noted */
  bool is_capturing;          /* a graph */
  void *stream;               /* cudaStream_t of the stream at hand; NULL: not a GPU */
  void *communication_stream; /* cudaStream_t; NULL: not a GPU */
  /* Called with `waiting` now and then while the host waits for the device, to notice what would never end (a rank that
   * died); or NULL. */
  void (*on_wait)(void *waiting);
  void *waiting;
  uint64_t launches;          /* so far: kernels that were launched outside graphs */
  uint64_t transfers;         /* so far: copies between host and device */
  uint64_t synchronizations;  /* so far: times that the host waited for the device */
  uint64_t graphs;            /* so far: graphs that were launched */
  void (*destroy)(CoreDevice *device);
};

/* A GPU's UUID: the same in all processes of a machine, whichever GPUs each of them sees. */
typedef struct CoreDeviceId { unsigned char byte[16]; } CoreDeviceId;
/* Writes the ids of the GPUs that this process may use, at most `most`, in CUDA's order (CUDA_VISIBLE_DEVICES). Returns
 * their number. */
int core_device_list(CoreDeviceId *id, int most);

/* Opens the device that `wanted` names (train.device: auto, cpu, cuda); *device is NULL for the CPU, and is closed by
 * core_device_close. number: of the GPU, in core_device_list's order. reason (at least 256 bytes): why auto chose the
 * CPU, or empty. CORE_USAGE: cuda, but the build has none or the machine no such GPU. The environment may change it:
 * - CORE_DEVICE=emulated: the emulator in place of the GPU. After a colon may follow, separated by commas: gpus=N (one
 *   of N; without it each process has its own), memory=BYTES (with K, M or G for 2^10 ...; else unlimited),
 *   order=forward|backward|isolated (CoreDeviceOrder).
 * - CORE_DEVICE_CODE=LIBRARY: emulators run that library's kernel bodies (emulated_code.h).
 * - CORE_DEVICE_SHARE=0.25: this program may use that part of the device's memory.
 * - CORE_DEVICE_TIMES=1: on a GPU, how long each kernel took, on stderr when it is closed (device_times.h). */
int core_device_open(const char *wanted, int number, CoreDevice **device, char *reason);
void core_device_close(CoreDevice **device);
/* For `trainer info`: what there is, or why there is none. */
const char *core_device_description(void);

/* How the emulator schedules threads and streams. A right program gives the same result under all three.
 * - FORWARD: threads by number between two barriers; operations in the order in which they were given.
 * - BACKWARD: threads in reverse; streams lag behind until somebody waits for them.
 * - ISOLATED: each thread sees shared memory as the last barrier left it, with its own writes. Two threads that write
 *   different values to one address between two barriers end the program. Streams do one operation each after each one
 *   of the default stream. For a group smaller than the block, its share is the block's shared memory divided evenly.
 * Results that differ by the order of threads show a missing barrier. Results that differ by the order of streams show
 * a missing join, or memory that two streams use at once. */
typedef enum CoreDeviceOrder { CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED } CoreDeviceOrder;
/* Emulators; memory_bytes: their memory, SIZE_MAX for as much as the host has. */
CoreDevice *core_device_emulated(CoreDeviceOrder order);
CoreDevice *core_device_emulated_sized(CoreDeviceOrder order, size_t memory_bytes);
/* The GPU of a number, how many there are, and a GPU's id. CORE_USAGE: there is none; the message says why. */
int core_device_cuda(int number, CoreDevice **device);
int core_device_cuda_count(int *count);
int core_device_cuda_id(int number, CoreDeviceId *id);

/* Copies, fills and calls. Where device is NULL: within the host's memory and at once, and no copy where source and
 * target are the same. */
void core_device_to_device(CoreDevice *device, void *target, const void *host, size_t bytes);
void core_device_to_host(CoreDevice *device, void *host, const void *source, size_t bytes);
void core_device_to_device_async(CoreDevice *device, void *target, const void *pinned, size_t bytes);
void core_device_to_host_async(CoreDevice *device, void *pinned, const void *source, size_t bytes);
void core_device_call(CoreDevice *device, CoreHostCall *function, void *argument);
int core_device_allocate_pinned(CoreDevice *device, size_t bytes, void **memory);
void core_device_release_pinned(CoreDevice *device, void *memory);
void core_device_copy(CoreDevice *device, void *target, const void *source, size_t bytes);
void core_device_zero(CoreDevice *device, void *target, size_t bytes);
/* Device memory for the host to read. Without a device `source` itself, and *copy is NULL. Else a copy in *copy, which
 * the caller frees. */
const void *core_device_view(CoreDevice *device, const void *source, size_t bytes, void **copy);
/* One element of an array in device memory; synchronises. */
float core_device_float(CoreDevice *device, const float *array, size_t i);

/* How many blocks of `threads` threads cover n elements: at least 1, at most `most`. */
static inline unsigned core_device_blocks(size_t n, unsigned threads, unsigned most) {
  const size_t blocks = (n + threads - 1) / threads;
  return blocks < 1 ? 1 : blocks < most ? (unsigned)blocks : most;
}

#endif
