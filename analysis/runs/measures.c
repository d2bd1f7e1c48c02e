/* Reads the measures of runs from the database (measures.h): per run one statement over its evaluations and a few
 * over parts of its iterations, so that long runs cost little more than short ones. */
#include "analysis/runs/measures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/budget.h"
#include "analysis/runs/normalized.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/database/query.h"

#define ANALYSIS_RANGE_CHANGE ((AnalysisRange){-1, 1, false})
#define ANALYSIS_RANGE_PERCENT ((AnalysisRange){0, 100, false})

static const struct { const char *name, *words; AnalysisRange range; } measures[ANALYSIS_MEASURES] = {
#define X(name, words, range) {#name, words, ANALYSIS_RANGE_##range},
#include "core/config/measures.def"
#undef X
};

const char *analysis_measure_name(AnalysisMeasure measure) {
  return measure < ANALYSIS_MEASURES ? measures[measure].name : analysis_measure_columns_get(measure)->name;
}

const char *analysis_measure_label(AnalysisMeasure measure) {
  return measure < ANALYSIS_MEASURES ? measures[measure].words : analysis_measure_columns_label(measure);
}

bool analysis_measure_is_score(AnalysisMeasure measure) { return measure <= ANALYSIS_MEASURE_normalized_score; }

bool analysis_measure_is_return(AnalysisMeasure measure) {
  return measure == ANALYSIS_MEASURE_final_return || measure == ANALYSIS_MEASURE_best_return;
}

AnalysisRange analysis_measure_range(AnalysisMeasure measure, const AnalysisRunMetrics *measured, const size_t *run,
                                     size_t count) {
  const bool normalized = measure == ANALYSIS_MEASURE_normalized_score;
  if (measure >= ANALYSIS_MEASURES) return analysis_column_range(analysis_measure_columns_get(measure), false);
  for (size_t i = 0; i < count && (measure <= ANALYSIS_MEASURE_early || normalized); i++) {
    const AnalysisRunMetrics *m = &measured[run ? run[i] : i];
    if (isnan(m->value[measure])) continue;
    if (!m->rated || (normalized && m->normalized)) return ANALYSIS_RANGE_FREE;
  }
  return measures[measure].range;
}

int analysis_measure_find(const char *name, AnalysisMeasure *measure) {
  const char *names[ANALYSIS_MEASURES];
  for (size_t i = 0; i < ANALYSIS_MEASURES; i++) {
    names[i] = measures[i].name;
    if (strcmp(name, names[i]) != 0) continue;
    if (i == ANALYSIS_MEASURE_score_at_time)
      return core_error(CORE_USAGE, "%s depends on the compared runs: only claims have it", name);
    *measure = (AnalysisMeasure)i;
    return CORE_OK;
  }
  if (analysis_measure_columns_find(name, measure) == CORE_OK) return CORE_OK;
  const char *near = core_text_nearest(name, names, ANALYSIS_MEASURES);
  if (!near) return CORE_USAGE;
  return core_error(CORE_USAGE, "unknown measure %s; did you mean %s", name, near);
}

/* ---- evaluations ------------------------------------------------------------------------------------------------ */

static const char evaluation_sql[] =
  "SELECT iteration, transitions, coalesce(solve_rate, episode_return), solve_rate IS NOT NULL, episode_return, goals"
  " FROM evaluation WHERE run_id = ?1 AND level_set = coalesce(" ANALYSIS_LEVELS_SQL
  ", (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1))"
  " AND transitions <= ?3 AND coalesce(solve_rate, episode_return) IS NOT NULL ORDER BY iteration";

static const char other_sql[] =
  "SELECT max(coalesce(solve_rate, episode_return)) FROM evaluation WHERE run_id = ?1 AND transitions <= ?3"
  " AND level_set = " ANALYSIS_LEVELS_SQL;

typedef struct Scores { double *at, *score; size_t count, capacity; } Scores;

static void scores_add(Scores *s, double transitions, double score) {
  if (s->count == s->capacity) {
    s->capacity = s->capacity ? 2 * s->capacity : 64;
    s->at = core_memory_resize(s->at, s->capacity * sizeof *s->at);
    s->score = core_memory_resize(s->score, s->capacity * sizeof *s->score);
  }
  s->at[s->count] = transitions;
  s->score[s->count++] = score;
}

/* Returns the last score at or before a number of transitions; NaN: none. */
static double score_before(const Scores *s, double transitions) {
  double score = NAN;
  for (size_t i = 0; i < s->count && s->at[i] <= transitions; i++) score = s->score[i];
  return score;
}

