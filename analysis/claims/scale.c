/* Scale of a claim's values (claims.h). */
#include "analysis/claims/claims.h"

#include <math.h>

#include "analysis/claims/tests.h"

static const double RATIO_MARGIN = 1.25, SHARE_MARGIN = 0.2, RANGE_MARGIN = 0.05, PLATEAU_MARGIN = 0.05;

const char *analysis_comparison_prefix(AnalysisComparison comparison) {
  static const char *const prefixes[] = {"", "ratio ", "share of the task's mean "};
  return prefixes[comparison];
}

const char *analysis_comparison_name(AnalysisComparison comparison) {
  static const char *const names[] = {"difference", "ratio", "share"};
  return names[comparison];
}

double analysis_comparison_shown(AnalysisComparison comparison, double value) {
  return comparison == ANALYSIS_BY_RATIO ? exp(value) : value;
}

/* Whether all values that exist are positive, or at least not negative. */
static bool is_positive(const double *value, size_t count, bool or_zero) {
  bool positive = true;
  for (size_t i = 0; i < count; i++) positive = positive && !(or_zero ? value[i] < 0 : value[i] <= 0);
  return positive;
}

/* Whether values of the measure are changes of a score, which have no ratio. */
static bool is_change(AnalysisMeasure measure) {
  const AnalysisRange range = analysis_measure_range(measure, NULL, NULL, 0);
  return isfinite(range.low) && range.low < 0;
}

static AnalysisComparison choose(const AnalysisClaim *claim, AnalysisRange range, const AnalysisCells *cells) {
  const AnalysisTestKind kind = analysis_test_info(claim->test)->kind;
  const bool has_null = kind == ANALYSIS_OF_MEAN; /* compared with a number, not with other values */
  if (isfinite(range.high) || claim->measure == ANALYSIS_MEASURE_kl_limit_slope) return ANALYSIS_BY_DIFFERENCE;
  if (has_null || kind == ANALYSIS_OF_SWITCH || is_change(claim->measure)) return ANALYSIS_BY_SHARE;
  return is_positive(cells->score, cells->count, range.logarithmic) ? ANALYSIS_BY_RATIO : ANALYSIS_BY_SHARE;
}

/* Returns the mean absolute value of finite ones; 1 if there is none but zeros. */
static double mean_size(const double *value, size_t count) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(value[i])) continue;
    sum += fabs(value[i]);
    n++;
  }
  return sum > 0 ? sum / n : 1;
}

/* Divides the values of each stratum, and the gains of its runs (x), by the mean absolute value. */
static void divide_strata(AnalysisCells *cells, bool has_gains) {
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t first = cells->first[cells->stratum[s]], end = cells->first[cells->stratum[s + 1]];
    const double size = mean_size(cells->score + first, end - first);
    for (size_t i = first; i < end; i++) {
      cells->score[i] /= size;
      if (has_gains) cells->x[i] /= size;
    }
  }
}

/* Relates late gains to all that the cell gained. With g the late gain, G the gain since the start and S the mean of
 * |G|, (g - margin x G) / S + margin is on average below the margin where g is below margin x G. S is the mean gain if
 * all runs gained; if not, as in a cell that learned nothing, the value keeps its sign and its spread. */
static void relate_gains(const AnalysisTable *table, AnalysisCells *cells) {
  for (size_t c = 0; c < cells->cells; c++) {
    double size = 0;
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++)
      size += fabs(table->metrics[cells->run[i]].value[ANALYSIS_MEASURE_total_gain]);
    size /= (double)(cells->first[c + 1] - cells->first[c]);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const double gained = table->metrics[cells->run[i]].value[ANALYSIS_MEASURE_total_gain];
      cells->x[i] = size > 0 ? (cells->x[i] - PLATEAU_MARGIN * gained) / size + PLATEAU_MARGIN : 1;
    }
  }
}

/* Takes logarithms of an x measure that is averaged as such. */
static void scale_x(const AnalysisClaim *claim, AnalysisCells *cells) {
  AnalysisMeasure x;
  if (analysis_test_info(claim->test)->kind != ANALYSIS_OF_POINTS) return;
  if (analysis_measure_find(claim->key, &x) != CORE_OK || !analysis_measure_range(x, NULL, NULL, 0).logarithmic) return;
  for (size_t i = 0; i < cells->count; i++) cells->x[i] = log(cells->x[i]);
}

void analysis_cells_scale(const AnalysisTable *table, AnalysisCells *cells, AnalysisClaimResult *f) {
  const AnalysisRange range = analysis_measure_range(f->claim->measure, table->metrics, cells->run, cells->count);
  const bool has_margin = analysis_test_info(f->claim->test)->margin;
  f->comparison = choose(f->claim, range, cells);
  if (has_margin && f->comparison == ANALYSIS_BY_DIFFERENCE)
    f->margin = isfinite(range.high) ? RANGE_MARGIN * range.high
                                     : SHARE_MARGIN * mean_size(cells->score, cells->count);
  else if (has_margin) f->margin = f->comparison == ANALYSIS_BY_RATIO ? log(RATIO_MARGIN) : SHARE_MARGIN;

  if (analysis_test_is_plateau(f->claim->test)) {
    f->margin = PLATEAU_MARGIN;
    relate_gains(table, cells);
  }

  if (f->comparison == ANALYSIS_BY_SHARE)
    divide_strata(cells, analysis_test_info(f->claim->test)->kind == ANALYSIS_OF_SWITCH);
  const size_t count = f->comparison == ANALYSIS_BY_RATIO ? cells->count : 0;
  for (size_t i = 0; i < count; i++)
    cells->score[i] = log(cells->score[i]);
  scale_x(f->claim, cells);
}
