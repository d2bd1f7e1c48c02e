/* A set of run ids with their order: finds repeated runs of a grid and known runs of a manifest. */
#ifndef SWEEP_ID_SET_H
#define SWEEP_ID_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"

/* Zero-initialise. */
typedef struct SweepIdSet {
  char (*ids)[CORE_RUN_ID]; /* [count], in the order they were added */
  size_t count, capacity;
  uint32_t *table;          /* [slots]: place in ids + 1, 0 = empty; slots is a power of two */
  size_t slots;
} SweepIdSet;

/* Adds an id of up to 16 characters. true when it is new; *index is its place either way (NULL allowed). */
bool sweep_id_set_add(SweepIdSet *set, const char *id, size_t *index);
void sweep_id_set_add_all(SweepIdSet *set, const char (*ids)[CORE_RUN_ID], size_t count);
bool sweep_id_set_find(const SweepIdSet *set, const char *id, size_t *index);
void sweep_id_set_free(SweepIdSet *set);

/* Empties the set but hands its array of ids over, cut to its length: free() it. NULL when there are none. */
char (*sweep_id_set_take(SweepIdSet *set))[CORE_RUN_ID];

#endif
