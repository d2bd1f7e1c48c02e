/* Division of a run's worlds over ranks. The run numbers its worlds 0 .. N-1, whatever the number of ranks; each rank
 * has N / size consecutive ones. With comm.deterministic the bits do not depend on the number of ranks. For that the
 * worlds are divided into shards, whose number does not depend on the ranks. A shard goes through the networks
 * separately, and results of shards are folded in their order. Otherwise each rank is one shard. */
#ifndef TRAINER_SHARDS_H
#define TRAINER_SHARDS_H
#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"

typedef struct Shards {
  int global_worlds;   /* N */
  int first_world;     /* this rank's are first_world .. first_world + worlds - 1 */
  int worlds;
  int global_shards;   /* shards of the run */
  int shards;          /* shards of this rank: equal, neighboring */
  bool ordered;        /* comm.deterministic */
} Shards;

/* Returns all worlds in one shard of one rank. */
Shards shards_alone(int worlds);
/* Computes this rank's part of a resolved configuration. CORE_USAGE names the values and keys that do not divide. */
int shards_plan(const CoreConfig *config, Shards *shards);
/* Returns the number of shards that comm.shards = 0 means for `worlds` worlds. */
int shards_choose(int64_t worlds);

static inline int shards_worlds(const Shards *shards) { return shards->worlds / shards->shards; }

/* Divides `all` items over the run's shards as evenly as possible. Returns the first item of shard s of this rank; s =
 * shards->shards gives the first of the next rank. Parts may be empty. */
int shards_first_of(const Shards *shards, int all, int s);

/* Returns the row of this rank's rollout [steps][worlds] that holds row step * N + world of the run's, or -1 for
 * another rank's. */
static inline int64_t shards_row(const Shards *shards, uint32_t row) {
  uint32_t all = (uint32_t)shards->global_worlds, step = row / all, world = row % all - (uint32_t)shards->first_world;
  return world < (uint32_t)shards->worlds ? (int64_t)step * shards->worlds + world : -1;
}

/* Returns the run's row of a row of this rank; the inverse. */
static inline uint32_t shards_row_of_run(const Shards *shards, uint32_t row) {
  uint32_t worlds = (uint32_t)shards->worlds;
  return row / worlds * (uint32_t)shards->global_worlds + (uint32_t)shards->first_world + row % worlds;
}

#endif
