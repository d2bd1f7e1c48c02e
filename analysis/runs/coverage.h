/* How much of the state space runs have visited: their kept states (trainer/rollout/visited.h:
 * runs/<id>/states.<iteration>.npy), a plane fitted to all runs that are compared, and the cells of a grid in it (spec
 * metrics.md 4.5; P002 B.7, which embeds by UMAP: random, and fitted anew to each data set). Knows nothing of
 * databases, groups or plots. */
#ifndef ANALYSIS_COVERAGE_H
#define ANALYSIS_COVERAGE_H
#include <stdbool.h>
#include <stddef.h>

#include "core/files.h"

/* Cells along a side; two by two of the fine grid make one of the coarse. */
enum { ANALYSIS_COVERAGE_COARSE = 50, ANALYSIS_COVERAGE_FINE = 100 };

/* ---- states ------------------------------------------------------------------------------------------------------ */

typedef struct AnalysisStates {
  float *rows;          /* [count][features], in the order of iterations */
  double *iteration;    /* [count] */
  size_t count, features;
} AnalysisStates;

/* All states of a run's folder; none (count 0) when it keeps none. CORE_FAIL: a file that is no float32 matrix as the
 * trainer writes it, is cut short, or has another number of features than those before; the message names it. */
int analysis_states_read(const char *folder, AnalysisStates *states);
/* How many there are, from the files' headers alone. */
int analysis_states_count(const char *folder, size_t *count);
void analysis_states_free(AnalysisStates *states);
/* The row of state i of `want` that are spread evenly over all. */
size_t analysis_states_spread(const AnalysisStates *states, size_t i, size_t want);

/* ---- the plane --------------------------------------------------------------------------------------------------- */

/* The two directions in which standardised states vary most. */
typedef struct AnalysisPlane {
  size_t features;
  double *mean, *scale; /* [features]; scale 1 / population sd, 0: constant, left out */
  double *axis[2];      /* [features] each, of length 1, the component of largest magnitude positive */
  double share[2];      /* of the variance of all standardised features */
  double low[2], high[2]; /* the box: 0.5 % and 99.5 % quantiles of the fitted states */
} AnalysisPlane;

/* Fits to states [count][features]; those with a NaN or infinity are passed over. The same states give the same bits,
 * whatever the number of threads. CORE_FAIL: fewer than two usable states, or all are equal. */
int analysis_plane_fit(const float *states, size_t count, size_t features, AnalysisPlane *plane);
void analysis_plane_free(AnalysisPlane *plane);
/* Where the state lies in the box, 0..1 each (beyond: outside of it). false: it is not finite. */
bool analysis_plane_place(const AnalysisPlane *plane, const float *state, double place[2]);

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* The cell of a place of the box; what lies outside belongs to the border's cells. */
size_t analysis_coverage_cell(const double place[2]);

typedef struct AnalysisCoverage {
  double coarse, fine;  /* share of cells that hold a state */
  double entropy;       /* of the coarse histogram / log(cells) */
} AnalysisCoverage;

/* Of counts [FINE * FINE]; all NaN without a state. */
AnalysisCoverage analysis_coverage_of(const size_t *cells);

#endif
