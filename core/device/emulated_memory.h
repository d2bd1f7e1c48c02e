/* Memory of the emulated device (device_emulated.c). It is accessible only while an operation runs, so that host code
 * which accesses it directly crashes. Memory lent to the communication stream is filled with poison bytes (0xff, NaN as
 * float) until it is returned, when they are checked, so that a read or write in between is detected. */
#ifndef CORE_EMULATED_MEMORY_H
#define CORE_EMULATED_MEMORY_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_EMULATED_MEMORIES = 128, CORE_EMULATED_LENT_MAX = 256 }; /* limits */

/* Allocations of an emulated device, and those of them that are lent to its communication stream. Zero-initialize. */
typedef struct CoreEmulatedMemory {
  /* Allocations, free where start is NULL. bytes: size in whole pages; asked: requested size in bytes. */
  struct { char *start; size_t bytes, asked; } memory[CORE_EMULATED_MEMORIES];
  size_t allocated;
  struct { char *start, *contents; size_t bytes; } handed[CORE_EMULATED_LENT_MAX]; /* contents: the saved data */
  int handed_over;
  int key;                                                                     /* protection key; 0: none */
} CoreEmulatedMemory;

/* Acquires a protection key, if the processor has them and one is free. Open and close then only change the calling
 * thread's rights, instead of taking microseconds of page protection for each kernel. Call before the first allocation,
 * for memory that no other thread uses. Released with all memory. */
void core_emulated_memory_acquire_key(CoreEmulatedMemory *all);

/* Allocates `bytes` bytes, inaccessible to the host. CORE_FAIL, and *start NULL: more than memory_bytes in total. */
int core_emulated_memory_allocate(CoreEmulatedMemory *all, size_t bytes, size_t memory_bytes, void **start);
/* Releases an allocation; NULL does nothing. Ends the program if `start` is not an allocation. */
void core_emulated_memory_release(CoreEmulatedMemory *all, void *start);
void core_emulated_memory_release_all(CoreEmulatedMemory *all);

/* Makes all memory accessible to the host, and inaccessible again. */
void core_emulated_memory_open(const CoreEmulatedMemory *all);
void core_emulated_memory_close(const CoreEmulatedMemory *all);

/* Checks that [start, start + bytes) is device memory, or host memory; ends the program if not. A host pointer in place
 * of a device pointer would work here, but not on a GPU. */
void core_emulated_memory_check(const CoreEmulatedMemory *all, const void *start, size_t bytes);
void core_emulated_memory_check_host(const CoreEmulatedMemory *all, const void *start, size_t bytes);

/* Finds the allocation [*first, *end) that contains an address, in its requested size. Returns 0 if there is none. */
int core_emulated_memory_find(const CoreEmulatedMemory *all, uint64_t address, uint64_t *first, uint64_t *end);

/* Lends memory to the communication stream, and returns all of it. Memory must be open. Ends the program if another
 * stream wrote there meanwhile. */
void core_emulated_memory_lend(CoreEmulatedMemory *all, char *start, size_t bytes);
void core_emulated_memory_return(CoreEmulatedMemory *all);
/* Returns the address of the data of `memory`: in the copy made by core_emulated_memory_lend, or `memory` itself. */
char *core_emulated_memory_where(const CoreEmulatedMemory *all, const void *memory);

#endif
