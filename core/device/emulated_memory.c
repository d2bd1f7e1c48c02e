/* Emulates device memory by host pages that are protected with mprotect or a protection key (emulated_memory.h). */
#include "core/device/emulated_memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"

enum { POISON = 0xff };

void core_emulated_memory_acquire_key(CoreEmulatedMemory *all) {
  const int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
  all->key = key > 0 ? key : 0;
}

static void protect(const CoreEmulatedMemory *all, int protection) {
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++)
    if (all->memory[i].start) CORE_CHECK(mprotect(all->memory[i].start, all->memory[i].bytes, protection) == 0);
}
void core_emulated_memory_open(const CoreEmulatedMemory *all) {
  if (all->key) CORE_CHECK(pkey_set(all->key, 0) == 0);
  else protect(all, PROT_READ | PROT_WRITE);
}
void core_emulated_memory_close(const CoreEmulatedMemory *all) {
  if (all->key) CORE_CHECK(pkey_set(all->key, PKEY_DISABLE_ACCESS) == 0);
  else protect(all, PROT_NONE);
}

int core_emulated_memory_allocate(CoreEmulatedMemory *all, size_t bytes, size_t memory_bytes, void **memory) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int slot = 0;
  while (slot < CORE_EMULATED_MEMORIES && all->memory[slot].start) slot++;
  CORE_CHECK(slot < CORE_EMULATED_MEMORIES);
  *memory = NULL;

  if (bytes > SIZE_MAX / 2) return core_error(CORE_FAIL, "out of memory of the emulated device");
  const size_t asked = bytes;
  bytes = (bytes + page) / page * page;
  if (bytes > memory_bytes - all->allocated)
    return core_error(CORE_FAIL, "out of memory of the emulated device: %zu bytes", bytes);

  char *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return core_error_errno(CORE_FAIL, "out of memory of the emulated device: %zu bytes", bytes);
  if (all->key) CORE_CHECK(pkey_mprotect(start, bytes, PROT_READ | PROT_WRITE, all->key) == 0);

  all->memory[slot].start = start;
  all->memory[slot].bytes = bytes;
  all->memory[slot].asked = asked;
  all->allocated += bytes;
  *memory = start;
  return CORE_OK;
}

void core_emulated_memory_release(CoreEmulatedMemory *all, void *memory) {
  int slot = 0;
  if (memory == NULL) return;
  while (slot < CORE_EMULATED_MEMORIES && all->memory[slot].start != memory) slot++;
  CORE_CHECK(slot < CORE_EMULATED_MEMORIES);
  munmap(memory, all->memory[slot].bytes);
  all->allocated -= all->memory[slot].bytes;
  all->memory[slot].start = NULL;
}

void core_emulated_memory_release_all(CoreEmulatedMemory *all) {
  for (int i = 0; i < all->handed_over; i++) free(all->handed[i].contents);
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) core_emulated_memory_release(all, all->memory[i].start);
  if (all->key) pkey_free(all->key);
  all->key = 0;
}

void core_emulated_memory_check(const CoreEmulatedMemory *all, const void *memory, size_t bytes) {
  const char *first = memory;
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) {
    const char *start = all->memory[i].start;
    if (start && first >= start && first + bytes <= start + all->memory[i].bytes) return;
  }
  CORE_CHECK(!"an address that is not in device memory");
}

void core_emulated_memory_check_host(const CoreEmulatedMemory *all, const void *memory, size_t bytes) {
  const char *first = memory;
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) {
    const char *start = all->memory[i].start;
    CORE_CHECK(start == NULL || first >= start + all->memory[i].bytes || first + bytes <= start);
  }
}

int core_emulated_memory_find(const CoreEmulatedMemory *all, uint64_t address, uint64_t *first, uint64_t *end) {
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) {
    *first = (uint64_t)(uintptr_t)all->memory[i].start;
    *end = *first + all->memory[i].asked;
    if (*first && address >= *first && address < *end) return 1;
  }
  return 0;
}

/* ---- the communication stream ------------------------------------------------------------------------------------ */

void core_emulated_memory_lend(CoreEmulatedMemory *all, char *start, size_t bytes) {
  CORE_CHECK(all->handed_over < CORE_EMULATED_LENT_MAX);
  char *contents = core_memory_allocate(bytes);
  memcpy(contents, start, bytes);
  memset(start, POISON, bytes);
  all->handed[all->handed_over].start = start;
  all->handed[all->handed_over].contents = contents;
  all->handed[all->handed_over++].bytes = bytes;
}

static bool is_poison(const char *start, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if ((unsigned char)start[i] != POISON) return false;
  return true;
}

void core_emulated_memory_return(CoreEmulatedMemory *all) {
  for (int i = all->handed_over - 1; i >= 0; i--) {
    CORE_CHECK(is_poison(all->handed[i].start, all->handed[i].bytes)); /* otherwise another stream wrote there */
    memcpy(all->handed[i].start, all->handed[i].contents, all->handed[i].bytes);
    free(all->handed[i].contents);
  }
  all->handed_over = 0;
}

char *core_emulated_memory_where(const CoreEmulatedMemory *all, const void *memory) {
  const char *start = memory;
  for (int i = 0; i < all->handed_over; i++) {
    const char *handed = all->handed[i].start;
    if (start >= handed && start < handed + all->handed[i].bytes) return all->handed[i].contents + (start - handed);
  }
  return (char *)(uintptr_t)memory;
}
