/* Normalized returns, which can be averaged over games: 0 is a random policy, 1 a human (Atari) or the maximum
 * (Procgen). normalized.def has the constants and their sources. */
#ifndef ANALYSIS_NORMALIZED_H
#define ANALYSIS_NORMALIZED_H
#include "analysis/runs/select.h"

/* Scale of a task's scores. Solve rates need none: they are between 0 and 1 on every task. */
typedef enum AnalysisScale {
  ANALYSIS_SCALE_NONE,       /* no constants */
  ANALYSIS_SCALE_HUMAN,      /* Atari: (return - random) / (human - random) */
  ANALYSIS_SCALE_MIN_MAX,    /* Procgen: (return - min) / (max - min) */
} AnalysisScale;

/* Returns that map to 0 and 1; NaN for scale NONE. */
typedef struct AnalysisBounds { AnalysisScale scale; double low, high; } AnalysisBounds;

/* Returns the bounds for env.task: atari/<Game>, the same game as gym/ALE/<Game>-v5 and envpool/<Game>-v5, and
 * procgen/<game> by procgen.mode. */
AnalysisBounds analysis_bounds_of(const AnalysisConfig *config);
/* Normalizes a return; NaN for scale NONE. Not clipped: below 0 is worse than random. */
double analysis_normalize(const AnalysisBounds *bounds, double episode_return);

/* Finds the scale shared by all runs; NONE: none has constants. CORE_FAIL: they have different ones; the message
 * names a task of each and the remedy. */
int analysis_scale_common(const AnalysisSelection *selection, AnalysisScale *scale);
/* Returns CORE_FAIL for runs whose tasks have neither constants nor a solve rate; the message names the first task
 * and the remedy. */
int analysis_scale_missing(const AnalysisSelection *selection);
/* Returns " Human-normalized: ..." for captions; "" for NONE. */
const char *analysis_scale_description(AnalysisScale scale);

#endif