/* Averages the scores between two shares of the evaluations; NaN: none. */
static double mean_between(const Scores *s, double from, double to) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < s->count; i++) {
    if ((double)i < from * (double)s->count || (double)i >= to * (double)s->count) continue;
    sum += s->score[i];
    n++;
  }
  return n ? sum / (double)n : NAN;
}

/* Returns the slope per transition of a line fitted to the scores of the last two thirds of the budget; NaN with
 * fewer than three. */
static double late_slope(const Scores *s, double end) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->at[i] <= end / 3) continue;
    const double share = s->at[i] / end;
    n++;
    x += share;
    y += s->score[i];
    xx += share * share;
    xy += share * s->score[i];
  }
  const double spread = xx - x * x / n;
  return n >= 3 && spread > 0 ? (xy - x * y / n) / spread / end : NAN;
}

/* Computes the measures of scores. s: evaluations after training started; untrained: the score before, NaN without
 * one, as for a run that started from a checkpoint, whose first evaluation is the checkpoint's. */
static void fill_scores(const Scores *s, const AnalysisRun *of, double end, double untrained, AnalysisRunMetrics *run) {
  if (s->count == 0) return;

  const double start = isnan(untrained) ? s->at[0] : 0, before = isnan(untrained) ? s->score[0] : untrained;
  const double last = s->score[s->count - 1], tenth = analysis_run_limit(of, end / 10);
  double best = -INFINITY, early = -INFINITY;

  for (size_t i = 0; i < s->count; i++) {
    best = fmax(best, s->score[i]);
    if (s->at[i] <= tenth) early = fmax(early, s->score[i]);
  }

  run->value[ANALYSIS_MEASURE_final] = last;
  if (s->count > 1) run->value[ANALYSIS_MEASURE_last_two] = (last + s->score[s->count - 2]) / 2;
  run->value[ANALYSIS_MEASURE_best] = best;
  run->value[ANALYSIS_MEASURE_fall] = best - last;

  run->value[ANALYSIS_MEASURE_rise_second] = mean_between(s, 0.75, 1) - mean_between(s, 0.25, 0.5);
  run->value[ANALYSIS_MEASURE_gain] = last - score_before(s, analysis_run_limit(of, end / 2));
  run->value[ANALYSIS_MEASURE_late_gain] = late_slope(s, end) * end / 4;

  run->value[ANALYSIS_MEASURE_total_gain] = last - before;
  if (of->parent[0] || !isnan(untrained))
    run->value[ANALYSIS_MEASURE_early_gain] =
      score_before(s, analysis_run_limit(of, start + end / 10)) - before;
  run->value[ANALYSIS_MEASURE_early] = isinf(early) ? NAN : early;
}

/* Gives a diverged or failed run the scores of its untrained policy (measures.h). */
static void fill_broken(const Scores *s, const AnalysisRun *of, double untrained, double untrained_return, double end,
                        AnalysisRunMetrics *run) {
  const double half = score_before(s, analysis_run_limit(of, end / 2));
  const double second = mean_between(s, 0.25, 0.5), best = run->value[ANALYSIS_MEASURE_best];
  run->value[ANALYSIS_MEASURE_final] = run->value[ANALYSIS_MEASURE_last_two] = untrained;
  run->value[ANALYSIS_MEASURE_best] = run->value[ANALYSIS_MEASURE_best_other] = untrained;
  run->value[ANALYSIS_MEASURE_gain] = isnan(half) ? 0 : untrained - half;
  run->value[ANALYSIS_MEASURE_late_gain] = run->value[ANALYSIS_MEASURE_total_gain] = 0;
  if (isnan(run->value[ANALYSIS_MEASURE_early_gain])) run->value[ANALYSIS_MEASURE_early_gain] = 0;
  run->value[ANALYSIS_MEASURE_fall] = isnan(best) ? 0 : fmax(best - untrained, 0);
  run->value[ANALYSIS_MEASURE_rise_second] = isnan(second) ? 0 : untrained - second;
  if (isnan(run->value[ANALYSIS_MEASURE_early])) run->value[ANALYSIS_MEASURE_early] = untrained;
  run->value[ANALYSIS_MEASURE_final_return] = run->value[ANALYSIS_MEASURE_best_return] = untrained_return;
}

