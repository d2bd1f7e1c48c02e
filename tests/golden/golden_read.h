/* Reader of .gold files (tensors made by PyTorch; format in the README next to them): one block of memory, every offset
 * checked when the file is opened, so that a damaged file is an error and never a wild read. */
#ifndef TESTS_GOLDEN_READ_H
#define TESTS_GOLDEN_READ_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

enum { GOLD_F64 = 0, GOLD_F32 = 1, GOLD_I32 = 2, GOLD_U8 = 3 };

typedef struct GoldEntry {
  char name[64];
  uint32_t type, dimensions;
  uint64_t dimension[4], offset;
} GoldEntry; /* 112 bytes, as in the file */
_Static_assert(sizeof(GoldEntry) == 112, "an entry is read as it lies in the file");

typedef struct Gold {
  const char *path;
  unsigned char *bytes;
  size_t size;
  uint32_t count;
  const GoldEntry *entry;
} Gold;

static inline size_t gold_elements(const GoldEntry *e) {
  return (size_t)(e->dimension[0] * e->dimension[1] * e->dimension[2] * e->dimension[3]);
}

static inline int gold_check_entry(const Gold *gold, const GoldEntry *e) {
  uint64_t elements = 1, width = e->type == GOLD_F64 ? 8 : e->type == GOLD_U8 ? 1 : 4;
  if (e->type > GOLD_U8 || e->dimensions > 4 || memchr(e->name, 0, sizeof e->name) == NULL || e->offset % 4) return -1;
  for (int d = 0; d < 4; d++) {
    if (e->dimension[d] > gold->size || (e->dimension[d] && elements > gold->size / e->dimension[d])) return -1;
    elements *= e->dimension[d];
  }
  return e->offset > gold->size || elements > (gold->size - e->offset) / width ? -1 : 0;
}

static inline void gold_close(Gold *gold) {
  free(gold->bytes);
  *gold = (Gold){0};
}

/* CORE_FAIL with a message when the file cannot be read or is damaged. Close with gold_close. */
static inline int gold_open(Gold *gold, const char *path) {
  *gold = (Gold){.path = path};
  FILE *file = fopen(path, "rb");
  if (!file) return core_error_errno(CORE_FAIL, "cannot open %s", path);
  if (fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) gold->size = (size_t)ftell(file);
  rewind(file);
  gold->bytes = core_memory_allocate(gold->size + 1);
  size_t got = fread(gold->bytes, 1, gold->size, file);
  fclose(file);
  int good = got == gold->size && got >= 16 && memcmp(gold->bytes, "PPOGOLD1", 8) == 0;
  if (good) memcpy(&gold->count, gold->bytes + 8, 4);
  good = good && gold->count <= (gold->size - 16) / sizeof(GoldEntry);
  gold->entry = (const GoldEntry *)(gold->bytes + 16);
  for (uint32_t i = 0; good && i < gold->count; i++) good = gold_check_entry(gold, &gold->entry[i]) == 0;
  if (good) return CORE_OK;
  gold_close(gold);
  return core_error(CORE_FAIL, "%s is not a whole .gold file", path);
}

/* NULL when the file has no tensor of that name. */
static inline const GoldEntry *gold_find(const Gold *gold, const char *name) {
  for (uint32_t i = 0; i < gold->count; i++)
    if (strcmp(gold->entry[i].name, name) == 0) return &gold->entry[i];
  return NULL;
}

/* Entry i, in [-1, 1), of the large tensors that are stored as a seed and a scale. */
static inline float gold_uniform(uint32_t seed, uint64_t i) {
  uint64_t z = ((uint64_t)seed << 32) + i + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return (float)((int32_t)(z >> 40) - 8388608) / 8388608.0f;
}

/* Returns element i as double, for any type. */
static inline double gold_element(const Gold *gold, const GoldEntry *e, size_t i) {
  const unsigned char *data = gold->bytes + e->offset;
  double d;
  float f;
  int32_t n;
  if (e->type == GOLD_F64) return memcpy(&d, data + 8 * i, 8), d;
  if (e->type == GOLD_F32) return memcpy(&f, data + 4 * i, 4), (double)f;
  if (e->type == GOLD_U8) return data[i];
  return memcpy(&n, data + 4 * i, 4), (double)n;
}

#endif
