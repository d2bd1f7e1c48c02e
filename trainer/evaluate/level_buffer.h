/* The levels that a search found most worth training on: the K of highest score, each by its number (env.h), from which
 * the environment makes it again. Filled by level_search.c, drawn from by curriculum.c, kept in checkpoints. */
#ifndef TRAINER_LEVEL_BUFFER_H
#define TRAINER_LEVEL_BUFFER_H
#include <stdint.h>

#include "core/device/arena.h"

typedef struct LevelBufferEntry {
  double score;
  double solve_rate;       /* in the search */
  uint32_t index, number;  /* which one of the search it was; the level's number */
} LevelBufferEntry;

typedef struct LevelBuffer {
  int capacity, count;
  LevelBufferEntry *entry; /* [capacity] while filled: a heap, the next to go first; closed: ascending */
} LevelBuffer;

void level_buffer_register(LevelBuffer *buffer, int capacity, CoreArena *arena);
void level_buffer_clear(LevelBuffer *buffer);
/* Keeps the entry if it is among the best so far; of equal scores the larger index is better (spec kinetix.md 8.1). */
void level_buffer_offer(LevelBuffer *buffer, LevelBufferEntry entry);
/* After the last offer: sorts by score, then index, both ascending. What is kept, and its order, depend on which
 * entries were offered, not on the order that they came in. */
void level_buffer_close(LevelBuffer *buffer);

#endif
