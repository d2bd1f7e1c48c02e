/* Counts of the device memory that kernels read and write on the emulator, for tests/instruments. Kernel bodies are
 * compiled a second time with calls at every load and store (tests/instruments/cost.h; the Makefile has the
 * compiler's flags). Every four bytes of device memory count at most once per launch as read, and once as written, as
 * if a GPU's caches held all that a launch accesses; what a launch has written itself is not counted as read. Copies
 * and fills on the device count as the kernels "copy" and "fill". */
#ifndef CORE_ACCESS_COUNTS_H
#define CORE_ACCESS_COUNTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/device/emulated_code.h"
#include "core/device/emulated_memory.h"

/* Issuer of an operation (CoreDevice.phase and is_encoding). */
typedef struct CoreAccessBy { int phase; bool is_encoding; } CoreAccessBy;

/* Sums over the launches of a kernel by what issued them. */
typedef struct CoreAccessCount {
  const char *kernel;
  CoreAccessBy by;
  uint64_t launches, read, written; /* bytes */
} CoreAccessCount;

/* Starts counting: emulators created from here on run the bodies of `tables`, each ended by a NULL name. CORE_FAIL: the
 * compiler of this build has no calls at loads and stores. */
int core_access_start(const CoreEmulatedBody *const *tables, int count);
/* Ends counting. */
void core_access_stop(void);
/* Returns the bodies to run, or NULL while nothing is counted. */
const CoreEmulatedBody *core_access_bodies(void);

/* Enclose a launch on the emulator. */
void core_access_begin(const CoreEmulatedMemory *memory, const char *kernel, CoreAccessBy by);
void core_access_end(void);
/* Counts a copy or a fill (source NULL). Addresses outside of device memory are not counted. */
void core_access_move(const CoreEmulatedMemory *memory, const void *target, const void *source, size_t bytes,
                      CoreAccessBy by);

/* Counts an asynchronous copy of the running launch as a read. */
void core_access_read(const void *source, size_t bytes);

/* Returns the counts so far and their number. */
const CoreAccessCount *core_access_counts(size_t *count);
void core_access_clear(void);

#endif
