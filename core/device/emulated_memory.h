/* The memory of the emulated device (device_emulated.c). It is accessible only while an operation runs, so that host
 * code that touches it by itself crashes. What was handed over to the communication stream holds NaN until it is taken
 * back. That is checked then, so that a read or write in between shows. */
#ifndef CORE_EMULATED_MEMORY_H
#define CORE_EMULATED_MEMORY_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_EMULATED_MEMORIES = 64, CORE_EMULATED_LENT_MAX = 256 }; /* limits */

/* All 0: no memory. */
typedef struct CoreEmulatedMemory {
  struct { char *start; size_t bytes, asked; } memory[CORE_EMULATED_MEMORIES]; /* bytes: whole pages */
  size_t allocated;
  struct { char *start, *contents; size_t bytes; } handed[CORE_EMULATED_LENT_MAX]; /* contents: a copy */
  int handed_over;
  int key;                                                                     /* 0: none */
} CoreEmulatedMemory;

/* Before the first allocation, for memory of which no other thread has need: where the processor has protection keys,
 * and one is left, open and close only change the calling thread's rights. They take microseconds by pages otherwise,
 * for each kernel. Released with all memory. */
void core_emulated_memory_take_key(CoreEmulatedMemory *all);

/* Allocates `bytes` bytes, inaccessible to the host. CORE_FAIL, and *start NULL: the device has memory_bytes in all. */
int core_emulated_memory_allocate(CoreEmulatedMemory *all, size_t bytes, size_t memory_bytes, void **start);
/* NULL does nothing. Ends the program if `start` is no allocation. */
void core_emulated_memory_release(CoreEmulatedMemory *all, void *start);
void core_emulated_memory_release_all(CoreEmulatedMemory *all);

/* Makes all of it accessible to the host, and inaccessible again. */
void core_emulated_memory_open(const CoreEmulatedMemory *all);
void core_emulated_memory_close(const CoreEmulatedMemory *all);

/* Checks that [start, start + bytes) is this device's, or the host's; ends the program if not. A host pointer given for
 * a device pointer would work here, but not on a GPU. */
void core_emulated_memory_check(const CoreEmulatedMemory *all, const void *start, size_t bytes);
void core_emulated_memory_check_host(const CoreEmulatedMemory *all, const void *start, size_t bytes);

/* The allocation [*first, *end) that contains an address, in the size that was asked for. Returns 0 if there is
 * none. */
int core_emulated_memory_find(const CoreEmulatedMemory *all, uint64_t address, uint64_t *first, uint64_t *end);

/* Hands memory over to the communication stream, and takes all of it back. Memory must be open. Ends the program if
 * another stream has written there meanwhile. */
void core_emulated_memory_lend(CoreEmulatedMemory *all, char *start, size_t bytes);
void core_emulated_memory_return(CoreEmulatedMemory *all);
/* Where the contents of `memory` are: in the copy that comm_start made, or in place. */
char *core_emulated_memory_where(const CoreEmulatedMemory *all, const void *memory);

#endif
