/* Allocation that aborts on failure, for small objects outside arenas (core/device/arena.h). */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H
#include <stddef.h>

/* Byte that unwritten memory is filled with, for tests: 0xff, which makes NaNs, with CORE_MEMORY_FILL=nan in the
 * environment; otherwise -1: memory is left as it is. */
int core_memory_fill(void);

/* Allocate like malloc, calloc and realloc; abort with a message if memory is exhausted. */
void *core_memory_allocate(size_t bytes);
void *core_memory_zero_allocate(size_t count, size_t bytes);
void *core_memory_resize(void *memory, size_t bytes);
/* Allocates at a multiple of `alignment`, a power of two. */
void *core_memory_allocate_aligned(size_t alignment, size_t bytes);

#endif
