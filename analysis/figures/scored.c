/* Values of runs for figures (scored.h); measures.c reads them. */
#include "analysis/figures/scored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/lines.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"

const char analysis_scored_query[] = "measures of each run from evaluation(solve_rate) and iteration(kl, ddr, "
                                     "steps_per_second, ...) WHERE run_id = ?1 AND "
                                     "transitions <= ?2";

int analysis_scored_check(AnalysisScored *scored) {
  if (!(scored->budget >= 0)) return core_error(CORE_USAGE, "--budget: expected a number of transitions, at least 1");
  int code = analysis_measure_find(scored->name ? scored->name : "final", &scored->measure);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "--measure");
}

/* Returns a value for means; NaN if it is not measured, or has no logarithm: an infinite KL, and the DDR of 0 that
 * follows from it. */
static double value_for_means(const AnalysisScored *scored, AnalysisMeasure measure, size_t run) {
  const double value = scored->runs[run].value[measure];
  const bool logarithmic = analysis_measure_range(measure, NULL, NULL, 0).logarithmic;
  return isfinite(value) && (!logarithmic || value > 0) ? value : NAN;
}

int analysis_scored_limit_groups(const AnalysisScored *scored, const AnalysisSelection *selection,
                                 AnalysisGrouping *groups) {
  double *value = core_memory_allocate((selection->count + 1) * sizeof *value);
  for (size_t r = 0; r < selection->count; r++) value[r] = analysis_scored_value(scored, r);
  const int code = analysis_lines_limit(selection, groups, value);
  free(value);
  return code;
}

double analysis_scored_value(const AnalysisScored *scored, size_t run) {
  return value_for_means(scored, scored->measure, run);
}

typedef struct Member { size_t group; bool rated; } Member;

static int by_member(const void *left, const void *right) {
  const Member *a = left, *b = right;
  return a->group != b->group ? (a->group > b->group) - (a->group < b->group) : (int)a->rated - (int)b->rated;
}

int analysis_scored_refuse_mixed(const AnalysisScored *scored, const AnalysisContext *context,
                                 const AnalysisGrouping *const *groupings, size_t count) {
  const size_t runs = context->selection.count;
  if (!analysis_measure_is_score(scored->measure) || analysis_measure_is_return(scored->measure)) return CORE_OK;

  Member *member = core_memory_allocate((runs + 1) * sizeof *member);
  size_t members = 0;
  bool mixed = false;

  for (size_t r = 0; r < runs; r++) {
    if (isnan(analysis_scored_value(scored, r))) continue;

    member[members] = (Member){0, scored->runs[r].rated};
    for (size_t g = 0; g < count; g++) {
      if (!groupings[g]) continue;
      member[members].group = member[members].group * (groupings[g]->count + 1) + groupings[g]->group_of[r];
    }
    members++;
  }

  qsort(member, members, sizeof *member, by_member);
  for (size_t i = 1; i < members; i++)
    mixed = mixed || (member[i].group == member[i - 1].group && member[i].rated != member[i - 1].rated);

  free(member);
  if (!mixed) return CORE_OK;
  return core_error(CORE_FAIL, "--measure %s: a mean over tasks would mix solve rates with returns; choose tasks with "
                    "--where env.task=..., or keep them apart with --group or --panel task, or use final_return",
                    analysis_measure_name(scored->measure));
}

/* Whether all scores are returns, because no run has a solve rate. */
static bool is_return(const AnalysisScored *scored, const AnalysisContext *context) {
  size_t returns = 0;
  for (size_t r = 0; r < context->selection.count; r++) {
    const AnalysisRunMetrics *run = &scored->runs[r];
    if (isnan(run->value[ANALYSIS_MEASURE_final])) continue;
    if (run->rated || isnan(run->value[ANALYSIS_MEASURE_final_return])) return false;
    returns++;
  }
  return returns > 0;
}

bool analysis_scored_is_log(const AnalysisScored *scored) {
  return analysis_measure_range(scored->measure, NULL, NULL, 0).logarithmic;
}

/* Formats the title of returns: "final return", or of a program's goal "final reward". */
static void format_return_title(AnalysisScored *scored, const AnalysisContext *context) {
  const char *kind = scored->measure == ANALYSIS_MEASURE_final ? "final" : "max";
  if (scored->measure != ANALYSIS_MEASURE_final && scored->measure != ANALYSIS_MEASURE_best) return;
  if (!is_return(scored, context)) return;
  snprintf(scored->return_title, sizeof scored->return_title, "%s %s", kind, context->selection.return_name);
}

