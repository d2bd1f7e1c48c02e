/* Measures the analysis: choosing and grouping runs, the bootstrap, gathering curves. Prints CSV rows.
 * `bench_analysis make FOLDER [SEEDS [ITERATIONS]]` writes the workspace of analysis_workspace.h there and measures
 * nothing: tests of the program draw from it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <omp.h>

#include "analysis/runs/group.h"
#include "analysis/runs/select.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/stratified.h"
#include "analysis_workspace.h"
#include "bench/bench.h"
#include "core/command/options.h"

static void print_row(const char *measured, const char *metric, double value, const char *unit) {
  bench_row("analysis", measured, metric, value, unit, omp_get_max_threads());
}

static int make_workspace(const char *directory, int seeds, int64_t iterations) {
  Workspace workspace = {directory, iterations, 20, seeds};
  TRY(core_files_make_directories(directory));
  TRY(workspace_register(&workspace));
  return workspace_write(&workspace);
}

static void bench_bootstrap(void) {
  enum { POINTS = 400, CLUSTERS = 80, REPLICATES = 2000 };
  double x[POINTS], y[POINTS];
  size_t cluster[POINTS];
  for (uint32_t i = 0; i < POINTS; i++) {
    CoreRandom4 words = core_random_4(1, CORE_RANDOM_TEST, i, 0, 0);
    x[i] = core_random_unit(words.v[0]);
    y[i] = x[i] + core_random_unit(words.v[1]);
    cluster[i] = i % CLUSTERS;
  }
  double start = bench_seconds();
  analysis_spearman_interval(x, y, cluster, POINTS, CLUSTERS, NULL, REPLICATES, 0.95, 1);
  print_row("spearman bootstrap of 400 runs", "replicates", REPLICATES / (bench_seconds() - start), "1/s");
}

/* Agarwal et al.'s usual intervals: IQM and mean of 50 configurations, each of 5 seeds on 10 tasks. */
static void bench_stratified(void) {
  enum { CONFIGURATIONS = 50, SEEDS = 5, TASKS = 10 };
  const AnalysisAggregate wanted[] = {ANALYSIS_AGGREGATE_IQM, ANALYSIS_AGGREGATE_MEAN};
  double score[SEEDS * TASKS];
  size_t first[TASKS + 1];
  AnalysisInterval interval[2];
  for (size_t t = 0; t <= TASKS; t++) first[t] = t * SEEDS;
  double start = bench_seconds();
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    for (uint32_t i = 0; i < SEEDS * TASKS; i++)
      score[i] = core_random_unit(core_random_4(c, CORE_RANDOM_TEST, i, 0, 0).v[0]);
    analysis_stratified_aggregates(NULL, &(AnalysisScores){score, first, TASKS}, wanted, 2, ANALYSIS_REPLICATES, 0.95,
                                   1, interval);
  }
  double seconds = bench_seconds() - start;
  print_row("stratified_bootstrap", "replicates", (double)CONFIGURATIONS * ANALYSIS_REPLICATES / seconds, "1/s");
  print_row("stratified_bootstrap", "50 configurations x 50000 replicates", seconds, "s");
}

static int bench_selection(const char *directory) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  TRY(make_workspace(directory, 8, 200));
  TRY(store_path_database(directory, path));
  double start = bench_seconds();
  TRY(analysis_database_open(path, &database));
  double opened = bench_seconds();
  TRY(analysis_select_runs(database, NULL, NULL, 0, &selection));
  TRY(analysis_group_runs(&selection, NULL, &grouping));
  double grouped = bench_seconds();
  print_row("open and import 96 runs of 200 iterations", "rows", 96 * 200 / (opened - start), "1/s");
  print_row("select and group 96 runs", "time", 1e3 * (grouped - opened), "ms");
  analysis_grouping_free(&grouping);
  analysis_selection_free(&selection);
  store_database_close(&database);
  return CORE_OK;
}

static int measure(void) {
  char directory[CORE_PATH_MAX];
  const char *temporary = getenv("TMPDIR");
  TRY(core_files_path(directory, "%s/bench-analysis-XXXXXX", temporary ? temporary : "/tmp"));
  if (!mkdtemp(directory)) return core_error_errno(CORE_FAIL, "%s", directory);
  bench_bootstrap();
  bench_stratified();
  int code = bench_selection(directory);
  core_files_remove_tree(directory);
  return code;
}

int main(int argc, char **argv) {
  bool make = argc > 2 && strcmp(argv[1], "make") == 0;
  if (argc > 1 && !make)
    return core_options_report("bench_analysis", core_error(CORE_USAGE, "expected: make FOLDER [SEEDS [ITERATIONS]]"));
  int code = make ? make_workspace(argv[2], argc > 3 ? atoi(argv[3]) : 3, argc > 4 ? atoi(argv[4]) : 120) : measure();
  return core_options_report("bench_analysis", code);
}
