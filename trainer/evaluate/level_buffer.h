/* Buffer of the most learnable levels of a search: the K of highest score, each by its number (env.h), from which the
 * environment generates it again. Filled by level_search.c, sampled by curriculum.c, saved in checkpoints. */
#ifndef TRAINER_LEVEL_BUFFER_H
#define TRAINER_LEVEL_BUFFER_H
#include <stdint.h>

#include "core/device/arena.h"

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

#endif
