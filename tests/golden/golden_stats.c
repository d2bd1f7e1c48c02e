/* golden_stats DIR [FILE...]: compares the statistics of `analyze`, its normalized scores, and the trainer's solve
 * rates with tensors made by scipy, numpy and rliable: each .gold file of DIR (or the named ones) that holds such
 * cases. Sizes come from the file, so that any set in the format can be replayed. One line a case; exit status 0 all
 * ok, 1 a deviation or a damaged file, 2 wrong use. */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>

#include "analysis/runs/normalized.h"
#include "analysis/statistics/interval.h"
#include "analysis/statistics/stratified.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "oracle/student.h"
#include "tests/golden/golden_read.h"
#include "trainer/evaluate/evaluate.h"

enum { NAME = 64, CASES_MAX = 64 };
static const double tolerance = 1e-10; /* float64 on both sides: README of the data */

typedef struct Result { size_t values; double worst; char where[NAME]; } Result;

static void compare(Result *result, const char *where, double ours, double truth, double allowed) {
  double error =
    isnan(truth) || isnan(ours) ? (isnan(truth) && isnan(ours) ? 0 : INFINITY) : fabs(ours - truth) / allowed;
  result->values++;
  if (error <= result->worst) return;
  result->worst = error;
  snprintf(result->where, sizeof result->where, "%s", where);
}

static double allowed(double truth) { return tolerance * fmax(1, fabs(truth)); }

/* A whole tensor as doubles; NULL when the file has none of that name. free() it. */
static double *values_of(const Gold *gold, const char *prefix, const char *name, size_t *n) {
  char full[2 * NAME];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  const GoldEntry *entry = gold_find(gold, full);
  if (!entry) return NULL;
  *n = gold_elements(entry);
  double *value = core_memory_allocate((*n + 1) * sizeof *value);
  for (size_t i = 0; i < *n; i++) value[i] = gold_element(gold, entry, i);
  return value;
}

/* Compares a scalar where the file has it. */
static void compare_scalar(Result *result, const Gold *gold, const char *prefix, const char *name, double ours) {
  size_t n;
  double *truth = values_of(gold, prefix, name, &n);
  if (truth && n == 1) compare(result, name, ours, truth[0], allowed(truth[0]));
  free(truth);
}

/* ---- solve rates, Student, interpolation ------------------------------------------------------------------------ */

static void case_solve(const Gold *gold, const char *prefix, Result *result) {
  size_t n, m;
  double *attempts = values_of(gold, prefix, "in/attempts", &n),
         *successes = values_of(gold, prefix, "in/successes", &m);
  if (attempts && successes && n == m) {
    int64_t *counts = core_memory_allocate((2 * n + 1) * sizeof *counts);
    for (size_t i = 0; i < n; i++) {
      counts[i] = (int64_t)attempts[i];
      counts[n + i] = (int64_t)successes[i];
    }
    StoreEvaluation row;
    evaluate_average(counts, counts + n, (int)n, &row);
    compare_scalar(result, gold, prefix, "out/rate", row.solve_rate);
    compare_scalar(result, gold, prefix, "out/standard_error", row.solve_rate_se);
    free(counts);
  }
  free(attempts);
  free(successes);
}

static void case_student(const Gold *gold, const char *prefix, Result *result) {
  size_t n, three;
  double *x = values_of(gold, prefix, "in/x", &n), *truth = values_of(gold, prefix, "out/mean_low_high", &three);
  if (x && truth && three == 3) {
    AnalysisInterval ours = n < ANALYSIS_INTERVAL_RUNS_MIN
                              ? oracle_student(x, n, 0.95)
                              : analysis_mean_interval(x, n, ANALYSIS_RANGE_FREE, 0.95);
    compare(result, "mean", ours.center, truth[0], allowed(truth[0]));
    compare(result, "low", ours.low, truth[1], allowed(truth[1]));
    compare(result, "high", ours.high, truth[2], allowed(truth[2]));
  }
  free(x);
  free(truth);
}

static void case_interpolation(const Gold *gold, const char *prefix, Result *result) {
  size_t n, m, points, outputs;
  double *x = values_of(gold, prefix, "in/x", &n), *y = values_of(gold, prefix, "in/y", &m),
         *grid = values_of(gold, prefix, "in/grid", &points), *truth = values_of(gold, prefix, "out/y", &outputs);
  if (x && y && grid && truth && n == m && points == outputs) {
    for (size_t i = 0; i < points; i++)
      compare(result, "out/y", analysis_interpolate(x, y, n, grid[i]), truth[i], allowed(truth[i]));
  }
  free(x);
  free(y);
  free(grid);
  free(truth);
}