static int read_scores(StoreQuery *query, const AnalysisRun *of, const char *level_set, double budget, Scores *s,
                       AnalysisRunMetrics *run) {
  double untrained = NAN, untrained_return = NAN, untrained_goals = NAN;
  const double end = fmin(budget, analysis_run_total(of));
  bool row = false;
  int code;

  s->count = 0;
  run->rated = true;
  store_query_reset(query);
  store_query_bind_text(query, 1, of->id);
  store_query_bind_text(query, 2, level_set);
  store_query_bind_real(query, 3, budget);

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const double score = store_query_real(query, 2), given = store_query_real(query, 4);
    if (!isfinite(score)) continue;
    run->rated = run->rated && store_query_int(query, 3) != 0;

    if (store_query_int(query, 0) == 0) {
      untrained = score;
      untrained_return = given;
      untrained_goals = store_query_real(query, 5);
      continue;
    }

    run->evaluations++;
    scores_add(s, store_query_real(query, 1), score);
    run->value[ANALYSIS_MEASURE_final_return] = given;
    run->value[ANALYSIS_MEASURE_goals] = store_query_real(query, 5);
    run->value[ANALYSIS_MEASURE_best_return] = fmax(run->value[ANALYSIS_MEASURE_best_return], given);
  }

  fill_scores(s, of, end, untrained, run);
  if (run->broken) fill_broken(s, of, untrained, untrained_return, end, run);
  if (run->broken) run->value[ANALYSIS_MEASURE_goals] = untrained_goals;
  return code;
}

/* Normalizes the scores; tasks without constants keep the solve rate, which is between 0 and 1 anyway. */
static void normalize(const AnalysisRun *of, AnalysisRunMetrics *run) {
  const AnalysisBounds bounds = analysis_bounds_of(&of->config);
  double *score = &run->value[ANALYSIS_MEASURE_normalized_score];
  run->normalized = bounds.scale != ANALYSIS_SCALE_NONE;
  if (run->evaluations == 0 && !run->broken) return;
  if (run->normalized) *score = analysis_normalize(&bounds, run->value[ANALYSIS_MEASURE_final_return]);
  else if (run->rated) *score = run->value[ANALYSIS_MEASURE_final];
}

/* Reads the best score on the first level set that the run was not trained on. */
static int read_other(StoreQuery *query, const AnalysisRun *of, double budget, AnalysisRunMetrics *run) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, of->id);
  store_query_bind_text(query, 2, ANALYSIS_LEVELS_OTHER);
  store_query_bind_real(query, 3, budget);
  TRY(store_query_step(query, &row));
  if (row && run->evaluations > 0 && !run->broken) run->value[ANALYSIS_MEASURE_best_other] = store_query_real(query, 0);
  return CORE_OK;
}

/* ---- iterations ------------------------------------------------------------------------------------------------- */

/* KL and DDR from the sums over 64 iterations (iteration_bin) and, if the budget ends inside a bin, its rows
 * (ddr.h). */
static const char last_sql[] =
  "SELECT iteration, transitions, coalesce(merged_iterations, 1), wall_seconds FROM iteration WHERE run_id = ?1"
  " AND transitions <= ?2 ORDER BY iteration DESC LIMIT 1";
static const char kl_sql[] =
  "SELECT sum(part_transitions) / sum(part_kl), sum(part_kl) / sum(n) FROM (SELECT kl_transitions AS part_transitions,"
  " kl_sum AS part_kl, iif(kl_sum IS NULL, 0, n) AS n FROM iteration_bin WHERE run_id = ?1 AND bin < ?2 >> 6"
  " UNION ALL SELECT merged * covered, merged * max(kl, 1e-12), merged * (kl IS NOT NULL) FROM"
  " (SELECT iteration, kl, " STORE_KL_TRANSITIONS_SQL " AS covered, coalesce(merged_iterations, 1) AS merged"
  " FROM iteration WHERE run_id = ?1 AND iteration BETWEEN ?2 >> 6 << 6 AND ?2))";
/* Means over the last quarter. In long runs it is sampled in up to 16 stretches of 11 rows, each of which contains
 * metrics that are measured every tenth iteration. */
#define LATE_MEANS \
  " avg(steps_per_second), avg(grad_norm_actor), avg(update_norm_actor), avg(feature_rank_actor), avg(dormant_actor)," \
  " avg(weight_norm_actor), avg(grad_kurtosis_actor), avg(policy_variance), avg(ess_percent), avg(inactive_actor) FROM"
static const char late_sql[] =
  "WITH RECURSIVE stretch(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM stretch WHERE i < 15)"
  " SELECT" LATE_MEANS " stretch CROSS JOIN iteration ON run_id = ?1 AND iteration BETWEEN"
  " ?3 - (i * (?3 - ?2)) / 15 - min(10, (?3 - ?2) / 15 - 1) AND ?3 - (i * (?3 - ?2)) / 15";