int analysis_scored_read(AnalysisScored *scored, const AnalysisContext *context) {
  const AnalysisSelection *selection = &context->selection;
  size_t runs = selection->count - selection->repeats, found = 0, evaluated = 0;
  const bool normalized = scored->measure == ANALYSIS_MEASURE_normalized_score;
  const char *level_set = context->level_set[0] ? context->level_set : NULL;

  if (normalized) TRY(analysis_scale_common(selection, &scored->scale));
  TRY(analysis_measures_read(context->database, selection, level_set, scored->budget, &scored->runs));

  scored->count = selection->count;
  scored->task_of = core_memory_allocate((selection->count + 1) * sizeof *scored->task_of);
  scored->tasks = analysis_tasks_find(selection, scored->task_of);

  for (size_t r = 0; r < runs; r++) {
    bool has = !isnan(analysis_scored_value(scored, r));
    found += has;
    evaluated += !isnan(scored->runs[r].value[ANALYSIS_MEASURE_final]);
    scored->missing += !has;
    scored->unfinished += has && !scored->runs[r].ended;
    scored->censored += has && scored->runs[r].censored;
  }

  format_return_title(scored, context);
  if (found > 0) return CORE_OK;
  if (normalized && evaluated > 0) return analysis_scale_missing(selection);
  return core_error(CORE_FAIL, "%s: no run has a value of %s yet%s", context->path,
                    analysis_measure_name(scored->measure),
                    scored->budget > 0 ? " inside this budget" : "; see `sweep status`");
}

/* ---- aggregates ------------------------------------------------------------------------------------------------- */

enum { BOOTSTRAP_SEED = 8 };
const char analysis_bootstrap_description[] = "95 % stratified percentile bootstrap over tasks, from three runs on";

int analysis_aggregate_find(const char *name, AnalysisAggregate *aggregate) {
  const char *names[ANALYSIS_AGGREGATES];
  for (size_t i = 0; i < ANALYSIS_AGGREGATES; i++) {
    names[i] = analysis_aggregate_name((AnalysisAggregate)i);
    *aggregate = (AnalysisAggregate)i;
    if (strcmp(names[i], name) == 0) return CORE_OK;
  }
  const char *near = core_text_nearest(name, names, ANALYSIS_AGGREGATES);
  return core_error(CORE_USAGE, "--aggregate %s: %s%s", name,
                    near ? "did you mean " : "expected mean, median, iqm or optimality gap", near ? near : "");
}

int analysis_bootstrap_find(const char *name, bool *bootstrap) {
  *bootstrap = name && strcmp(name, "bootstrap") == 0;
  if (!name || *bootstrap || strcmp(name, "t") == 0) return CORE_OK;
  return core_error(CORE_USAGE, "--interval %s: expected t or bootstrap", name);
}

const char *analysis_aggregate_title(AnalysisAggregate aggregate) {
  return aggregate == ANALYSIS_AGGREGATE_IQM ? "IQM" : analysis_aggregate_name(aggregate);
}

/* Copies the values of runs and their tasks into [count] arrays, which the caller frees. */
static void take_values(const AnalysisScored *scored, AnalysisMeasure measure, const size_t *run, size_t count,
                        double **value, size_t **task) {
  *value = core_memory_allocate((count + 1) * sizeof **value);
  *task = core_memory_allocate((count + 1) * sizeof **task);
  for (size_t i = 0; i < count; i++) {
    (*value)[i] = value_for_means(scored, measure, run[i]);
    (*task)[i] = scored->task_of[run[i]];
  }
}

