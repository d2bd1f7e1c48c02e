/* Kernels' bodies for the emulator that were compiled in another way than this program's own: a library that
 * CORE_DEVICE_CODE names, in which tests/ptx has put what nvcc's code says, translated to C. Threads, memory and checks
 * are the emulator's.
 *
 * Such a library shows one function, core_emulated_library, of the type CoreEmulatedLibrary. It is given the emulator's
 * services, valid for as long as the program runs, and gives its bodies; the last has no name. */
#ifndef CORE_EMULATED_CODE_H
#define CORE_EMULATED_CODE_H
#include "core/device/device.h"

typedef struct CoreEmulatedBody {
  const char *name;           /* the kernel's: "ops_adam" */
  CoreKernelBody *body;       /* NULL: the kernel's own is to run */
  size_t argument_bytes;      /* as that compiler lays them out */
} CoreEmulatedBody;

/* What a body that runs may ask for: barriers and ballots as in device_kernel.h, the running launch's shared memory,
 * and the allocation of device memory that `address` lies in (0: none). */
typedef struct CoreEmulatedServices {
  void (*barrier)(const CoreDeviceThread *at);
  void (*group_barrier)(const CoreDeviceThread *at, unsigned group);
  uint32_t (*ballot)(const CoreDeviceThread *at, unsigned group, int vote);
  void *const *shared;
  const size_t *shared_bytes;
  int (*find_memory)(uint64_t address, uint64_t *first, uint64_t *end);
} CoreEmulatedServices;

typedef const CoreEmulatedBody *CoreEmulatedLibrary(const CoreEmulatedServices *services);

/* The bodies of the library that CORE_DEVICE_CODE names, which is opened once a process; NULL where it names none. One
 * that can not be had ends the program with a message. */
const CoreEmulatedBody *core_emulated_code(const CoreEmulatedServices *services);
/* The body of a kernel: its own where bodies is NULL, or where a build with CUDA has no entry of it (tests' kernels).
 * Ends the program with a message where they have none of its name, or one whose arguments have another size. */
CoreKernelBody *core_emulated_code_of(const CoreEmulatedBody *bodies, const CoreKernel *kernel);

#endif
