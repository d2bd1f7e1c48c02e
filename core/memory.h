/* Memory that can not fail quietly, for small things outside arenas (core/device/arena.h). */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H
#include <stddef.h>

/* malloc and calloc that abort with a message when memory is out; for small things outside arenas. */
void *core_memory_allocate(size_t bytes);
void *core_memory_zero_allocate(size_t count, size_t bytes);
void *core_memory_resize(void *memory, size_t bytes);
/* At a multiple of `alignment`, a power of two. */
void *core_memory_allocate_aligned(size_t alignment, size_t bytes);

#endif
