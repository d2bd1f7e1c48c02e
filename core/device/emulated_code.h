/* Lets the emulator run kernel bodies from a library instead of this program's own. CORE_DEVICE_CODE names the library.
 * tests/ptx builds one: nvcc's PTX, translated to C. Threads, memory and checks remain the emulator's.
 *
 * The library exports one function, core_emulated_library (CoreEmulatedLibrary). Its argument is the emulator's
 * services, valid as long as the program runs. It returns an array of bodies; the last has a NULL name. */
#ifndef CORE_EMULATED_CODE_H
#define CORE_EMULATED_CODE_H
#include "core/device/device.h"

typedef struct CoreEmulatedBody {
  const char *name;           /* name of the kernel: "ops_adam" */
  CoreKernelBody *body;       /* NULL: the program's own body runs */
  size_t argument_bytes;      /* size in the layout of the library's compiler */
} CoreEmulatedBody;

/* Called for each copy that becomes visible to its thread: its bytes in shared memory. */
typedef void CoreEmulatedLanded(const CoreDeviceThread *at, void *to, size_t bytes);

/* Services that a body may use while it runs: barriers, ballots, tensor cores and copies (device_kernel.h), and the
 * launch's shared memory. `exchange` publishes up to CORE_EMULATED_EXCHANGE bytes of each thread of a warp, without a
 * barrier, and returns those of all, CORE_EMULATED_EXCHANGE bytes apart, until the thread's next exchange. find_memory
 * finds the allocation of device memory that contains `address`, or returns 0. */
typedef struct CoreEmulatedServices {
  void (*barrier)(const CoreDeviceThread *at);
  void (*group_barrier)(const CoreDeviceThread *at, unsigned group);
  uint32_t (*ballot)(const CoreDeviceThread *at, unsigned group, int vote);
  void (*multiply_tiles)(const CoreDeviceThread *at, int count, float (*c)[4], int stride, uint32_t (*a)[4],
                         const uint32_t *b);
  const void *(*exchange)(const CoreDeviceThread *at, const void *own, size_t bytes);
  void (*copy_async)(const CoreDeviceThread *at, void *to, const void *from, int is_present);
  void (*copy_commit)(const CoreDeviceThread *at);
  void (*copy_wait)(const CoreDeviceThread *at, int pending, CoreEmulatedLanded *landed);
  void *const *shared;
  const size_t *shared_bytes;
  int (*find_memory)(uint64_t address, uint64_t *first, uint64_t *end);
} CoreEmulatedServices;

enum { CORE_EMULATED_EXCHANGE = (8 * CORE_TILES_MAX + 4) * 4 };
const void *core_emulated_exchange(const CoreDeviceThread *at, const void *own, size_t bytes);
void core_emulated_copy_wait(const CoreDeviceThread *at, int pending, CoreEmulatedLanded *landed);

/* The emulator's services, with this find_memory. */
#define CORE_EMULATED_SERVICES(find)                                                                              \
  {.barrier = core_device_barrier, .group_barrier = core_device_group_barrier, .ballot = core_device_ballot,      \
   .multiply_tiles = core_device_multiply_tiles, .exchange = core_emulated_exchange,                              \
   .copy_async = core_device_copy_async, .copy_commit = core_device_copy_commit,                                  \
   .copy_wait = core_emulated_copy_wait, .shared = &core_emulated_shared,                                         \
   .shared_bytes = &core_emulated_shared_bytes, .find_memory = (find)}

typedef const CoreEmulatedBody *CoreEmulatedLibrary(const CoreEmulatedServices *services);

/* Returns the bodies of the library named by CORE_DEVICE_CODE, opened once per process; NULL if it names none. Ends the
 * program with a message if the library cannot be opened. */
const CoreEmulatedBody *core_emulated_code(const CoreEmulatedServices *services);
/* Returns the body to run for a kernel: the library's; or the kernel's own where bodies is NULL, or where a build with
 * CUDA has no entry for it (kernels of tests). Ends the program with a message if the library lacks the kernel, or has
 * it with arguments of another size. */
CoreKernelBody *core_emulated_code_of(const CoreEmulatedBody *bodies, const CoreKernel *kernel);

#endif
