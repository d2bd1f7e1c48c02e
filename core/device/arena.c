/* Arenas (arena.h). */
#include "core/device/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"
#include "core/text.h"

typedef struct Entry {
  void **pointer;
  size_t count, bytes;
  char *label;
  bool on_device, is_zero; /* is_zero: its owner relies on zeros */
  void *own;      /* separate block of device memory, in a guarded arena */
} Entry;

struct CoreArena {
  char *name;
  Entry *entries;
  size_t count, capacity;
  void *block; /* as returned by calloc; NULL before the commit */
  CoreDevice *device; /* NULL: all entries are in host memory */
  void *device_block;
  bool is_guarded; /* whether each entry has a separate block instead */
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
  add_entry(arena, (Entry){pointer, count, bytes, core_text_duplicate(label), false, false, NULL});
}

void core_arena_register_device(CoreArena *arena, void **pointer, size_t count, size_t bytes, const char *label) {
  add_entry(arena, (Entry){pointer, count, bytes, core_text_duplicate(label), true, false, NULL});
}

void core_arena_keep_zero(CoreArena *arena) {
  CORE_CHECK(arena->count > 0);
  arena->entries[arena->count - 1].is_zero = true;
}

void core_arena_set_device(CoreArena *arena, CoreDevice *device) {
  CORE_CHECK(!arena->block);
  arena->device = device;
}

CoreDevice *core_arena_device(const CoreArena *arena) { return arena->device; }

static bool is_on_device(const CoreArena *arena, const Entry *entry) { return arena->device && entry->on_device; }

/* Returns the entry's bytes with the padding to the next entry; SIZE_MAX on overflow. */
static size_t entry_bytes(const CoreArena *arena, const Entry *entry) {
  const size_t unit = is_on_device(arena, entry) ? CORE_DEVICE_ALIGNMENT : CORE_MEMORY_ALIGNMENT;
  if (entry->bytes && entry->count > (SIZE_MAX - unit) / entry->bytes) return SIZE_MAX;
  return (entry->count * entry->bytes + unit - 1) / unit * unit;
}

static int larger_first(const void *a, const void *b) {
  const Entry *p = a, *q = b;
  const double x = (double)p->count * (double)p->bytes, y = (double)q->count * (double)q->bytes;
  return (x < y) - (x > y);
}

/* Reports a commit that failed. Reorders the entries, which no longer matters. */
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

int core_arena_largest(const CoreArena *arena, bool on_device, int max_entries, CoreArenaEntry *entries) {
  int count = 0;
  for (size_t i = 0; i < arena->count; i++) {
    const CoreArenaEntry entry = {arena->entries[i].label, entry_bytes(arena, &arena->entries[i])};
    if (is_on_device(arena, &arena->entries[i]) != on_device) continue;
    int index = count < max_entries ? count++ : max_entries;
    for (; index > 0 && entries[index - 1].bytes < entry.bytes; index--)
      if (index < max_entries) entries[index] = entries[index - 1];
    if (index < max_entries) entries[index] = entry;
  }
  return count;
}

static size_t bytes_of(const CoreArena *arena, bool device) {
  size_t total = 0;
  for (size_t i = 0; i < arena->count; i++) {
    if (is_on_device(arena, &arena->entries[i]) != device) continue;
    size_t bytes = entry_bytes(arena, &arena->entries[i]);
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
    next += entry_bytes(arena, &arena->entries[i]);
  }
}

/* Requests huge pages if available: a block of megabytes takes hundreds of small pages, more than a processor's TLB
 * holds. A refusal is harmless. */
static void use_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20, start = ((uintptr_t)block + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)block + bytes) / page * page;
  if (end > start) (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
#endif
}

/* Allocates the device's entries, in one block or in separate ones. On failure the arena still owns what was
 * allocated. */
static int place_on_device(CoreArena *arena, size_t bytes) {
  const char *guard = getenv("CORE_ARENA_GUARD");
  arena->is_guarded = guard && strcmp(guard, "1") == 0;

  if (!arena->is_guarded) {
    if (arena->device->allocate(arena->device, bytes, &arena->device_block) != CORE_OK) return CORE_FAIL;
    CORE_CHECK((uintptr_t)arena->device_block % CORE_DEVICE_ALIGNMENT == 0);
    place_entries(arena, true, arena->device_block);
    return CORE_OK;
  }

  /* One block per entry: an access past its end is outside of all blocks. */
  for (size_t i = 0; i < arena->count; i++) {
    Entry *entry = &arena->entries[i];
    if (!is_on_device(arena, entry)) continue;
    if (arena->device->allocate(arena->device, entry->count * entry->bytes, &entry->own) != CORE_OK) return CORE_FAIL;
    *entry->pointer = entry->own;
  }
  return CORE_OK;
}

/* Fills the buffers that do not have to be 0, where the environment asks for it. */
static void fill_entries(CoreArena *arena) {
  const int fill = core_memory_fill();
  if (fill < 0) return;
  for (size_t i = 0; i < arena->count; i++) {
    const Entry *entry = &arena->entries[i];
    if (entry->is_zero || entry->count * entry->bytes == 0) continue;
    if (is_on_device(arena, entry))
      arena->device->fill(arena->device, *entry->pointer, fill, entry->count * entry->bytes);
    else memset(*entry->pointer, fill, entry->count * entry->bytes);
  }
}

int core_arena_commit(CoreArena *arena) {
  CORE_CHECK(!arena->block);
  size_t total = core_arena_bytes(arena), on_device = core_arena_device_bytes(arena);
  /* calloc rather than aligned_alloc and memset: pages stay untouched until used, by the core that uses them first. */
  if (total < SIZE_MAX / 2) arena->block = calloc(1, total + CORE_MEMORY_ALIGNMENT);
  if (!arena->block) return too_large(arena, false);
  if (on_device > 0 && place_on_device(arena, on_device) != CORE_OK) return too_large(arena, true);
  use_large_pages(arena->block, total + CORE_MEMORY_ALIGNMENT);
  uintptr_t start = (uintptr_t)arena->block;
  place_entries(arena, false,
                (char *)arena->block + (CORE_MEMORY_ALIGNMENT - start % CORE_MEMORY_ALIGNMENT) % CORE_MEMORY_ALIGNMENT);
  fill_entries(arena);
  return CORE_OK;
}

static bool is_within(const void *start, size_t bytes, const char *at) {
  return start != NULL && at >= (const char *)start && at < (const char *)start + bytes;
}

bool core_arena_holds_on_device(const CoreArena *arena, const void *memory) {
  if (arena->is_guarded) {
    for (size_t i = 0; i < arena->count; i++)
      if (is_within(arena->entries[i].own, arena->entries[i].count * arena->entries[i].bytes, memory)) return true;
  }
  return is_within(arena->device_block, core_arena_device_bytes(arena), memory);
}

void core_arena_destroy(CoreArena **arena) {
  if (!*arena) return;
  for (size_t i = 0; i < (*arena)->count; i++) {
    if ((*arena)->entries[i].own) (*arena)->device->release((*arena)->device, (*arena)->entries[i].own);
    free((*arena)->entries[i].label);
  }
  free((*arena)->entries);
  free((*arena)->block);
  if ((*arena)->device_block) (*arena)->device->release((*arena)->device, (*arena)->device_block);
  free((*arena)->name);
  free(*arena);
  *arena = NULL;
}
