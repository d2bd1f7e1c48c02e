/* The threads of the emulated device (device_emulated.c). Those that wait for each other are coroutines of one
 * processor, switched at barriers. All must come to the same barriers, which is checked; between two barriers they are
 * taken forward or backward, so that a result which depends on the order shows that a barrier is missing. Taken in
 * isolation, each has shared memory as the last barrier left it: two that write differently to one place end the
 * program. */
#ifndef CORE_EMULATED_THREADS_H
#define CORE_EMULATED_THREADS_H

#include <stddef.h>

#include "core/device/device.h"

enum { CORE_EMULATED_THREADS = 1024, CORE_EMULATED_SHARED_BYTES = 227 * 1024 }; /* of a block, at most */

typedef struct CoreEmulatedThreads CoreEmulatedThreads;

/* The caller destroys it. Ends the program where memory is short. */
CoreEmulatedThreads *core_emulated_threads_create(CoreDeviceOrder order);
void core_emulated_threads_destroy(CoreEmulatedThreads *emulated);

/* Runs all blocks of a launch, one after the other, each thread as `body`; `shared` bytes of shared memory a block,
 * full of rubbish at first. Device memory must be open. One launch at a time in a process. */
void core_emulated_threads_run(CoreEmulatedThreads *emulated, const CoreKernel *kernel, CoreKernelBody *body,
                               unsigned blocks, unsigned threads, size_t shared, const void *arguments);
/* While a launch runs: its blocks' shared memory, and how much of it there is. */
extern void *core_emulated_shared;
extern size_t core_emulated_shared_bytes;

#endif
