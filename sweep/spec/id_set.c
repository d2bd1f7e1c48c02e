/* Implements the set as a hash table with open addressing. */
#include "sweep/spec/id_set.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* Hashes the id by FNV-1a, since ids in files need not be uniformly distributed. */
static size_t first_slot(const SweepIdSet *set, const char *id) {
  uint64_t hash = 1469598103934665603u;
  for (const char *c = id; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  return (size_t)(hash ^ hash >> 32) & (set->slots - 1);
}

/* Returns the slot of `id`, or the empty one where it belongs. */
static size_t find_slot(const SweepIdSet *set, const char *id) {
  size_t slot = first_slot(set, id);
  while (set->table[slot] && strcmp(set->ids[set->table[slot] - 1], id) != 0) slot = (slot + 1) & (set->slots - 1);
  return slot;
}

static void grow(SweepIdSet *set) {
  set->capacity = set->capacity ? 2 * set->capacity : 256;
  set->slots = 2 * set->capacity;
  set->ids = core_memory_resize(set->ids, set->capacity * sizeof *set->ids);
  free(set->table);
  set->table = core_memory_zero_allocate(set->slots, sizeof *set->table);
  for (size_t i = 0; i < set->count; i++) set->table[find_slot(set, set->ids[i])] = (uint32_t)i + 1;
}

bool sweep_id_set_add(SweepIdSet *set, const char *id, size_t *index) {
  if (set->count == set->capacity) grow(set);
  size_t slot = find_slot(set, id), length = strlen(id);
  bool is_new = set->table[slot] == 0;
  if (is_new) {
    CORE_CHECK(length < CORE_RUN_ID);
    memcpy(set->ids[set->count++], id, length + 1);
    set->table[slot] = (uint32_t)set->count;
  }
  if (index) *index = set->table[slot] - 1;
  return is_new;
}

void sweep_id_set_add_all(SweepIdSet *set, const char (*ids)[CORE_RUN_ID], size_t count) {
  for (size_t i = 0; i < count; i++) sweep_id_set_add(set, ids[i], NULL);
}

bool sweep_id_set_find(const SweepIdSet *set, const char *id, size_t *index) {
  if (set->count == 0) return false;
  uint32_t entry = set->table[find_slot(set, id)];
  if (entry && index) *index = entry - 1;
  return entry != 0;
}

void sweep_id_set_free(SweepIdSet *set) {
  free(set->ids);
  free(set->table);
  *set = (SweepIdSet){0};
}

char (*sweep_id_set_detach(SweepIdSet *set))[CORE_RUN_ID] {
  char(*ids)[CORE_RUN_ID] = set->count ? core_memory_resize(set->ids, set->count * sizeof *ids) : NULL;
  if (ids) set->ids = NULL;
  sweep_id_set_free(set);
  return ids;
}
