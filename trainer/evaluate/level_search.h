/* Sampling for learnability (docs/experiments.md#sampling-for-learnability-sfl; get_learnability_set in Kinetix'
 * experiments/sfl.py): plays many new levels with the current policy and keeps those that it solves sometimes. Between
 * curriculum.c, which decides when, and the environment; changes no weights and no training world.
 *
 * Level i of a search and the actions on it are functions of (seed, iteration, i), so the result depends neither on
 * threads nor on the number of levels played at once. Ranks divide each batch and exchange their results, so that all
 * of them fill the same buffer. */
#ifndef TRAINER_LEVEL_SEARCH_H
#define TRAINER_LEVEL_SEARCH_H
#include <stdint.h>

#include "core/device/arena.h"
#include "trainer/evaluate/eval_rollout.h"
#include "trainer/ranks/shards.h"

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

/* Buffer of the most learnable levels of a search: the K of highest score, each by its number (env.h), from which the
 * environment generates it again. Filled by level_search.c, sampled by curriculum.c, saved in checkpoints. */

typedef struct LevelBufferEntry {
  double score;
  double solve_rate;       /* solve rate in the search */
  uint32_t index, number;  /* index in the search; the level's number */
} LevelBufferEntry;

typedef struct LevelBuffer {
  int capacity, count;
  LevelBufferEntry *entry; /* [capacity] while filled: a heap, the next to be evicted first; closed: ascending */
} LevelBuffer;

void level_buffer_register(LevelBuffer *buffer, int capacity, CoreArena *arena);
void level_buffer_clear(LevelBuffer *buffer);
/* Keeps the entry if it is among the best so far; among equal scores the larger index wins, as in Kinetix'
 * experiments/sfl.py. */
void level_buffer_offer(LevelBuffer *buffer, LevelBufferEntry entry);
/* Sorts by score, then index, both ascending, after the last offer. The contents and their order depend on the offered
 * entries, not on the order of the offers. */
void level_buffer_close(LevelBuffer *buffer);

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Offset of the searches' levels in a key's sequence (env.h): far beyond those that an iteration trains on. */
enum { LEVEL_SEARCH_FIRST = 1 << 30 };

typedef struct LevelSearch {
  Env *env;                    /* owned: a slot for each of this rank's levels; NULL where it has none of a batch */
  int at_once, batches, steps; /* at_once: levels of a batch, of all ranks */
  int first, own;              /* this rank's of a batch */
  Shards shards;
  int32_t episodes_max;
  EvalRollout eval_rollout;    /* buffers of this rank's worlds */
  int *part_end;               /* [shards] ends of the shards' worlds */
  int32_t *slot;               /* [own] */
  uint32_t *numbers;           /* [own] */
  int64_t *own_episodes, *own_solutions; /* [own], on the ops' device */
  int64_t *episodes, *solutions, *all_numbers; /* [at_once] each, in one block, of all ranks after the batch */
  /* On a device `piece` steps are captured as a graph, once they have been launched kernel by kernel: */
  CoreDevice *device;
  OpsClock *clock;             /* on the device: numbers of the first step and level */
  CoreGraph *graph;            /* NULL: not captured */
  int piece;                   /* 0: no steps have been launched */
  double epsilon;              /* the agent's epsilon when the graph was captured */
} LevelSearch;

/* Statistics over all levels of one search. */
typedef struct LevelSearchSummary {
  int64_t levels;
  double solve_rate;           /* mean */
  double learnability;         /* mean of p (1 - p) */
  double found;                /* learnability of the levels that were kept */
} LevelSearchSummary;

/* Returns the score of a level solved in `solved` of `episodes` finished episodes: p (1 - p) + 0.001 p, where the last
 * term ranks solved levels before unsolved ones of no learnability. Without an episode p is 0. */
double level_search_score(int64_t solved, int64_t episodes);

/* Registers the buffers, by the settings of [sfl]. levels: any batch of the environment, which must have EnvLevels and
 * EnvGenerator. */
void level_search_register(LevelSearch *search, const CoreConfig *config, const Env *levels, const Shards *shards,
                           CoreArena *arena);
/* Creates the worlds, after the arena's commit. device: the arena's. */
int level_search_create(LevelSearch *search, const Env *levels, uint64_t seed, CoreDevice *device);
void level_search_destroy(LevelSearch *search);

/* Refills the buffer with levels of the sequence `key`; called by all ranks. CORE_REQUEUE: a rank was asked to stop;
 * the buffer is unchanged. */
int level_search_run(LevelSearch *search, const EvalPlayer *player, uint64_t seed, uint64_t key, int64_t iteration,
                     LevelBuffer *buffer, LevelSearchSummary *summary);

#endif