static const char short_late_sql[] =
  "SELECT" LATE_MEANS " iteration WHERE run_id = ?1 AND iteration BETWEEN ?2 AND ?3";
/* ?3: minibatches per iteration. kl_slope was per minibatch before kl_consecutive was measured. */
static const char profile_sql[] =
  "SELECT avg(kl_slope * iif(kl_consecutive IS NULL, ?3, 1)), avg(kl_monotone), avg(kl_consecutive),"
  " avg(limit_epochs > 0), avg(kl_limit_monotone), avg(kl_limit_slope) FROM iteration"
  " WHERE run_id = ?1 AND iteration <= ?2";
/* A ratio of sums over the last quarter, since ratios of single iterations are biased and may be negative. */
static const char noise_sql[] =
  "SELECT iif(sum(grad_square_actor) > 0, sum(grad_variance_actor) / sum(grad_square_actor), NULL) FROM iteration"
  " WHERE run_id = ?1 AND iteration BETWEEN ?2 AND ?3";
static const char distance_sql[] = "SELECT -distance FROM iteration WHERE run_id = ?1 AND iteration = ?2";
enum { SHORT_RUN = 2048 }; /* iterations up to which all of the last quarter is read */

static const AnalysisMeasure kl_measures[] = {ANALYSIS_MEASURE_ddr, ANALYSIS_MEASURE_kl};
static const AnalysisMeasure profile[] = {ANALYSIS_MEASURE_kl_slope, ANALYSIS_MEASURE_kl_monotone,
                                          ANALYSIS_MEASURE_kl_consecutive, ANALYSIS_MEASURE_limit_reached,
                                          ANALYSIS_MEASURE_kl_limit_monotone, ANALYSIS_MEASURE_kl_limit_slope};
static const AnalysisMeasure late[] = {
  ANALYSIS_MEASURE_speed,        ANALYSIS_MEASURE_grad_norm,       ANALYSIS_MEASURE_update_norm,
  ANALYSIS_MEASURE_feature_rank, ANALYSIS_MEASURE_dormant,         ANALYSIS_MEASURE_weight_norm,
  ANALYSIS_MEASURE_kurtosis,     ANALYSIS_MEASURE_policy_variance, ANALYSIS_MEASURE_ess,
  ANALYSIS_MEASURE_inactive};

typedef struct Queries {
  StoreDatabase *database;
  StoreQuery *scores, *other, *last, *kl, *late, *short_late, *profile, *noise, *distance;
} Queries;

/* Runs a statement with a run's id and one or two numbers (second < 0: one), and reads its columns. */
static int take(StoreQuery *query, const char *id, int64_t first, int64_t second, const AnalysisMeasure *list,
                size_t count, AnalysisRunMetrics *run) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  store_query_bind_int(query, 2, first);
  if (second >= 0) store_query_bind_int(query, 3, second);
  TRY(store_query_step(query, &row));
  if (!row) return CORE_OK;

  for (size_t i = 0; i < count; i++) {
    const double value = store_query_real(query, (int)i);
    /* One infinite KL makes the mean infinite and DDR 0: both can still be ranked. */
    run->value[list[i]] = isfinite(value) || list[i] == ANALYSIS_MEASURE_kl ? value : NAN;
  }
  return CORE_OK;
}

/* Finds the last iteration that counts, and what the run's status means for the budget. */
static int read_end(Queries *q, const AnalysisRun *of, double budget, double limit, AnalysisRunMetrics *run) {
  bool row = false;
  store_query_reset(q->last);
  store_query_bind_text(q->last, 1, of->id);
  store_query_bind_real(q->last, 2, limit);
  TRY(store_query_step(q->last, &row));

  if (row) {
    run->iteration = store_query_int(q->last, 0);
    run->transitions = store_query_real(q->last, 1);
    run->merged = store_query_int(q->last, 2);
    run->value[ANALYSIS_MEASURE_transitions] = run->transitions;
    run->value[ANALYSIS_MEASURE_wall_seconds] = store_query_real(q->last, 3);
  }

  bool reached = of->status == STORE_FINISHED;
  if (budget > 0 && !reached) TRY(analysis_budget_reach(q->database, of, run->transitions, budget, &reached));

  run->broken = !reached && store_status_is_broken(of->status);
  run->ended = reached || run->broken;
  run->censored = !run->ended && of->status == STORE_STOPPED_BY_RULE;
  return CORE_OK;
}

