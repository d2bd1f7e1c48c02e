/* Allocation that aborts on failure (memory.h). */
#include "core/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(size_t bytes) {
  fprintf(stderr, "out of memory: %zu bytes could not be allocated\n", bytes);
  abort();
}

int core_memory_fill(void) {
  const char *fill = getenv("CORE_MEMORY_FILL");
  return fill && strcmp(fill, "nan") == 0 ? 0xff : -1;
}

/* Fills unwritten memory by CORE_MEMORY_FILL of the environment. */
static void *filled(void *memory, size_t bytes) {
  const int fill = core_memory_fill();
  if (fill >= 0) memset(memory, fill, bytes);
  return memory;
}

void *core_memory_allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory) out_of_memory(bytes);
  return filled(memory, bytes);
}

void *core_memory_zero_allocate(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes ? bytes : 1);
  if (!memory) out_of_memory(bytes && count > SIZE_MAX / bytes ? SIZE_MAX : count * bytes);
  return memory;
}

void *core_memory_resize(void *memory, size_t bytes) {
  void *resized = realloc(memory, bytes ? bytes : 1);
  if (!resized) out_of_memory(bytes);
  return resized;
}

void *core_memory_allocate_aligned(size_t alignment, size_t bytes) {
  void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory) out_of_memory(bytes);
  return filled(memory, bytes);
}