/* ---- rliable ---------------------------------------------------------------------------------------------------- */

typedef struct Matrix { double *score; size_t *first; size_t runs, tasks; } Matrix;

/* rliable's (runs, tasks) matrix as scores by task. */
static bool read_matrix(const Gold *gold, const char *prefix, const char *name, Matrix *matrix) {
  char full[2 * NAME];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  const GoldEntry *entry = gold_find(gold, full);
  if (!entry || entry->dimensions != 2 || gold_elements(entry) == 0) return false;
  *matrix = (Matrix){NULL, NULL, entry->dimension[0], entry->dimension[1]};
  matrix->score = core_memory_allocate(gold_elements(entry) * sizeof *matrix->score);
  matrix->first = core_memory_allocate((matrix->tasks + 1) * sizeof *matrix->first);
  for (size_t t = 0; t <= matrix->tasks; t++) matrix->first[t] = t * matrix->runs;
  for (size_t r = 0; r < matrix->runs; r++) {
    for (size_t t = 0; t < matrix->tasks; t++)
      matrix->score[t * matrix->runs + r] = gold_element(gold, entry, r * matrix->tasks + t);
  }
  return true;
}

static AnalysisScores scores_of(const Matrix *matrix) {
  return (AnalysisScores){matrix->score, matrix->first, matrix->tasks};
}

static void matrix_free(Matrix *matrix) {
  free(matrix->score);
  free(matrix->first);
}

static const char *const aggregate_names[ANALYSIS_AGGREGATES] = {"mean", "median", "iqm", "optimality_gap"};

/* Every replicate of every aggregate from the indices in the file, and the percentiles of the replicates. */
static void compare_replicates(Result *result, const Gold *gold, const char *prefix, const Matrix *x) {
  size_t drawn_count, replicates, two;
  double *index = values_of(gold, prefix, "in/bootstrap_index", &drawn_count);
  size_t n = x->runs * x->tasks;
  AnalysisScores scores = scores_of(x);
  AnalysisRanked ranked = analysis_ranked_create(&scores);
  uint32_t *count = core_memory_allocate(n * sizeof *count);
  double *mean = core_memory_allocate(x->tasks * sizeof *mean);
  for (int k = 0; index && k < ANALYSIS_AGGREGATES; k++) {
    char name[NAME];
    snprintf(name, sizeof name, "out/replicates_%s", aggregate_names[k]);
    double *truth = values_of(gold, prefix, name, &replicates);
    if (!truth || drawn_count != replicates * n) { free(truth); continue; }
    double *ours = core_memory_allocate(replicates * sizeof *ours);
    for (size_t r = 0; r < replicates; r++) {
      memset(count, 0, n * sizeof *count);
      for (size_t i = 0; i < n; i++) { /* index [replicate][run][task] */
        size_t run = (size_t)index[r * n + i];
        if (run < x->runs) count[x->first[i % x->tasks] + run]++;
      }
      ours[r] = analysis_ranked_aggregate(&ranked, (AnalysisAggregate)k, count, mean);
      compare(result, name, ours[r], truth[r], allowed(truth[r]));
    }
    free(truth);
    snprintf(name, sizeof name, "out/ci_from_index_%s", aggregate_names[k]);
    truth = values_of(gold, prefix, name, &two);
    for (size_t end = 0; truth && two == 2 && end < 2; end++)
      compare(result, name, analysis_percentile(ours, replicates, end ? 0.975 : 0.025), truth[end],
              allowed(truth[end]));
    free(truth);
    free(ours);
  }
  free(index);
  free(count);
  free(mean);
  analysis_ranked_free(&ranked);
}

/* Shares of our replicates below a value, and not above it. */
static void shares(const double *ours, size_t n, double value, double *below, double *up_to) {
  size_t less = 0, more = 0;
  for (size_t r = 0; r < n; r++) {
    less += ours[r] < value - 1e-9;
    more += ours[r] > value + 1e-9;
  }
  *below = (double)less / (double)n;
  *up_to = 1 - (double)more / (double)n;
}

/* rliable's own interval comes from random numbers of its own. Each of its ends must be where our replicates have that
 * percentile, within five standard deviations of the share; so tied scores, whose replicates have few distinct values,
 * are compared as sharply as others. */
