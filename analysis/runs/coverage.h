/* State coverage: the states kept by runs (trainer/rollout/visited.h: runs/<id>/states.<iteration>.npy), a plane fitted
 * to all compared runs, and the cells of a grid in it (docs/results.md#visited-states; Mayor et al. 2025, B.7, embed
 * with UMAP instead, which is random and depends on the data set). Independent of databases, groups and plots. */
#ifndef ANALYSIS_COVERAGE_H
#define ANALYSIS_COVERAGE_H
#include <stdbool.h>
#include <stddef.h>

#include "core/files.h"

/* Cells per side; two by two fine cells make a coarse one. */
enum { ANALYSIS_COVERAGE_COARSE = 50, ANALYSIS_COVERAGE_FINE = 100 };

/* ---- states ------------------------------------------------------------------------------------------------------ */

typedef struct AnalysisStates {
  float *rows;          /* [count][features] sorted by iteration */
  double *iteration;    /* [count] */
  size_t count, features;
} AnalysisStates;

/* Reads all states of a run directory; count 0 if it has none. CORE_FAIL: a file is not a float32 matrix written by
 * the trainer, is truncated, or has another number of features than the previous ones; the message names it. */
int analysis_states_read(const char *directory, AnalysisStates *states);
/* Counts the states from the files' headers. */
int analysis_states_count(const char *directory, size_t *count);
void analysis_states_free(AnalysisStates *states);
/* Returns the row of state i of `want` states that are evenly spaced over all. */
size_t analysis_states_spread(const AnalysisStates *states, size_t i, size_t want);

/* ---- the plane --------------------------------------------------------------------------------------------------- */

/* Plane of the two directions in which standardized states vary most. */
typedef struct AnalysisPlane {
  size_t features;
  double *mean, *scale; /* [features]; scale 1 / population sd, 0 for ignored constants */
  double *axis[2];      /* [features] each, length 1, with its largest component positive */
  double share[2];      /* share of the variance of all standardized features */
  double low[2], high[2]; /* bounding box: 0.5 % and 99.5 % quantiles of the fitted states */
} AnalysisPlane;

/* Fits the plane to states [count][features], ignoring those with NaN or infinity. Bit-reproducible for any number
 * of threads. CORE_FAIL: fewer than two usable states, or all are equal. */
int analysis_plane_fit(const float *states, size_t count, size_t features, AnalysisPlane *plane);
void analysis_plane_free(AnalysisPlane *plane);
/* Projects a state to coordinates in the bounding box, 0..1 inside. Returns false if it is not finite. */
bool analysis_plane_project(const AnalysisPlane *plane, const float *state, double point[2]);

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Returns the cell of a point of the box; points outside belong to border cells. */
size_t analysis_coverage_cell(const double point[2]);

typedef struct AnalysisCoverage {
  double coarse, fine;  /* share of cells with a state */
  double entropy;       /* entropy of the coarse histogram / log(cells) */
} AnalysisCoverage;

/* Computes coverage from counts [FINE * FINE]; all NaN without a state. */
AnalysisCoverage analysis_coverage_of(const size_t *cells);

#endif
