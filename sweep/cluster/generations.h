/* In which order runs go to Slurm when some begin from others' checkpoints (init.from). They are put into
 * generations, each a batch of its own, parents first. Where it can be, line i of a generation is a child of line i
 * of an earlier one: split into arrays in the same way, task t of the one array then waits for task t of the other
 * alone (aftercorr), and no GPU idles until the slowest parent has ended. Pure arithmetic: launch.c makes arrays of
 * it. */
#ifndef SWEEP_GENERATIONS_H
#define SWEEP_GENERATIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWEEP_NO_PARENT SIZE_MAX            /* nothing to wait for */
#define SWEEP_PARENT_EXTERNAL (SIZE_MAX - 1) /* waits for a run that is not in the list: in the queue already */

enum { SWEEP_GENERATIONS_ALIGNED_MAX = 32 }; /* children of one parent, beyond which a generation each is too many */

typedef struct SweepGeneration {
  size_t first, count;   /* in SweepGenerations.run */
  size_t parent; /* the earlier generation whose line i our line i waits for; SWEEP_NO_PARENT: see waits */
  bool waits;            /* its runs' parents lie anywhere: it waits for all of them */
} SweepGeneration;

typedef struct SweepGenerations {
  size_t *run;           /* [count]: places in the list that was given */
  size_t count;
  SweepGeneration *generations;
  size_t generation_count;     /* 1 when no run has a parent; 0 of an empty list */
} SweepGenerations;

/* parent[i]: the place in the list of run i's parent, or one of the two above. `align` = false: generations by level
 * alone. Runs keep their order within a generation, but that those with more children come first. Caller calls
 * sweep_generations_free. */
void sweep_generations_make(const size_t *parent, size_t count, bool align, SweepGenerations *order);
void sweep_generations_free(SweepGenerations *order);

#endif