static void compare_intervals(Result *result, const Gold *gold, const char *prefix, const AnalysisScores *scores) {
  enum { REPLICATES = 50000 };
  size_t n, one, runs = scores->first[scores->tasks];
  double *truth = values_of(gold, prefix, "out/rliable_ci", &n), *reps = values_of(gold, prefix, "hp/reps", &one);
  AnalysisRanked ranked = analysis_ranked_create(scores);
  double *ours = core_memory_allocate(REPLICATES * sizeof *ours),
         *mean = core_memory_allocate(scores->tasks * sizeof *mean);
  uint32_t *count = core_memory_allocate(runs * sizeof *count);
  for (int k = 0; truth && reps && n == 2 * ANALYSIS_AGGREGATES && k < ANALYSIS_AGGREGATES; k++) {
    char name[NAME];
    snprintf(name, sizeof name, "out/rliable_ci %s", aggregate_names[k]);
    for (uint32_t r = 0; r < REPLICATES; r++) {
      analysis_stratified_draw(scores->first, scores->tasks, 1, r, 0, count);
      ours[r] = analysis_ranked_aggregate(&ranked, (AnalysisAggregate)k, count, mean);
    }
    for (int end = 0; end < 2; end++) {
      double below, up_to, share = end ? 0.975 : 0.025;
      double error = 5 * sqrt(share * (1 - share) * (1 / reps[0] + 1.0 / REPLICATES));
      shares(ours, REPLICATES, truth[end * ANALYSIS_AGGREGATES + k], &below, &up_to);
      compare(result, name, fmax(0, fmax(below - share, share - up_to)), 0, error);
    }
  }
  analysis_ranked_free(&ranked);
  free(truth);
  free(reps);
  free(ours);
  free(mean);
  free(count);
}

static void compare_profiles(Result *result, const Gold *gold, const char *prefix, const AnalysisScores *scores) {
  size_t n, runs;
  double *tau = values_of(gold, prefix, "in/tau", &n), *truth = values_of(gold, prefix, "out/profile_runs", &runs);
  for (size_t i = 0; tau && truth && runs == n && i < n; i++)
    compare(result, "out/profile_runs", analysis_profile_runs(scores, tau[i]), truth[i], tolerance);
  free(tau);
  free(truth);
}

static void case_rliable(const Gold *gold, const char *prefix, Result *result) {
  Matrix x = {0}, y = {0};
  if (!read_matrix(gold, prefix, "in/x", &x)) return;
  AnalysisScores first = scores_of(&x);
  for (int k = 0; k < ANALYSIS_AGGREGATES; k++) {
    char name[NAME];
    snprintf(name, sizeof name, "out/%s", aggregate_names[k]);
    compare_scalar(result, gold, prefix, name, analysis_aggregate(&first, (AnalysisAggregate)k));
  }
  if (read_matrix(gold, prefix, "in/y", &y)) {
    AnalysisScores second = scores_of(&y);
    compare_scalar(result, gold, prefix, "out/probability_of_improvement",
                   analysis_probability_of_improvement(&first, &second));
    compare_scalar(result, gold, prefix, "out/probability_of_improvement_reversed",
                   analysis_probability_of_improvement(&second, &first));
  }
  compare_profiles(result, gold, prefix, &first);
  compare_replicates(result, gold, prefix, &x);
  compare_intervals(result, gold, prefix, &first);
  matrix_free(&x);
  matrix_free(&y);
}

/* ---- normalized scores of games --------------------------------------------------------------------------------- */

/* Compares the constants of the file's games, in its order, with those of normalized.def. */
static AnalysisBounds *compare_bounds(Result *result, const Gold *gold, const char *prefix, size_t *games) {
  const bool atari = strncmp(prefix, "atari", 5) == 0;
  char name[NAME];
  size_t letters, n, m;
  double *text = values_of(gold, prefix, "in/name", &letters), *low = values_of(gold, prefix, "in/low", &n),
         *high = values_of(gold, prefix, "in/high", &m);
  *games = text && low && high && n == m && letters % n == 0 ? n : 0;
  AnalysisBounds *bounds = core_memory_zero_allocate(*games + 1, sizeof *bounds);
  for (size_t g = 0; g < *games; g++) {
    CoreConfig config = core_config_default();
    size_t width = letters / n;
    for (size_t i = 0; i < width && i + 1 < sizeof name; i++) name[i] = (char)text[g * width + i];
    name[width < sizeof name ? width : sizeof name - 1] = '\0';
    snprintf(config.env.task, sizeof config.env.task, "%s/%s", atari ? "atari" : "procgen", name);
    snprintf(config.procgen.mode, sizeof config.procgen.mode, "%s", atari ? "easy" : strchr(prefix, '_') + 1);
    config.procgen.mode[strcspn(config.procgen.mode, "/")] = '\0';
    bounds[g] = analysis_bounds_of(&(AnalysisConfig){.shared = &config});
    compare(result, name, bounds[g].low, low[g], allowed(low[g]));
    compare(result, name, bounds[g].high, high[g], allowed(high[g]));
  }
  free(text);
  free(low);
  free(high);
  return bounds;
}

