/* Bootstrap of the best candidate (winner.h). */
#include "analysis/statistics/winner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/interval.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* Computes the means of candidates, in which their tasks weigh equally: mean[count][budgets]. drawn: times that each
 * run is drawn; NULL: once. */
static void average(const AnalysisCandidates *c, const double *of, const uint32_t *drawn, double *mean) {
  memset(mean, 0, c->count * c->budgets * sizeof *mean);
  for (size_t s = 0, begin = 0, end = 0; s < c->strata; s++) {
    double *row = mean + c->of[s] * c->budgets;
    if (s == end) /* a new candidate */
      for (begin = s; end < c->strata && c->of[end] == c->of[s];) end++;
    const double share = 1 / ((double)(c->first[s + 1] - c->first[s]) * (double)(end - begin));
    for (size_t r = c->first[s]; r < c->first[s + 1]; r++) {
      const double weight = drawn ? share * drawn[r] : share;
      if (weight > 0) {
        for (size_t b = 0; b < c->budgets; b++) row[b] += weight * of[r * c->budgets + b];
      }
    }
  }
}

/* Moves the resampled means away from the means, by the factor of each candidate. */
static void widen(const AnalysisCandidates *c, const double *mean, const double *widening, double *resampled) {
  for (size_t i = 0; i < c->count * c->budgets; i++)
    resampled[i] = mean[i] + widening[i / c->budgets] * (resampled[i] - mean[i]);
}

/* Returns the candidate with the highest score at a budget. */
static size_t choose(const AnalysisCandidates *c, const double *score, size_t budget) {
  size_t best = 0;
  for (size_t i = 1; i < c->count; i++)
    if (score[i * c->budgets + budget] > score[best * c->budgets + budget]) best = i;
  return best;
}

/* Computes the factor of each candidate; false: one of them has too few runs. */
static bool find_widenings(const AnalysisCandidates *c, double level, double *widening) {
  bool has_runs = true;
  for (size_t s = 0, end; s < c->strata; s = end) {
    for (end = s; end < c->strata && c->of[end] == c->of[s];) end++;
    size_t *first = core_memory_allocate((end - s + 1) * sizeof *first);
    for (size_t t = s; t <= end; t++) first[t - s] = c->first[t] - c->first[s];
    const AnalysisScores scores = {NULL, first, end - s};
    has_runs = has_runs && analysis_interval_has_runs(&scores);
    widening[c->of[s]] = analysis_replicates_widening(first, end - s, level);
    free(first);
  }
  return has_runs;
}

/* ---- replicates -------------------------------------------------------------------------------------------------- */

/* Results of the replicates, [budgets][replicates]. */
typedef struct Replicates {
  double *value;
  double *overrated;         /* score of the chosen candidate in the replicate minus that in the data */
  double *moved;             /* likewise, of the candidate that is best in the data */
  uint32_t *chosen;
} Replicates;

static void resample(const AnalysisCandidates *c, const AnalysisResampling *resampling, const double *score,
                     const double *value, const double *widening, const AnalysisWinner *winner,
                     const Replicates *results) {
  const size_t cells = c->count * c->budgets, n = resampling->replicates;

#pragma omp parallel
  {
    double *scores = core_memory_allocate(2 * cells * sizeof *scores), *values = scores + cells;
    uint32_t *drawn = core_memory_allocate((c->first[c->strata] + 1) * sizeof *drawn);
#pragma omp for schedule(static)
    for (size_t r = 0; r < n; r++) {
      analysis_stratified_draw(c->first, c->strata, resampling->seed, (uint32_t)r, 0, drawn);

      average(c, c->score, drawn, scores);
      average(c, c->value, drawn, values);
      widen(c, score, widening, scores);
      widen(c, value, widening, values);

      for (size_t b = 0; b < c->budgets; b++) {
        const size_t best = choose(c, scores, b), chosen = best * c->budgets + b;
        results->chosen[b * n + r] = (uint32_t)best;
        results->value[b * n + r] = values[chosen];
        results->overrated[b * n + r] = scores[chosen] - score[chosen];

        const size_t same = winner[b].candidate * c->budgets + b;
        results->moved[b * n + r] = scores[same] - score[same];
      }
    }
    free(scores);
    free(drawn);
  }
}

/* Summarizes the replicates of one budget. */
static void summarize(const Replicates *results, size_t b, const AnalysisResampling *resampling,
                      AnalysisWinner *winner) {
  const size_t n = resampling->replicates;
  const double *overrated = results->overrated + b * n;
  size_t same = 0;
  for (size_t r = 0; r < n; r++) same += results->chosen[b * n + r] == winner->candidate;
  winner->share = (double)same / (double)n;

  const size_t runs = winner->value.n;
  winner->value = analysis_replicates_interval(winner->value.center, results->value + b * n, n, resampling->level, 1);
  /* Replicates that underrate the best choose another: only the distances of the best itself have a lower tail. */
  const AnalysisInterval over = analysis_replicates_interval(0, overrated, n, resampling->level, 1);
  const AnalysisInterval moved = analysis_replicates_interval(0, results->moved + b * n, n, resampling->level, 1);
  const double score = winner->score.center;
  winner->score = (AnalysisInterval){score - analysis_mean(overrated, n), score - over.high, score - moved.low, runs};
  winner->value.n = runs;
}

void analysis_winners(const AnalysisCandidates *c, const AnalysisResampling *resampling, AnalysisWinner *winner,
                      AnalysisInterval *shift) {
  const size_t cells = c->count * c->budgets, n = resampling->replicates;
  double *score = core_memory_allocate((2 * cells + c->count) * sizeof *score), *value = score + cells;
  double *widening = value + cells;

  average(c, c->score, NULL, score);
  average(c, c->value, NULL, value);

  for (size_t b = 0; b < c->budgets; b++) {
    const size_t best = choose(c, score, b), chosen = best * c->budgets + b;
    size_t runs = 0;
    for (size_t s = 0; s < c->strata; s++) runs += c->of[s] == best ? c->first[s + 1] - c->first[s] : 0;
    winner[b] = (AnalysisWinner){best, NAN, {value[chosen], NAN, NAN, runs}, {score[chosen], NAN, NAN, runs}};
  }
  *shift = (AnalysisInterval){winner[c->budgets - 1].value.center - winner[0].value.center, NAN, NAN, 0};

  if (find_widenings(c, resampling->level, widening)) {
    double *block = core_memory_allocate(3 * c->budgets * n * sizeof *block);
    const Replicates results = {block, block + c->budgets * n, block + 2 * c->budgets * n,
                                core_memory_allocate(c->budgets * n * sizeof *results.chosen)};
    resample(c, resampling, score, value, widening, winner, &results);
    for (size_t b = 0; b < c->budgets; b++) summarize(&results, b, resampling, &winner[b]);

    double *difference = results.overrated; /* no longer needed */
    for (size_t r = 0; r < n; r++) difference[r] = results.value[(c->budgets - 1) * n + r] - results.value[r];
    *shift = analysis_replicates_interval(shift->center, difference, n, resampling->level, 1);
    free(block);
    free(results.chosen);
  }

  free(score);
}
