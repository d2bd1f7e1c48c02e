/* Compact storage of a rollout's observations (train.observation_storage = state). A row stores the features that
 * change within a level (pose and motion of bodies), a bit for each pair of shapes that may touch (entity
 * observations), and a reference to the level's constant features. Gathering rows joins them. The same bits as full
 * observations, in a twelfth to a third of the memory. The environment declares which features change (env.h).
 *
 * Constants are stored in slots. Levels that stay for the whole run have one slot each. Where a curriculum changes
 * levels between rollouts, each world has one. Where every episode is on a new level, each episode has one: there are
 * slots for one episode per world and for another one per COMPACT_STEPS_A_SLOT steps, shared by all worlds. Beyond that
 * only the level's number is stored, and gathering generates the level again (4 bytes instead of 476 at size S, but
 * thousands of operations per row). */
#ifndef TRAINER_COMPACT_H
#define TRAINER_COMPACT_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"

enum { COMPACT_STEPS_A_SLOT = 16, COMPACT_SHORT_SLOTS = 1 << 16 };

typedef enum CompactLevels { COMPACT_STAY, COMPACT_OF_ROLLOUT, COMPACT_OF_EPISODE } CompactLevels;

/* Buffers are on the rollout's device. */
typedef struct Compact {
  CoreDevice *device;      /* NULL: the host */
  const Env *env;          /* environment of the observations stored last; borrowed */
  CompactLevels levels;
  int worlds, features, changing;
  int flags, words;        /* features that are a constant plus SIM_ATTEND_TOUCHING at times; words of their bits */
  size_t slots;
  int32_t *column;         /* [changing] indices in an observation; then those of the flags */
  int32_t *fixed;          /* [features - changing] indices in an observation of the constants */
  int32_t *position;       /* [features] index among the changing features; -1 - c: constant c */
  int32_t *flag;           /* [features] index among the flags; -1: none */
  float *table;            /* [slots][features - changing] */
  float *values;           /* [steps + 1][worlds][changing] */
  uint32_t *bits;          /* [steps + 1][worlds][words] */
  int32_t *level;          /* [steps + 1][worlds] slot of a row's constants, or -1 - number of its level. NULL: in */
  uint16_t *short_level;   /* [steps + 1][worlds] slots, if they are few; both NULL: slot w for world w */
  int32_t *present;        /* [worlds] the same for the running episodes; NULL: COMPACT_STAY */
  int64_t *used_slots;     /* slots used so far in this rollout */
  bool ready;              /* whether the first four are filled, and with COMPACT_STAY the table */
} Compact;

/* Checks that the environment's observations consist of constants and changing features, and that the trainer does not
 * change them. CORE_USAGE: they do not. */
int compact_check(const CoreConfig *config, const Env *env);
void compact_register(Compact *compact, const CoreConfig *config, const Env *env, int steps, int worlds,
                      CoreArena *arena);
/* Stores worlds first .. first + count - 1 of row block t from the current observations [worlds][features] of `env`.
 * done [worlds]: 1 where an episode has just begun; NULL: the rollout begins. */
void compact_store(Compact *compact, const Env *env, int t, int first, int count, const float *observations,
                   const uint8_t *done);
/* Gathers rows `index` of the rollout, on its device -> observations [rows][features]. */
void compact_gather(const Compact *compact, const uint32_t *index, int rows, float *observations);

#endif
