/* Returns of games on a scale on which games can be averaged: 0 is a policy that acts at random, 1 a person (Atari) or
 * the best that can be had (Procgen). normalized.def has the constants and their sources. */
#ifndef ANALYSIS_NORMALIZED_H
#define ANALYSIS_NORMALIZED_H
#include "analysis/runs/select.h"

/* How a task's scores become comparable. Solve rates are so already: they lie between 0 and 1 on every task. */
typedef enum AnalysisScale {
  ANALYSIS_SCALE_NONE,       /* no constants */
  ANALYSIS_SCALE_HUMAN,      /* Atari: (return - random) / (human - random) */
  ANALYSIS_SCALE_MIN_MAX,    /* Procgen: (return - min) / (max - min) */
} AnalysisScale;

/* The returns that are 0 and 1. scale NONE: low, high are NaN. */
typedef struct AnalysisBounds { AnalysisScale scale; double low, high; } AnalysisBounds;

/* By env.task: atari/<Game>, and the same game as gym/ALE/<Game>-v5 and envpool/<Game>-v5; procgen/<game> by
 * procgen.mode. */
AnalysisBounds analysis_bounds_of(const CoreConfig *config);
/* NaN where the scale is NONE. Not clipped: below 0 is worse than at random. */
double analysis_normalize(const AnalysisBounds *bounds, double episode_return);

/* The scale that all runs have in common; NONE: none of them has constants. CORE_FAIL where they have different ones:
 * the message names a task of each and the way out. */
int analysis_scale_common(const AnalysisSelection *selection, AnalysisScale *scale);
/* CORE_FAIL: runs whose tasks have neither constants nor a solve rate; names the first's task, and the way out. */
int analysis_scale_missing(const AnalysisSelection *selection);
/* " Human-normalised: ...", for captions; "" for NONE. */
const char *analysis_scale_words(AnalysisScale scale);

#endif
