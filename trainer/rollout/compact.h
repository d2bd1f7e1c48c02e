/* A rollout's observations, kept as the numbers that change on a level, where bodies are and how they move, and where
 * its constants are found; these are put in again when rows are gathered. The same bits as the observations themselves
 * in a sixth to a third of the memory (train.observation_storage = state). Between rollout.c and the environment, which
 * says what changes (envs/env.h).
 *
 * Constants are kept once a level where levels stay as long as the run; once a world and rollout where a curriculum
 * changes them between rollouts; once an episode where episodes are on new levels. These have room for an episode a
 * world and one more in COMPACT_STEPS_A_PLACE steps, shared by all worlds; of further ones the number is kept by which
 * the generator draws the level again (4 bytes instead of 476 at size S, and many thousand operations a row that is
 * gathered). */
#ifndef TRAINER_COMPACT_H
#define TRAINER_COMPACT_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"

enum { COMPACT_STEPS_A_PLACE = 16 };

typedef enum CompactLevels { COMPACT_STAY, COMPACT_OF_ROLLOUT, COMPACT_OF_EPISODE } CompactLevels;

/* Buffers are on the rollout's device. */
typedef struct Compact {
  CoreDevice *device;      /* NULL: the host */
  const Env *env;          /* whose observations were kept last; borrowed */
  CompactLevels levels;
  int worlds, features, changing;
  size_t places;
  int32_t *column;         /* [changing] of an observation */
  int32_t *fixed;          /* [features - changing] of an observation: the constants */
  int32_t *place;          /* [features] among the changing numbers; -1 - c: constant c */
  float *table;            /* [places][features - changing] */
  float *values;           /* [steps + 1][worlds][changing] */
  int32_t *level;          /* [steps + 1][worlds]: the place of a row's constants, or -1 - number of its level */
  int32_t *present;        /* [worlds]: the same of the episodes that run; NULL: COMPACT_STAY */
  int64_t *taken;          /* places so far in this rollout */
  bool ready;              /* the first three are filled, and with COMPACT_STAY the table */
} Compact;

/* CORE_USAGE: observations that are more than their level and what changes there, or that the trainer changes. */
int compact_check(const CoreConfig *config, const Env *env);
void compact_register(Compact *compact, const CoreConfig *config, const Env *env, int steps, int worlds,
                      CoreArena *arena);
/* Keeps worlds first .. first + count - 1 of row block t: observations [worlds][features] of `env` as it stands. done
 * [worlds]: whose episode has just begun; NULL: the rollout begins. */
void compact_store(Compact *compact, const Env *env, int t, int first, int count, const float *observations,
                   const uint8_t *done);
/* Rows `index` of the rollout, where the buffers are -> observations [rows][features]. */
void compact_gather(const Compact *compact, const uint32_t *index, int rows, float *observations);

#endif
