/* Ordered set of run ids, for repeated runs of a grid and known runs of a manifest. */
#ifndef SWEEP_ID_SET_H
#define SWEEP_ID_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"

/* Zero-initialize. */
typedef struct SweepIdSet {
  char (*ids)[CORE_RUN_ID]; /* [count], in the order they were added */
  size_t count, capacity;
  uint32_t *table; /* [slots] index in ids + 1; 0: empty. slots is a power of two */
  size_t slots;
} SweepIdSet;

/* Adds an id of up to 16 characters. Returns whether it is new. *index (optional): its index. */
bool sweep_id_set_add(SweepIdSet *set, const char *id, size_t *index);
void sweep_id_set_add_all(SweepIdSet *set, const char (*ids)[CORE_RUN_ID], size_t count);
bool sweep_id_set_find(const SweepIdSet *set, const char *id, size_t *index);
void sweep_id_set_free(SweepIdSet *set);

/* Empties the set and returns its array of ids, shrunk to its length; NULL if empty. Caller frees. */
char (*sweep_id_set_detach(SweepIdSet *set))[CORE_RUN_ID];

#endif
