/* Orders runs whose parents (init.from) must run first into generations, each its own batch. If possible, line i of a
 * generation is a child of line i of an earlier one. Both are split into arrays in the same way, so task t of one array
 * waits only for task t of the other (aftercorr), and no GPU idles until the slowest parent has ended. Arithmetic only:
 * submission.c turns generations into batches. */
#ifndef SWEEP_GENERATIONS_H
#define SWEEP_GENERATIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWEEP_NO_PARENT SIZE_MAX            /* the run waits for nothing */
#define SWEEP_PARENT_EXTERNAL (SIZE_MAX - 1) /* its parent is in the queue, not in the list */

enum { SWEEP_GENERATIONS_ALIGNED_MAX = 32 }; /* maximum children of a parent for which generations are aligned */

typedef struct SweepGeneration {
  size_t first, count;   /* range of SweepGenerations.run */
  size_t parent;         /* aligned: index of the earlier generation whose line i is the parent of line i;
                          * SWEEP_NO_PARENT otherwise */
  bool waits;            /* whether it waits for all parents of its runs, wherever they are */
} SweepGeneration;

typedef struct SweepGenerations {
  size_t *run;           /* [count] indices in the caller's list */
  size_t count;
  SweepGeneration *generations; /* [generation_count] */
  size_t generation_count; /* 1 if no run has a parent; 0 for an empty list */
} SweepGenerations;

/* Sorts `count` runs into generations. parent[i]: list index of run i's parent, or one of the two values above. align
 * false: one generation per level. Runs keep their order within a generation, except that runs with more children come
 * first if generations are aligned. The caller calls sweep_generations_free. */
void sweep_generations_make(const size_t *parent, size_t count, bool align, SweepGenerations *order);
void sweep_generations_free(SweepGenerations *order);

#endif