/* The ends of rliable's own intervals within five of their Monte Carlo errors. Its median has few distinct values, and
 * is compared by the given indices alone, as the data's README says. */
static void compare_errors(Result *result, const Gold *gold, const char *prefix, const AnalysisScores *scores) {
  size_t n, one;
  double *truth = values_of(gold, prefix, "out/rliable_ci", &n);
  for (int k = 0; truth && n == 2 * ANALYSIS_AGGREGATES && k < ANALYSIS_AGGREGATES; k++) {
    char name[NAME];
    snprintf(name, sizeof name, "out/rliable_ci_mc_error_%s", aggregate_names[k]);
    double *error = values_of(gold, prefix, name, &one);
    const AnalysisAggregate aggregate = (AnalysisAggregate)k;
    AnalysisInterval ours;
    analysis_stratified_aggregates(NULL, scores, &aggregate, 1, ANALYSIS_REPLICATES, 0.95, 1, &ours);
    if (error && one == 1 && aggregate != ANALYSIS_AGGREGATE_MEDIAN) {
      compare(result, name, ours.low, truth[k], 5 * error[0]);
      compare(result, name, ours.high, truth[ANALYSIS_AGGREGATES + k], 5 * error[0]);
    }
    free(error);
  }
  free(truth);
}

/* raw_curve [run][game][point]: the IQM at each point, and its interval by the indices of the replicates. */
static void compare_curve(Result *result, const Gold *gold, const char *prefix, const AnalysisBounds *bounds,
                          Matrix *x) {
  size_t n, points, drawn, ends, scores = x->runs * x->tasks;
  double *raw = values_of(gold, prefix, "in/raw_curve", &n), *iqm = values_of(gold, prefix, "out/iqm_curve", &points),
         *index = values_of(gold, prefix, "in/bootstrap_index", &drawn),
         *truth = values_of(gold, prefix, "out/iqm_curve_ci_from_index", &ends);
  uint32_t *count = core_memory_allocate(scores * sizeof *count);
  double *mean = core_memory_allocate(x->tasks * sizeof *mean),
         *ours = core_memory_allocate((drawn + 1) * sizeof *ours);
  const bool whole = raw && iqm && index && truth && n == scores * points && ends == 2 * points && drawn % scores == 0;
  for (size_t p = 0; whole && p < points; p++) {
    for (size_t i = 0; i < scores; i++) /* i: run, then game */
      x->score[x->first[i % x->tasks] + i / x->tasks] =
        analysis_normalize(&bounds[i % x->tasks], raw[i * points + p]);
    const AnalysisScores here = scores_of(x);
    compare(result, "out/iqm_curve", analysis_aggregate(&here, ANALYSIS_AGGREGATE_IQM), iqm[p], allowed(iqm[p]));
    AnalysisRanked ranked = analysis_ranked_create(&here);
    for (size_t r = 0; r < drawn / scores; r++) {
      memset(count, 0, scores * sizeof *count);
      for (size_t i = 0; i < scores; i++) count[x->first[i % x->tasks] + (size_t)index[r * scores + i]]++;
      ours[r] = analysis_ranked_aggregate(&ranked, ANALYSIS_AGGREGATE_IQM, count, mean);
    }
    analysis_ranked_free(&ranked);
    for (size_t end = 0; end < 2; end++)
      compare(result, "out/iqm_curve_ci_from_index", analysis_percentile(ours, drawn / scores, end ? 0.975 : 0.025),
              truth[end * points + p], allowed(truth[end * points + p]));
  }
  free(raw), free(iqm), free(index), free(truth), free(count), free(mean), free(ours);
}

