/* A device: memory of its own and kernels that run there. The rest of the program sees this table and never a vendor's
 * library. There are two: a GPU (device_cuda.c), and an emulator (device_emulated.c) that runs the same kernel bodies
 * on the CPU, for tests, debugging and machines without a GPU. No device at all (NULL) means that everything is in the
 * host's memory; the functions below take NULL and then do the plain thing.
 *
 * Device memory must never be touched by host code but through the table. The emulator protects its memory while no
 * operation runs, so that a program which works there keeps this rule.
 *
 * All operations are in one order (a stream); those that give the host something wait for it. Communication between
 * processes has a second order beside it, to which memory is handed over and taken back, and work that can go on beside
 * the rest has streams, streams that are entered and joined. Failures other than running out
 * of memory end the program with a message: nothing sensible can follow them. */
#ifndef CORE_DEVICE_H
#define CORE_DEVICE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device/device_kernel.h"

#ifndef CORE_HAS_CUDA
#define CORE_HAS_CUDA 0
#endif

enum { CORE_DEVICES_MAX = 64 }; /* GPUs of a machine */

/* Orders beside the first (0): worlds that step while others are acted for, levels that are tried ahead of their time,
 * the actor's network beside the critic's. */
enum { CORE_STREAM_WORLDS = 1, CORE_STREAM_AHEAD, CORE_STREAM_ACTOR, CORE_STREAMS };

/* What threads of a kernel wait for at a barrier. */
enum { CORE_GROUP_NONE = 0, CORE_GROUP_BLOCK = -1 }; /* else: so many neighbouring threads, a power of two up to 32 */

/* A kernel: one body (device_kernel.h), compiled for the host and, in a build with CUDA, for the GPU. */
typedef void CoreKernelBody(const CoreDeviceThread *at, const void *arguments);
typedef struct CoreKernel {
  const char *name;
  CoreKernelBody *body;
  const void *(*entry)(void); /* the __global__ function; NULL in a build without CUDA */
  int group;
  size_t argument_bytes;
} CoreKernel;

typedef void CoreExchange(void *target, const void *source, size_t bytes);

/* Operations that were recorded, to be done again as one. */
typedef struct CoreGraph CoreGraph;

typedef struct CoreDevice CoreDevice;
struct CoreDevice {
  const char *name;           /* "cuda", "emulated" */
  char description[128];      /* "NVIDIA H200, compute capability 9.0, 139.8 GiB" */
  size_t memory_bytes;        /* of the device; SIZE_MAX where it is the host's */
  size_t shared_bytes;        /* that a block may have */
  unsigned processors;        /* that take blocks, with shared_bytes each */
  /* Zeroed memory, aligned to 256 bytes. CORE_FAIL: there is no more. */
  int (*allocate)(CoreDevice *device, size_t bytes, void **memory);
  void (*release)(CoreDevice *device, void *memory);
  void (*to_device)(CoreDevice *device, void *target, const void *host, size_t bytes);
  void (*to_host)(CoreDevice *device, void *host, const void *source, size_t bytes); /* waits */
  void (*copy)(CoreDevice *device, void *target, const void *source, size_t bytes);
  void (*fill)(CoreDevice *device, void *target, int byte, size_t bytes);
  void (*launch)(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads, size_t shared,
                 const void *arguments);
  void (*synchronise)(CoreDevice *device); /* waits */
  /* What the device sets aside for the stacks of a kernel's threads, of as many as it could run at once, when it first
   * runs it, and keeps. All kernels share it: of several the deepest counts. */
  size_t (*stack_bytes)(CoreDevice *device, const CoreKernel *kernel);
  /* To the second order: it sees in `memory` what was launched so far, and the first must neither read nor write there
   * until take_back, by which all that was handed over is the default stream's again and later launches wait for the
   * second. */
  void (*hand_over)(CoreDevice *device, void *memory, size_t bytes);
  void (*take_back)(CoreDevice *device);
  /* From `enter` to `leave` operations go to a stream, which first waits for what the stream that it was entered
   * from has been given so far; streams may be entered from streams. `join`: the stream at hand waits for what the
   * stream has been given so far, and nothing where it was joined since. What is written in one of two orders that
   * do not wait for each other must neither be read nor written in the other. Where the host waits, it waits for the
   * stream at hand. */
  void (*enter)(CoreDevice *device, int stream);
  void (*leave)(CoreDevice *device);
  void (*join)(CoreDevice *device, int stream);
  /* What a library that works on a GPU's streams does there, done by the host when its turn comes (as for NCCL a call
   * of MPI): function(target, source, bytes) with addresses that it may use; in the second order where target is
   * handed over. NULL on a GPU. */
  void (*exchange)(CoreDevice *device, CoreExchange *function, void *target, const void *source, size_t bytes);
  /* Between the two, launches, copies, fills, exchanges and what goes to and from the second order, all of it back, are
   * recorded and not done; anything that is the host's business, but for looking up addresses, may not be asked for. A
   * graph does them in their order as often as it is launched, with the arguments of then: what is to change from one
   * launch to the next must stand in device memory. Streams that it enters it must have left and joined at its end. The
   * caller owns it. */
  void (*begin_graph)(CoreDevice *device);
  CoreGraph *(*end_graph)(CoreDevice *device);
  void (*launch_graph)(CoreDevice *device, CoreGraph *graph);
  void (*destroy_graph)(CoreDevice *device, CoreGraph *graph);
  void *stream, *side;        /* cudaStream_t of the stream at hand and of communication; NULL: not a GPU */
  /* Called now and then while the host waits for the device, by who knows what could make it wait for ever; or NULL. */
  void (*while_waiting)(void *waiting);
  void *waiting;
  uint64_t launches, transfers; /* so far; launches: of kernels, by themselves; transfers: between host and device */
  uint64_t waits, graphs;     /* so far; waits: of the host for the device; graphs: launched */
  void (*destroy)(CoreDevice *device);
};