static int read_iterations(Queries *q, const AnalysisRun *of, AnalysisRunMetrics *run) {
  static const AnalysisMeasure final[] = {ANALYSIS_MEASURE_final}, noise[] = {ANALYSIS_MEASURE_noise_scale};
  const int64_t last = run->iteration;
  if (last == 0) return CORE_OK;
  TRY(take(q->kl, of->id, last, -1, kl_measures, 2, run));
  StoreQuery *query = last <= SHORT_RUN || run->merged > 1 ? q->short_late : q->late;
  TRY(take(query, of->id, last - last / 4, last, late, sizeof late / sizeof *late, run));
  if (of->config.shared->metrics.profile_every > 0)
    TRY(take(q->profile, of->id, last, of->config.shared->ppo.epochs * of->config.shared->ppo.num_minibatches, profile,
             sizeof profile / sizeof *profile, run));
  if (of->config.shared->metrics.noise_every > 0) TRY(take(q->noise, of->id, last - last / 4, last, noise, 1, run));
  /* noisy_sgd has no evaluations: its score is the distance that it reached. */
  if (!core_config_has_no_envs(of->config.shared)) return CORE_OK;
  run->rated = false;
  return run->broken ? CORE_OK : take(q->distance, of->id, last, -1, final, 1, run);
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static int read_run(Queries *q, const AnalysisRun *of, const char *level_set, double budget, Scores *s,
                    AnalysisRunMetrics *run) {
  const double limit = budget > 0 ? analysis_run_limit(of, budget) : INFINITY;
  for (size_t m = 0; m < ANALYSIS_MEASURES_ALL; m++) run->value[m] = NAN;
  TRY(read_end(q, of, budget, limit, run));
  TRY(read_scores(q->scores, of, level_set, limit, s, run));
  normalize(of, run);
  if (of->config.shared->eval.levels[0]) TRY(read_other(q->other, of, limit, run));
  return read_iterations(q, of, run);
}

/* Reads coverage at equal numbers of states for all runs of the selection. */
static int read_coverage(StoreDatabase *database, const AnalysisSelection *selection, AnalysisRunMetrics *measured) {
  size_t *run = core_memory_allocate((selection->count + 1) * sizeof *run);
  double *value = core_memory_allocate((selection->count + 1) * sizeof *value);
  for (size_t r = 0; r < selection->count; r++) run[r] = r;
  const int code = analysis_coverage_read(database, selection, measured, run, selection->count, value);
  if (code == CORE_OK) {
    for (size_t r = 0; r < selection->count; r++) measured[r].value[ANALYSIS_MEASURE_coverage] = value[r];
  }
  free(run);
  free(value);
  return code;
}

int analysis_measures_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                           double budget, AnalysisRunMetrics **measured) {
  Queries q = {.database = database};
  Scores s = {0};
  *measured = core_memory_zero_allocate(selection->count + 1, sizeof **measured);
  const bool begun = store_query_begin_reading(database);

  int code = store_query_open(database, evaluation_sql, &q.scores);
  if (code == CORE_OK) code = store_query_open(database, other_sql, &q.other);
  if (code == CORE_OK) code = store_query_open(database, last_sql, &q.last);
  if (code == CORE_OK) code = store_query_open(database, kl_sql, &q.kl);
  if (code == CORE_OK) code = store_query_open(database, late_sql, &q.late);
  if (code == CORE_OK) code = store_query_open(database, short_late_sql, &q.short_late);
  if (code == CORE_OK) code = store_query_open(database, profile_sql, &q.profile);
  if (code == CORE_OK) code = store_query_open(database, noise_sql, &q.noise);
  if (code == CORE_OK) code = store_query_open(database, distance_sql, &q.distance);

  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    code = read_run(&q, &selection->runs[r], level_set, budget, &s, &(*measured)[r]);
  }
  if (code == CORE_OK) code = read_coverage(database, selection, *measured);
  if (code == CORE_OK) code = analysis_measure_columns_read(database, selection, level_set, *measured);

  store_query_close(&q.scores);
  store_query_close(&q.other);
  store_query_close(&q.last);
  store_query_close(&q.kl);
  store_query_close(&q.short_late);
  store_query_close(&q.profile);
  store_query_close(&q.late);
  store_query_close(&q.noise);
  store_query_close(&q.distance);
  store_query_end_reading(database, begun);

  free(s.at);
  free(s.score);
  return code;
}