static void case_games(const Gold *gold, const char *prefix, Result *result) {
  Matrix x = {0};
  size_t games, n, m;
  AnalysisBounds *bounds = compare_bounds(result, gold, prefix, &games);
  double *normalized = values_of(gold, prefix, "out/normalised", &n),
         *means = values_of(gold, prefix, "out/game_mean", &m);
  if (read_matrix(gold, prefix, "in/raw", &x) && x.tasks == games && n == games * x.runs && m == games) {
    for (size_t i = 0; i < n; i++) {
      double *score = &x.score[x.first[i % games] + i / games];
      *score = analysis_normalize(&bounds[i % games], *score);
      compare(result, "out/normalised", *score, normalized[i], allowed(normalized[i]));
    }
    for (size_t g = 0; g < games; g++)
      compare(result, "out/game_mean", analysis_mean(x.score + x.first[g], x.runs), means[g], allowed(means[g]));
    const AnalysisScores scores = scores_of(&x);
    for (int k = 0; k < ANALYSIS_AGGREGATES; k++) {
      char name[NAME];
      snprintf(name, sizeof name, "out/%s", aggregate_names[k]);
      compare_scalar(result, gold, prefix, name, analysis_aggregate(&scores, (AnalysisAggregate)k));
    }
    compare_replicates(result, gold, prefix, &x);
    compare_intervals(result, gold, prefix, &scores);
    compare_errors(result, gold, prefix, &scores);
    compare_curve(result, gold, prefix, bounds, &x);
  }
  matrix_free(&x);
  free(normalized), free(means), free(bounds);
}

/* ---- the files -------------------------------------------------------------------------------------------------- */

/* A kind of case: its tensors' names begin with `family` (and a number where there are several). */
static const struct { const char *family; void (*run)(const Gold *, const char *, Result *); } kinds[] = {
  {"solve/", case_solve}, {"solve_training/", case_solve}, {"student/", case_student}, {"interp/", case_interpolation},
  {"rliable/", case_rliable}, {"atari/", case_games}, {"procgen_easy/", case_games}, {"procgen_hard/", case_games}};

/* "student/5/in/x" -> "student/5/"; false when the tensor belongs to no case or is not the case's first. */
static bool case_prefix(const char *tensor, size_t *kind, char prefix[NAME]) {
  for (*kind = 0; *kind < sizeof kinds / sizeof *kinds; ++*kind) {
    size_t length = strlen(kinds[*kind].family);
    const char *in = strstr(tensor, "in/");
    if (strncmp(tensor, kinds[*kind].family, length) != 0 || !in) continue;
    snprintf(prefix, NAME, "%.*s", (int)(in - tensor), tensor);
    return true;
  }
  return false;
}

/* Returns the number of bad cases, -1 for a damaged file; *cases counts them. */
static int run_file(const char *directory, const char *name, int *cases) {
  char path[4096], prefix[NAME], done[CASES_MAX][NAME];
  size_t known = 0, kind;
  int bad = 0;
  Gold gold;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  if (gold_open(&gold, path) != CORE_OK) {
    printf("%-32s not ok: %s\n", name, core_error_message());
    return -1;
  }
  for (uint32_t i = 0; i < gold.count && known < CASES_MAX; i++) {
    bool seen = !case_prefix(gold.entry[i].name, &kind, prefix);
    for (size_t k = 0; k < known && !seen; k++) seen = strcmp(done[k], prefix) == 0;
    if (seen) continue;
    memcpy(done[known++], prefix, NAME);
    Result result = {0};
    kinds[kind].run(&gold, prefix, &result);
    bool good = result.values > 0 && result.worst <= 1;
    printf("%-16s %-18s %6zu values  worst %8.3g of tolerance (%s)  %s\n", name, prefix, result.values, result.worst,
           result.where, good ? "ok" : "not ok");
    bad += !good;
    ++*cases;
  }
  gold_close(&gold);
  return bad;
}

static int is_gold(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".gold") == 0;
}

int main(int argc, char **argv) {
  struct dirent **entries = NULL;
  int cases = 0, bad = 0;
  if (argc < 2 || argv[1][0] == '-') {
    fprintf(stderr, "usage: golden_stats DIR [FILE...]\nCompares the statistics of `analyze` with the .gold files of "
            "DIR that hold such cases.\n");
    return CORE_USAGE;
  }
  int files = argc > 2 ? argc - 2 : scandir(argv[1], &entries, is_gold, alphasort);
  if (files < 0) {
    fprintf(stderr, "golden_stats: cannot read the folder %s\n", argv[1]);
    return CORE_USAGE;
  }
  for (int i = 0; i < files; i++) {
    int result = run_file(argv[1], entries ? entries[i]->d_name : argv[2 + i], &cases);
    bad += result < 0 ? 1 : result;
    if (entries) free(entries[i]);
  }
  free(entries);
  if (cases == 0 && bad == 0) {
    fprintf(stderr, "golden_stats: no statistics cases in %s\n", argv[1]);
    return CORE_USAGE;
  }
  printf("%d cases ok, %d not ok\n", cases - bad, bad);
  return bad ? CORE_FAIL : CORE_OK;
}
