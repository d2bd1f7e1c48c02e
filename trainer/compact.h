/* A rollout's observations, kept as the numbers that change on a level, where bodies are and how they move, and the
 * level's number; the rest is the level's and put in again when rows are gathered. The same bits as the observations
 * themselves in a third of the memory (train.observation_storage = state). Between rollout.c and the environment, which
 * says what changes (envs/env.h). */
#ifndef TRAINER_COMPACT_H
#define TRAINER_COMPACT_H
#include "core/memory.h"
#include "trainer/envs/env.h"

/* Buffers are on the rollout's device. */
typedef struct Compact {
  CoreDevice *device;      /* NULL: the host */
  int worlds, features, changing, levels;
  int32_t *column;         /* [changing] of an observation */
  int32_t *place;          /* [features] among the changing numbers; -1: a constant */
  float *constants;        /* [levels][features] */
  float *values;           /* [steps + 1][worlds][changing] */
  int32_t *level;          /* [steps + 1][worlds] */
  bool ready;              /* the first three are filled */
} Compact;

/* CORE_USAGE: observations that are more than their level and what changes there, or that the trainer changes. */
int compact_check(const CoreConfig *config, const Env *env);
void compact_register(Compact *compact, const Env *env, int steps, int worlds, CoreArena *arena);
/* Keeps row block t: observations [worlds][features] of `env` as it stands. */
void compact_store(Compact *compact, const Env *env, int t, const float *observations);
/* Rows `index` of the rollout, where the buffers are -> observations [rows][features]. */
void compact_gather(const Compact *compact, const uint32_t *index, int rows, float *observations);

#endif