void analysis_scored_bootstraps(const AnalysisScored *scored, AnalysisMeasure measure, AnalysisDraws *draws,
                                const AnalysisScores *scores, const AnalysisAggregate *wanted, size_t count,
                                AnalysisInterval *interval) {
  const bool logarithmic = analysis_measure_range(measure, NULL, NULL, 0).logarithmic;
  const size_t n = scores->tasks ? scores->first[scores->tasks] : 0;
  double *value = core_memory_allocate((n + 1) * sizeof *value);
  for (size_t i = 0; i < n; i++)
    value[i] = !logarithmic ? scores->score[i] : scores->score[i] > 0 ? log(scores->score[i]) : NAN;
  const AnalysisScores of = {value, scores->first, scores->tasks};
  analysis_stratified_aggregates(draws, &of, wanted, count, ANALYSIS_REPLICATES, 0.95, BOOTSTRAP_SEED, interval);
  for (size_t k = 0; k < count; k++) {
    AnalysisInterval *i = &interval[k];
    if (logarithmic) *i = (AnalysisInterval){exp(i->center), exp(i->low), exp(i->high), i->n};
    if (!analysis_interval_has_runs(scores)) i->low = i->high = NAN;
  }
  free(value);
}

AnalysisInterval analysis_scored_bootstrap(const AnalysisScored *scored, AnalysisMeasure measure,
                                           AnalysisAggregate aggregate, const size_t *run, size_t count) {
  double *value;
  size_t *task;
  take_values(scored, measure, run, count, &value, &task);
  AnalysisTaskScores sorted = analysis_tasks_scores(value, task, count, scored->tasks);
  AnalysisInterval interval;
  analysis_scored_bootstraps(scored, measure, NULL, &sorted.scores, &aggregate, 1, &interval);
  analysis_tasks_scores_free(&sorted);
  free(value);
  free(task);
  return interval;
}

AnalysisInterval analysis_scored_interval(const AnalysisScored *scored, AnalysisMeasure measure,
                                          AnalysisAggregate aggregate, const size_t *run, size_t count) {
  double *value;
  size_t *task;
  take_values(scored, measure, run, count, &value, &task);
  const AnalysisInterval interval = analysis_tasks_interval(
    value, task, count, scored->tasks, aggregate, analysis_measure_range(measure, scored->runs, run, count));
  free(value);
  free(task);
  return interval;
}

void analysis_scored_free(AnalysisScored *scored) {
  free(scored->runs);
  free(scored->task_of);
  scored->task_of = NULL;
  scored->runs = NULL;
}

/* Whether the measure is a solve rate, not a return or a distance. */
bool analysis_scored_is_rate(const AnalysisScored *scored, const AnalysisContext *context) {
  bool score = scored->measure == ANALYSIS_MEASURE_final || scored->measure == ANALYSIS_MEASURE_best ||
               scored->measure == ANALYSIS_MEASURE_early || scored->measure == ANALYSIS_MEASURE_normalized_score;
  return score && analysis_measure_range(scored->measure, scored->runs, NULL, context->selection.count).low == 0;
}

const char *analysis_scored_title(const AnalysisScored *scored, const AnalysisContext *context) {
  const bool final =
    scored->measure == ANALYSIS_MEASURE_final || scored->measure == ANALYSIS_MEASURE_normalized_score;
  if (analysis_scored_is_rate(scored, context) && final) return "final solve rate";
  if (analysis_scored_is_rate(scored, context) && scored->measure == ANALYSIS_MEASURE_best) return "max solve rate";
  if (scored->return_title[0]) return scored->return_title;
  if (scored->scale == ANALYSIS_SCALE_HUMAN) return "human-normalized score";
  if (scored->measure == ANALYSIS_MEASURE_ddr) return "DDR (transitions per nat)";
  if (scored->measure == ANALYSIS_MEASURE_kl) return "mean KL (nat)";
  return analysis_measure_label(scored->measure);
}

void analysis_scored_describe(const AnalysisScored *scored, CoreText *text) {
  char count[32];
  if (scored->budget > 0) core_text_appendf(text, " Inside %s transitions.", core_text_count(scored->budget, count));
  if (scored->measure == ANALYSIS_MEASURE_coverage)
    core_text_append(text,
                     " Coverage: cells of a 50 x 50 grid that some state fell into, in a random projection of the "
                     "observations, where all runs of a task had looked at as many states.");
  core_text_append(text, analysis_scale_description(scored->scale));
  if (analysis_scored_is_log(scored)) core_text_append(text, " Means are geometric.");
  if (scored->censored)
    core_text_appendf(text, " Censored (stopped by rule), with current values: %zu.", scored->censored);
  if (scored->unfinished > scored->censored)
    core_text_appendf(text, " Unfinished, with current values: %zu.", scored->unfinished - scored->censored);
  if (scored->missing) core_text_appendf(text, " Not plotted, without a value: %zu.", scored->missing);
}