/* A GPU's name for itself, the same in all processes of a machine whatever each of them may see. */
typedef struct CoreDeviceId { unsigned char byte[16]; } CoreDeviceId;
/* The GPUs that this process may use, in CUDA's order (CUDA_VISIBLE_DEVICES): at most `most` of them; their number. */
int core_device_list(CoreDeviceId *id, int most);

/* The device that `wanted` (train.device: auto, cpu, cuda) names, the GPU of `number` in core_device_list's order: NULL
 * for the CPU. `reason` (at least 256 bytes) says why auto came to the CPU; empty otherwise. CORE_USAGE: cuda, but the
 * build or the machine has none of that number. CORE_DEVICE=emulated in the environment puts the emulator in the GPU's
 * place; emulated:gpus=N,memory=BYTES one that is one of N and has so much memory (suffixes K, M, G: 2^10 ...);
 * order=forward|backward|isolated: see CoreDeviceOrder. Without, each process has one for itself, without limit.
 * CORE_DEVICE_CODE=LIBRARY there: every emulator runs the bodies of that library in place of this program's
 * (core/device/emulated_code.h).
 * CORE_DEVICE_SHARE=0.25 there: this program may use a quarter of the device's memory, others have the rest. */
int core_device_open(const char *wanted, int number, CoreDevice **device, char *reason);
void core_device_close(CoreDevice **device);
/* For `trainer info`: what there is, or why there is none. */
const char *core_device_description(void);

/* order: in which the emulator takes the threads between two barriers. Streams: FORWARD does everything when it is
 * given, BACKWARD lets streams lag behind for as long as nobody waits for them, and ISOLATED does an operation of
 * each stream after each of the default stream; a result that depends on it lacks a join, or comes from memory that
 * two orders use at once. A kernel whose result depends on the order lacks a barrier. ISOLATED looks for races in
 * shared memory: each thread sees it as the last barrier left it, with what it has written itself, and two threads
 * that write differently to one place between two barriers end the program. A result that is another one than
 * FORWARD's comes from a place that was read without a barrier since another thread wrote it. Of a group it looks at
 * the group's share: a block's shared memory divided evenly among its groups. */
typedef enum CoreDeviceOrder { CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED } CoreDeviceOrder;
/* memory_bytes: SIZE_MAX for as much as the host has. */
CoreDevice *core_device_emulated(CoreDeviceOrder order);
CoreDevice *core_device_emulated_of(CoreDeviceOrder order, size_t memory_bytes);
/* CORE_USAGE says why there is none. */
int core_device_cuda(int number, CoreDevice **device);
int core_device_cuda_count(int *count);
int core_device_cuda_id(int number, CoreDeviceId *id);

/* With NULL for the device: within the host's memory, and nothing where both are the same place. */
void core_device_to_device(CoreDevice *device, void *target, const void *host, size_t bytes);
void core_device_to_host(CoreDevice *device, void *host, const void *source, size_t bytes);
void core_device_copy(CoreDevice *device, void *target, const void *source, size_t bytes);
void core_device_zero(CoreDevice *device, void *target, size_t bytes);
/* Device memory as the host may read it: itself where there is no device, else a copy, which *copy then owns (free it;
 * it is NULL where there is none). */
const void *core_device_view(CoreDevice *device, const void *source, size_t bytes, void **copy);
/* One element of an array in device memory. */
float core_device_float(CoreDevice *device, const float *array, size_t i);

/* Blocks of `threads` that cover n elements, at most `most` of them. */
static inline unsigned core_device_blocks(size_t n, unsigned threads, unsigned most) {
  const size_t blocks = (n + threads - 1) / threads;
  return blocks < 1 ? 1 : blocks < most ? (unsigned)blocks : most;
}

#endif
