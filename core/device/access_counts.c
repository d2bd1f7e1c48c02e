/* Shadow of device memory: the launch that last read and last wrote each word. */
#include "core/device/access_counts.h"

#include <string.h>
#include <sys/mman.h>

#include "core/error.h"

#ifndef CORE_COUNTS_ACCESSES
#define CORE_COUNTS_ACCESSES 0
#endif

enum { WORD = 4, COUNTS_MAX = 2048, BODIES_MAX = 512, GAPS = 2 };

/* Shadow of an allocation. */
typedef struct Shadow { uintptr_t first, end; uint32_t *read, *written; } Shadow;

static struct {
  bool is_on;
  uint32_t launch;             /* number of the launch; 0: none runs */
  Shadow shadow[CORE_EMULATED_MEMORIES];
  Shadow *last;                /* shadow of the last access */
  struct { uintptr_t first, end; } gap[GAPS]; /* addresses without shadows, around the last accesses of that kind */
  int next_gap;
  CoreAccessCount count[COUNTS_MAX], *now;
  size_t counts;
  CoreEmulatedBody body[BODIES_MAX + 1];
} access;
static uint32_t launches; /* numbers are never used again, since shadows stay */

int core_access_start(const CoreEmulatedBody *const *tables, int count) {
  size_t bodies = 0;
  if (!CORE_COUNTS_ACCESSES)
    return core_error(CORE_FAIL, "kernels' loads and stores are not counted in this build, whose compiler adds no "
                      "calls there; build with GCC");
  for (int t = 0; t < count; t++)
    for (const CoreEmulatedBody *body = tables[t]; body->name; body++) {
      CORE_CHECK(bodies < BODIES_MAX);
      access.body[bodies++] = *body;
    }
  access.body[bodies] = (CoreEmulatedBody){0};
  access.is_on = true;
  return CORE_OK;
}

void core_access_stop(void) { access.is_on = false; }
const CoreEmulatedBody *core_access_bodies(void) { return access.is_on ? access.body : NULL; }

/* Returns pages of zeros, which take memory only where they are written. */
static uint32_t *map_words(size_t words) {
  void *start = mmap(NULL, words * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CORE_CHECK(start != MAP_FAILED);
  return start;
}

static void unmap(Shadow *shadow) {
  const size_t bytes = (shadow->end - shadow->first) / WORD * sizeof(uint32_t);
  if (shadow->read == NULL) return;
  munmap(shadow->read, bytes);
  munmap(shadow->written, bytes);
  *shadow = (Shadow){0};
}

/* Gives each allocation its shadow. */
static void follow(const CoreEmulatedMemory *memory) {
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) {
    Shadow *shadow = &access.shadow[i];
    const uintptr_t first = (uintptr_t)memory->memory[i].start, end = first + memory->memory[i].bytes;
    if (first == 0 || (shadow->first == first && shadow->end == end)) continue;
    unmap(shadow);
    *shadow = (Shadow){first, end, map_words((end - first) / WORD), map_words((end - first) / WORD)};
  }
}

static CoreAccessCount *count_of(const char *kernel, CoreAccessBy by) {
  for (size_t i = 0; i < access.counts; i++) {
    const CoreAccessCount *count = &access.count[i];
    if (count->by.phase == by.phase && count->by.is_encoding == by.is_encoding && strcmp(count->kernel, kernel) == 0)
      return &access.count[i];
  }
  CORE_CHECK(access.counts < COUNTS_MAX);
  access.count[access.counts] = (CoreAccessCount){.kernel = kernel, .by = by};
  return &access.count[access.counts++];
}

void core_access_begin(const CoreEmulatedMemory *memory, const char *kernel, CoreAccessBy by) {
  if (!access.is_on) return;
  follow(memory);
  access.last = &access.shadow[0];
  memset(access.gap, 0, sizeof access.gap);
  access.now = count_of(kernel, by);
  access.now->launches++;
  access.launch = ++launches;
}

void core_access_end(void) { access.launch = 0; }

static Shadow *shadow_of(uintptr_t address) {
  uintptr_t first = 0, end = UINTPTR_MAX;
  for (int i = 0; i < GAPS; i++)
    if (address >= access.gap[i].first && address < access.gap[i].end) return NULL;
  for (int i = 0; i < CORE_EMULATED_MEMORIES; i++) {
    Shadow *shadow = &access.shadow[i];
    if (address >= shadow->first && address < shadow->end) return shadow;
    if (shadow->end <= address && shadow->end > first) first = shadow->end;
    if (shadow->first > address && shadow->first < end) end = shadow->first;
  }
  access.next_gap = (access.next_gap + 1) % GAPS;
  access.gap[access.next_gap].first = first;
  access.gap[access.next_gap].end = end;
  return NULL;
}

/* Counts an access; those to the stack or to shared memory have no shadow. */
static void touch(uintptr_t address, size_t bytes, bool writes) {
  if (access.launch == 0) return;
  Shadow *shadow = access.last;
  if (address < shadow->first || address >= shadow->end) {
    shadow = shadow_of(address);
    if (shadow == NULL) return;
    access.last = shadow;
  }

  /* Counts each word once per launch and kind; reading what the launch itself has written is free. */
  const size_t end = (address - shadow->first + bytes + WORD - 1) / WORD;
  for (size_t word = (address - shadow->first) / WORD; word < end; word++) {
    uint32_t *mark = writes ? &shadow->written[word] : &shadow->read[word];
    if (*mark == access.launch) continue;
    *mark = access.launch;
    if (writes) access.now->written += WORD;
    else if (shadow->written[word] != access.launch) access.now->read += WORD;
  }
}

void core_access_read(const void *source, size_t bytes) { touch((uintptr_t)source, bytes, false); }

void core_access_move(const CoreEmulatedMemory *memory, const void *target, const void *source, size_t bytes,
                      CoreAccessBy by) {
  if (!access.is_on) return;
  core_access_begin(memory, source ? "copy" : "fill", by);
  if (shadow_of((uintptr_t)target)) access.now->written += bytes;
  if (shadow_of((uintptr_t)source)) access.now->read += bytes;
  core_access_end();
}

const CoreAccessCount *core_access_counts(size_t *count) {
  *count = access.counts;
  return access.count;
}

void core_access_clear(void) { access.counts = 0; }

/* ---- called by the counted bodies, under the names that the compiler gives its checks for races ------------------ */

#define CHECK(bytes)                                                                   \
  void __tsan_read##bytes(uintptr_t address);                                          \
  void __tsan_write##bytes(uintptr_t address);                                         \
  void __tsan_read##bytes(uintptr_t address) { touch(address, bytes, false); }         \
  void __tsan_write##bytes(uintptr_t address) { touch(address, bytes, true); }
CHECK(1)
CHECK(2)
CHECK(4)
CHECK(8)
CHECK(16)
#undef CHECK
void __tsan_read_range(uintptr_t address, size_t bytes);
void __tsan_write_range(uintptr_t address, size_t bytes);
void __tsan_init(void);
void __tsan_read_range(uintptr_t address, size_t bytes) { touch(address, bytes, false); }
void __tsan_write_range(uintptr_t address, size_t bytes) { touch(address, bytes, true); }
void __tsan_init(void) {}
