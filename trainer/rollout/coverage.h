/* Coverage of the state space by a run (docs/results.md#state-coverage): observations, before any normalization,
 * projected onto a plane that is the same for all runs, and the share of a grid's cells that contain a state. Updated
 * by the rollout, step by step, in measured iterations; changes nothing else.
 *
 * Mayor et al. 2025, B.7, embed by UMAP, which is random, fitted to each data set and cannot be merged. Here a state x
 * of d features maps to x Omega / sqrt(d), Omega [d][2] of a Gaussian with a fixed seed: nothing is fitted, so runs,
 * ranks and iterations share one plane. Its box is fixed before any learning, by random play on the same levels: the
 * 0.5% and 99.5% quantiles of each coordinate, extended by half their distance on either side for what a policy learns
 * to reach. The play has 4096 states: 64 steps of 64 worlds, or 512 steps of 8 worlds of worker processes, in turns
 * where a rank trains on fewer (EnvForeign). Points outside count in the border's cells. Captions must say that this is
 * a random projection.
 *
 * Runs are compared at equal numbers of states (`coverage_states`), since the share of cells grows with them. */
#ifndef TRAINER_COVERAGE_H
#define TRAINER_COVERAGE_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/math/sample.h"
#include "trainer/ranks/shards.h"

/* Cells per side; two by two of the fine grid form one of the coarse. */
enum { COVERAGE_FINE = 100, COVERAGE_COARSE = 50, COVERAGE_CELLS = COVERAGE_FINE * COVERAGE_FINE };

#define COVERAGE_SECTION "coverage"
/* Checkpoint section. Counts rather than bits: the histogram's entropy needs them, and a cell is occupied where its
 * count is not 0, so the sum over ranks is equivalent to the union of the bits. */
typedef struct CoverageRecord {
  double low[2], high[2];            /* the box */
  int64_t count[COVERAGE_CELLS];     /* states so far, row of y after row of y */
} CoverageRecord;

typedef struct CoverageSummary {
  double states;                     /* states so far */
  double share_coarse, share_fine;   /* shares of occupied cells */
  double entropy_coarse, entropy_fine; /* entropy of the histogram / log(cells): 1 where all cells are equally full */
} CoverageSummary;

typedef struct Coverage {
  int features, states;              /* features of an observation; states sampled in a measured iteration, over all
                                      * ranks */
  int row;                           /* floats of an observation in memory: features, except for pixels */
  const EnvPixels *pixels;           /* the environment's; borrowed */
  double *omega;                     /* [features][2], divided by sqrt(features) */
  CoverageRecord *record;
  double low[2], high[2];            /* box computed by this run; zeros until it is */
  int64_t *fresh;                    /* [COVERAGE_CELLS] counts of this iteration, this rank */
  /* Current measured iteration: */
  Shards shards;
  int64_t iteration, total;
  uint64_t seed;
  int next;                          /* next sampled state, in the order of their rows */
  /* Environment to compute the box on, until that is done, for worlds in other processes, which are slow to start.
   * Borrowed. */
  const Env *levels;
  OpsHead head;
} Coverage;

/* Registers the buffers. levels: any batch of the environment. total: transitions per iteration. */
void coverage_register(Coverage *coverage, const Env *levels, const Shards *shards, int64_t states, int64_t total,
                       CoreArena *arena);
/* Creates the plane, the box and an empty record, after the arena's commit. The box of worlds outside this process is
 * computed by coverage_begin, unless a checkpoint's record has it. levels: borrowed. Errors as Env.clone;
 * CORE_REQUEUE: a rank was asked to stop, and so do the others that may play. */
int coverage_create(Coverage *coverage, const Env *levels, const OpsHead *head);
/* Returns the number of worlds that the box is computed on at once. */
int coverage_worlds(const Env *levels, const Shards *shards);
/* Clears the record and restores the box of coverage_create, whatever a checkpoint has left there. */
void coverage_reset(Coverage *coverage);
/* Continues from another run's record, if its box is that of these levels. Any one rank. Errors as Env.clone. */
int coverage_resume_from(Coverage *coverage, const CoverageRecord *before);
/* Begins a measured iteration, before its rollout, on the states that metrics.c samples. Errors as Env.clone. */
int coverage_begin(Coverage *coverage, uint64_t seed, int64_t iteration);
/* Adds a sampled state. */
void coverage_add_state(Coverage *coverage, const float *state);
/* Adds the observations after step t, [worlds of this rank][features]. */
void coverage_add_states(Coverage *coverage, int t, const float *shown);
/* Merges the iteration's counts into the record, after the rollout; called by all ranks. */
void coverage_finish(Coverage *coverage);

/* ---- internal parts ---------------------------------------------------------------------------------------------- */

void coverage_project(const Coverage *coverage, const float *x, double point[2]);
/* Returns the cell of the fine grid; NaN maps to the first. */
int coverage_cell(const CoverageRecord *record, const double point[2]);
CoverageSummary coverage_summarize(const int64_t count[COVERAGE_CELLS]);

#endif
