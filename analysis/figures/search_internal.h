/* Private parts of `analyze search`: its results (figure_search.c), the Pareto front of two goals (search_front.c), and
 * figures (search_draw.c). */
#ifndef ANALYSIS_SEARCH_INTERNAL_H
#define ANALYSIS_SEARCH_INTERNAL_H
#include "analysis/figures/figure.h"
#include "analysis/figures/scored.h"
#include "analysis/runs/trials.h"
#include "core/json.h"

/* Result of a trial's runs. */
typedef struct AnalysisJudged {
  AnalysisInterval score;
  size_t bad;               /* runs that failed or diverged: TPE ranks such a trial behind all others */
  size_t unfinished;        /* unfinished runs */
  size_t censored;          /* unfinished runs stopped by the sweep's rule, which will not continue */
} AnalysisJudged;

typedef struct AnalysisSearch {
  AnalysisRequest request;
  char sweep[128];          /* name of the only sweep */
  AnalysisContext context;
  AnalysisScored scored;
  AnalysisTrials trials;
  const char *search;       /* --search */
  int64_t best;             /* --best */
  AnalysisJudged *judged;           /* [trial] */
  size_t *order;            /* [trial] sorted, the best first; those without a value last */
  size_t valued;            /* number of trials with a value */
  double *main, *pair;      /* importance: [axes], [axes * axes] */
  double explained;         /* out-of-bag R^2 of the forest */
  AnalysisInterval *shares; /* [axes * axes] exact importance, main effects on the diagonal; NULL: no complete grid */
  double noise;             /* share of noise, of a complete grid, in the variance of runs */
  bool has_front;           /* whether the search has two goals, and none of them was replaced by --measure */
  AnalysisMeasure second;   /* measure of the second goal */
  AnalysisInterval *second_score; /* [trial] */
  size_t *front, front_count; /* trials that no other beats in one goal without being beaten in the other; the best of
                               * the first goal first */
} AnalysisSearch;

/* Returns a trial's score for differences: DDR and KL as logarithms. */
double analysis_search_score(const AnalysisSearch *s, size_t trial);
/* Returns a trial's value of a setting as text; "-": inactive. */
const char *analysis_search_value(const AnalysisSearch *s, size_t trial, size_t axis, CoreText *text);
/* Sorts settings by importance, the largest first. */
void analysis_search_sort_axes(const AnalysisSearch *s, size_t *axes);
/* Appends what the search is, and what its trials lack. */
void analysis_search_describe(const AnalysisSearch *s, CoreText *text);

/* Finds the front of the ranked trials, if the search has two goals. */
void analysis_search_find_front(AnalysisSearch *s);
bool analysis_search_is_on_front(const AnalysisSearch *s, size_t trial);
void analysis_search_print_front(const AnalysisSearch *s);
/* Adds the front and the second goal's values to the printed JSON. */
void analysis_search_add_front(const AnalysisSearch *s, json_t *printed);

/* Draws search-parallel, search-slices and, of two goals, search-front. */
int analysis_search_draw(AnalysisSearch *s);

#endif
