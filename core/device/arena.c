/* Arenas (arena.h). */
#include "core/device/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/memory.h"
#include "core/text.h"

typedef struct Entry {
  void **pointer;
  size_t count, bytes;
  char *label;
  bool on_device;
} Entry;

struct CoreArena {
  char *name;
  Entry *entries;
  size_t count, capacity;
  void *block; /* as calloc gave it; NULL before the commit */
  CoreDevice *device; /* NULL: all entries are the host's */
  void *device_block;
};

CoreArena *core_arena_create(const char *name) {
  CoreArena *arena = core_memory_zero_allocate(1, sizeof *arena);
  arena->name = core_text_duplicate(name);
  return arena;
}

static void add_entry(CoreArena *arena, Entry entry) {
  CORE_CHECK(!arena->block);
  if (arena->count == arena->capacity) {
    arena->capacity = arena->capacity ? 2 * arena->capacity : 16;
    arena->entries = core_memory_resize(arena->entries, arena->capacity * sizeof *arena->entries);
  }
  arena->entries[arena->count++] = entry;
  *entry.pointer = NULL;
}

void core_arena_register(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label) {
  add_entry(arena, (Entry){pointer, count, bytes, core_text_duplicate(label), false});
}

void core_arena_register_device(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label) {
  add_entry(arena, (Entry){pointer, count, bytes, core_text_duplicate(label), true});
}

void core_arena_set_device(CoreArena *arena, CoreDevice *device) {
  CORE_CHECK(!arena->block);
  arena->device = device;
}

CoreDevice *core_arena_device(const CoreArena *arena) { return arena->device; }

/* With the padding to the next entry; SIZE_MAX when that overflows. */
static size_t entry_bytes(const Entry *entry) {
  if (entry->bytes && entry->count > (SIZE_MAX - CORE_MEMORY_ALIGNMENT) / entry->bytes) return SIZE_MAX;
  return (entry->count * entry->bytes + CORE_MEMORY_ALIGNMENT - 1) / CORE_MEMORY_ALIGNMENT * CORE_MEMORY_ALIGNMENT;
}

static bool is_on_device(const CoreArena *arena, const Entry *entry) { return arena->device && entry->on_device; }

static int larger_first(const void *a, const void *b) {
  size_t x = entry_bytes(a), y = entry_bytes(b);
  return (x < y) - (x > y);
}

/* Only after a failed commit: the order of the entries no longer matters. */
static int too_large(CoreArena *arena, bool device) {
  CoreText text = {0};
  char buffer[32];
  double total = 0;
  int named = 0;
  qsort(arena->entries, arena->count, sizeof *arena->entries, larger_first);
  for (size_t i = 0; i < arena->count; i++) {
    const Entry *entry = &arena->entries[i];
    if (is_on_device(arena, entry) != device) continue;
    total += (double)entry->count * (double)entry->bytes;
    if (named++ < 3)
      core_text_appendf(&text, "%s%s (%sB)", named > 1 ? ", " : "", entry->label,
                        core_text_count((double)entry->count * (double)entry->bytes, buffer));
  }
  int code = core_error(CORE_FAIL, "out of memory%s%s: %s needs %sB; largest: %s", device ? " of " : "",
                        device ? arena->device->description : "", arena->name, core_text_count(total, buffer),
                        core_text_string(&text));
  core_text_free(&text);
  return code;
}

int core_arena_largest(const CoreArena *arena, bool on_device, int most, CoreArenaEntry *entries) {
  int count = 0;
  for (size_t i = 0; i < arena->count; i++) {
    const CoreArenaEntry entry = {arena->entries[i].label, entry_bytes(&arena->entries[i])};
    if (is_on_device(arena, &arena->entries[i]) != on_device) continue;
    int place = count < most ? count++ : most;
    for (; place > 0 && entries[place - 1].bytes < entry.bytes; place--)
      if (place < most) entries[place] = entries[place - 1];
    if (place < most) entries[place] = entry;
  }
  return count;
}

static size_t bytes_of(const CoreArena *arena, bool device) {
  size_t total = 0;
  for (size_t i = 0; i < arena->count; i++) {
    if (is_on_device(arena, &arena->entries[i]) != device) continue;
    size_t bytes = entry_bytes(&arena->entries[i]);
    total = bytes > SIZE_MAX - total ? SIZE_MAX : total + bytes;
  }
  return total;
}

size_t core_arena_bytes(const CoreArena *arena) { return bytes_of(arena, false); }
size_t core_arena_device_bytes(const CoreArena *arena) { return bytes_of(arena, true); }

static void place_entries(CoreArena *arena, bool device, char *next) {
  for (size_t i = 0; i < arena->count; i++) {
    if (is_on_device(arena, &arena->entries[i]) != device) continue;
    *arena->entries[i].pointer = next;
    next += entry_bytes(&arena->entries[i]);
  }
}

/* Asks for large pages where there are some: a block of megabytes takes hundreds of small ones, more than a processor
 * keeps the addresses of. Refused, nothing is lost. */
static void use_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20, start = ((uintptr_t)block + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)block + bytes) / page * page;
  if (end > start) (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#endif
}

int core_arena_commit(CoreArena *arena) {
  CORE_CHECK(!arena->block);
  size_t total = core_arena_bytes(arena), on_device = core_arena_device_bytes(arena);
  /* calloc rather than aligned_alloc and memset: pages stay untouched until used, on the core that uses them first. */
  if (total < SIZE_MAX / 2) arena->block = calloc(1, total + CORE_MEMORY_ALIGNMENT);
  if (!arena->block) return too_large(arena, false);
  if (on_device > 0 && arena->device->allocate(arena->device, on_device, &arena->device_block) != CORE_OK)
    return too_large(arena, true);
  use_large_pages(arena->block, total + CORE_MEMORY_ALIGNMENT);
  uintptr_t start = (uintptr_t)arena->block;
  place_entries(arena, false,
                (char *)arena->block + (CORE_MEMORY_ALIGNMENT - start % CORE_MEMORY_ALIGNMENT) % CORE_MEMORY_ALIGNMENT);
  place_entries(arena, true, arena->device_block);
  return CORE_OK;
}

bool core_arena_holds_on_device(const CoreArena *arena, const void *memory) {
  const char *start = arena->device_block, *at = memory;
  return start != NULL && at >= start && at < start + core_arena_device_bytes(arena);
}

void core_arena_destroy(CoreArena **arena) {
  if (!*arena) return;
  for (size_t i = 0; i < (*arena)->count; i++) free((*arena)->entries[i].label);
  free((*arena)->entries);
  free((*arena)->block);
  if ((*arena)->device_block) (*arena)->device->release((*arena)->device, (*arena)->device_block);
  free((*arena)->name);
  free(*arena);
  *arena = NULL;
}
