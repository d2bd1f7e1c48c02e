/* The memory of the emulated device (device_emulated.c): accessible only while an operation runs, so that host code
 * that reads or writes it by itself crashes. What was handed over to the second order holds NaN until it is taken back,
 * which is checked: what the first order reads or writes there in between shows itself. */
#ifndef CORE_EMULATED_MEMORY_H
#define CORE_EMULATED_MEMORY_H
#include <stddef.h>
#include <stdint.h>

enum { CORE_EMULATED_MEMORIES = 64, CORE_EMULATED_HANDED = 256 }; /* allocations at a time; pieces handed over */

/* Zeroes: no memory. */
typedef struct CoreEmulatedMemory {
  struct { char *start; size_t bytes, asked; } memory[CORE_EMULATED_MEMORIES]; /* bytes: whole pages */
  size_t allocated;
  struct { char *start, *contents; size_t bytes; } handed[CORE_EMULATED_HANDED]; /* what the second order has */
  int handed_over;
} CoreEmulatedMemory;

/* `bytes` of memory, closed. CORE_FAIL, *start NULL: more than memory_bytes of the device in all. */
int core_emulated_memory_allocate(CoreEmulatedMemory *all, size_t bytes, size_t memory_bytes, void **start);
/* NULL does nothing; what was not allocated ends the program. */
void core_emulated_memory_release(CoreEmulatedMemory *all, void *start);
void core_emulated_memory_release_all(CoreEmulatedMemory *all);

/* Lets host code access all of it, and no more. */
void core_emulated_memory_open(const CoreEmulatedMemory *all);
void core_emulated_memory_close(const CoreEmulatedMemory *all);

/* That [start, start + bytes) is this device's: a host pointer given for a device pointer would work here, not on a
 * GPU. And that it is the host's. They end the program where it is not. */
void core_emulated_memory_check(const CoreEmulatedMemory *all, const void *start, size_t bytes);
void core_emulated_memory_check_host(const CoreEmulatedMemory *all, const void *start, size_t bytes);

/* The allocation [*first, *end) that an address lies in, as it was asked for; 0: none. */
int core_emulated_memory_find(const CoreEmulatedMemory *all, uint64_t address, uint64_t *first, uint64_t *end);

/* To the second order, and all of it back; memory must be open. Ends the program where what was handed over has been
 * written to meanwhile. */
void core_emulated_memory_hand_over(CoreEmulatedMemory *all, char *start, size_t bytes);
void core_emulated_memory_take_back(CoreEmulatedMemory *all);
/* Where the second order has what was handed over of `memory`; else `memory`, the default stream's. */
char *core_emulated_memory_where(const CoreEmulatedMemory *all, const void *memory);

#endif
