/* Lets the emulator run kernel bodies from a library in place of this program's own. CORE_DEVICE_CODE names the
 * library. tests/ptx makes one: the PTX of nvcc, translated to C. Threads, memory and checks stay the emulator's.
 *
 * The library exports one function, core_emulated_library (CoreEmulatedLibrary). It gets the emulator's services, which
 * stay valid as long as the program runs. It returns an array of bodies; the last has a NULL name. */
#ifndef CORE_EMULATED_CODE_H
#define CORE_EMULATED_CODE_H
#include "core/device/device.h"

typedef struct CoreEmulatedBody {
  const char *name;           /* the kernel's: "ops_adam" */
  CoreKernelBody *body;       /* NULL: the program's own body runs */
  size_t argument_bytes;      /* as the library's compiler lays them out */
} CoreEmulatedBody;

/* What a body may call and read while it runs: barriers and ballots (device_kernel.h) and the launch's shared memory.
 * find_memory gives the allocation of device memory that contains `address`, or returns 0 if there is none. */
typedef struct CoreEmulatedServices {
  void (*barrier)(const CoreDeviceThread *at);
  void (*group_barrier)(const CoreDeviceThread *at, unsigned group);
  uint32_t (*ballot)(const CoreDeviceThread *at, unsigned group, int vote);
  void *const *shared;
  const size_t *shared_bytes;
  int (*find_memory)(uint64_t address, uint64_t *first, uint64_t *end);
} CoreEmulatedServices;

typedef const CoreEmulatedBody *CoreEmulatedLibrary(const CoreEmulatedServices *services);

/* The bodies of the library that CORE_DEVICE_CODE names, opened once per process; NULL where it names none. Ends the
 * program with a message if the library can not be opened. */
const CoreEmulatedBody *core_emulated_code(const CoreEmulatedServices *services);
/* The body to run for a kernel: the library's; the kernel's own where bodies is NULL, or where a build with CUDA has no
 * entry for it (kernels of tests). Ends the program with a message if the library lacks the kernel, or has it with
 * arguments of another size. */
CoreKernelBody *core_emulated_code_of(const CoreEmulatedBody *bodies, const CoreKernel *kernel);

#endif
