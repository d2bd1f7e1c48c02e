/* Threads of the emulated device (device_emulated.c). Threads of one group are coroutines of one CPU thread, switched
 * at barriers; all of them must reach the same barriers. CoreDeviceOrder (device.h) defines the order in which they run
 * between two barriers, and what each sees of shared memory. */
#ifndef CORE_EMULATED_THREADS_H
#define CORE_EMULATED_THREADS_H

#include <stddef.h>

#include "core/device/device.h"

enum { CORE_EMULATED_THREADS = 1024, CORE_EMULATED_SHARED_BYTES = 227 * 1024 }; /* limits of a block */

typedef struct CoreEmulatedThreads CoreEmulatedThreads;

/* Creates the threads; the caller destroys them. Ends the program when out of memory. */
CoreEmulatedThreads *core_emulated_threads_create(CoreDeviceOrder order);
void core_emulated_threads_destroy(CoreEmulatedThreads *emulated);

/* Runs all blocks of a launch, one after the other; `body` is the work of a thread. shared: bytes of shared memory per
 * block, initially arbitrary. Device memory must be accessible. One launch at a time per process. */
void core_emulated_threads_run(CoreEmulatedThreads *emulated, const CoreKernel *kernel, CoreKernelBody *body,
                               unsigned blocks, unsigned threads, size_t shared, const void *arguments);
/* Shared memory of the running block, and its size. */
extern void *core_emulated_shared;
extern size_t core_emulated_shared_bytes;

#endif
