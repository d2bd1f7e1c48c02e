/* How much of the state space a run has seen (spec metrics.md 4.5): observations, as the environment shows them,
 * projected onto a plane that is the same for all runs, and the share of a grid's cells that some state has fallen
 * into. Fed by the rollout, step after step, in the iterations that are measured; it changes nothing.
 *
 * P002 embeds by UMAP, which is random, fitted to each data set and can not be merged. Here a state x of d features
 * goes to x Omega / sqrt(d), Omega [d][2] of a Gaussian with a fixed seed: nothing is fitted, so runs, ranks and
 * iterations share one plane. Its box is fixed before any learning, by random play on the same levels: the 0.5 % and
 * 99.5 % quantiles of each coordinate, with half their distance more on either side for what a policy learns to reach.
 * The play has 4096 states: 64 steps of 64 worlds, or 512 steps of 8 worlds of worker processes, which take turns where
 * a rank trains on fewer (EnvForeign).
 * Points outside go to the border's cells. Captions must say that this is a random projection.
 *
 * Runs are compared at equal numbers of states (`coverage_states`), since a share of cells grows with them. */
#ifndef TRAINER_COVERAGE_H
#define TRAINER_COVERAGE_H
#include "core/device/arena.h"
#include "trainer/envs/env.h"
#include "trainer/math/sample.h"
#include "trainer/ranks/shards.h"

/* Cells along a side; two by two of the fine grid make one of the coarse. */
enum { COVERAGE_FINE = 100, COVERAGE_COARSE = 50, COVERAGE_CELLS = COVERAGE_FINE * COVERAGE_FINE };

#define COVERAGE_SECTION "coverage"
/* All that a checkpoint keeps. Counts and not bits: the histogram's entropy needs them, and a cell is occupied where
 * its count is not 0, so the sum over ranks says what the bits' union would. */
typedef struct CoverageRecord {
  double low[2], high[2];            /* the box */
  int64_t count[COVERAGE_CELLS];     /* states so far, row of y after row of y */
} CoverageRecord;

typedef struct CoverageSummary {
  double states;                     /* seen so far */
  double share_coarse, share_fine;   /* of cells that are occupied */
  double entropy_coarse, entropy_fine; /* of the histogram / log(cells): 1 where all are equally full */
} CoverageSummary;

typedef struct Coverage {
  int features, states;              /* of an observation; looked at in a measured iteration, by all ranks */
  int row;                           /* numbers of memory that an observation takes: features, but where pixels */
  const EnvPixels *pixels;           /* of the environment; borrowed */
  double *omega;                     /* [features][2], divided by sqrt(features) */
  CoverageRecord *record;
  double low[2], high[2];            /* the box as it was played here; zeros where it is played later */
  int64_t *fresh;                    /* [COVERAGE_CELLS] of this iteration, this rank */
  /* Of the iteration that is measured. */
  Shards shards;
  int64_t iteration, total;
  uint64_t seed;
  int next;                          /* state, in the order of their rows */
  /* Worlds to play the box on, while it is not there: of processes of their own, which take long to start. Borrowed. */
  const Env *levels;
  OpsHead head;
} Coverage;

/* levels: any batch of the environment. total: transitions of an iteration. */
void coverage_register(Coverage *coverage, const Env *levels, const Shards *shards, int64_t states, int64_t total,
                       CoreArena *arena);
/* After the arena's commit: the plane, the box and an empty record. The box of worlds outside of this process is played
 * by coverage_begin, unless the record of a checkpoint has it. levels: borrowed. As Env.sibling fails; CORE_REQUEUE: a
 * rank was told to stop. So do the others that may play. */
int coverage_create(Coverage *coverage, const Env *levels, const OpsHead *head);
/* Worlds at once that the box is played on. */
int coverage_worlds(const Env *levels, const Shards *shards);
/* No state was seen, and the box is that of coverage_create, whatever a checkpoint has left there. */
void coverage_reset(Coverage *coverage);
/* Goes on from another run's record, where its box is that of these levels. Any one rank. As Env.sibling fails. */
int coverage_resume_from(Coverage *coverage, const CoverageRecord *before);
/* Before a rollout that is measured. Looks at the states that metrics.c takes (metrics_state). As Env.sibling fails. */
int coverage_begin(Coverage *coverage, uint64_t seed, int64_t iteration);
/* What the environment shows after step t of it, [worlds of this rank][features]. */
void coverage_add_states(Coverage *coverage, int t, const float *shown);
/* After it, all ranks together: the record goes on. */
void coverage_finish(Coverage *coverage);

/* ---- its parts --------------------------------------------------------------------------------------------------- */

void coverage_project(const Coverage *coverage, const float *x, double point[2]);
/* The cell of the fine grid; NaN goes to the first. */
int coverage_cell(const CoverageRecord *record, const double point[2]);
CoverageSummary coverage_summarise(const int64_t count[COVERAGE_CELLS]);

#endif
