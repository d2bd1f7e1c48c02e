/* Measures the store: cost of a record for the trainer, import of run logs, and an import without new rows. Prints CSV
 * rows. The logs are written by the trainer's own writer, with every column. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "core/config/config.h"
#include "core/files.h"
#include "core/random.h"
#include "store/database/database.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

enum {
  LONG_RUNS = 40, LONG_ITERATIONS = 10000, SHORT_RUNS = 10000, SHORT_ITERATIONS = 10,
  METRIC_RUNS = 10, METRIC_ITERATIONS = 2000, METRIC_NAMES = 20,
  REPEATS = 5,
};

/* Values as a run has them: float32, most of them below 100, all 9 digits in use. */
static StoreIteration make_row(uint32_t run, int64_t iteration) {
  StoreIteration row = store_iteration_unmeasured(iteration);
  double *values = &row.transitions;
  size_t count = (sizeof row - offsetof(StoreIteration, transitions)) / sizeof *values;
  for (size_t i = 0; i < count; i += 4) {
    CoreRandom4 words = core_random_4(run, CORE_RANDOM_TEST, (uint32_t)iteration, (uint32_t)i, 0);
    for (size_t j = 0; j < 4 && i + j < count; j++)
      values[i + j] = (float)(core_random_unit(words.v[j]) * ((i + j) % 3 ? 1 : 60));
  }
  if (iteration % 10 != 1) { /* by default these are measured each tenth iteration */
    double *first = &row.clip_fraction_silent, *last = &row.dead_critic;
    const double norms[] = {row.weight_norm_actor, row.weight_norm_critic};
    while (first <= last) *first++ = NAN;
    row.weight_norm_actor = norms[0], row.weight_norm_critic = norms[1];
  }
  /* columns of another learner, and columns that are off by default */
  row.distance = row.kl_monotone = row.kl_slope = NAN;
  row.transitions = 2048.0 * 256 * (double)iteration;
  row.episodes = (double)(1000 + iteration % 97);
  return row;
}

static int write_run(const char *root, int64_t seed, int64_t iterations, double *seconds) {
  CoreConfig config = core_config_default();
  char id[CORE_RUN_ID];
  StoreRunlog *log;
  config.train.seed = seed;
  TRY(store_run_prepare(root, &config, id));
  TRY(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log));
  for (int64_t i = 1; i <= iterations; i++) {
    StoreIteration row = make_row((uint32_t)seed, i);
    double start = bench_seconds();
    store_runlog_iteration(log, &row);
    if (i % 1000 == 0) TRY(store_runlog_flush(log, false));
    *seconds += bench_seconds() - start;
  }
  TRY(store_runlog_close(&log));
  StoreState state = {.status = STORE_FINISHED, .attempt = 1, .host = "bench", .iteration = iterations,
                      .iterations = iterations, .steps_per_second = NAN, .solve_rate = 0.5};
  return store_run_state_write(root, id, &state);
}

/* Folders that changed a moment ago are looked at again; ten thousand finished runs are older than that. */
static int age_runs(const char *root) {
  char path[CORE_PATH_MAX], (*ids)[CORE_RUN_ID];
  size_t count;
  struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
  int code = CORE_OK;
  TRY(store_path_list_runs(root, NULL, &ids, &count));
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    code = store_path_run(root, ids[i], NULL, path);
    if (code == CORE_OK) utimensat(AT_FDCWD, path, times, 0);
  }
  free(ids);
  return code;
}

typedef struct Cost { double wall_s, cpu_s; } Cost;

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int import(const char *root, StoreImport *result, Cost *cost) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  TRY(store_path_database(root, path));
  double start = bench_seconds(), cpu_start = cpu_seconds();
  TRY(store_database_open(path, false, &database));
  int code = store_import(database, root, NULL, true, result);
  store_database_close(&database);
  *cost = (Cost){bench_seconds() - start, cpu_seconds() - cpu_start};
  return code;
}

/* Sets *cost to that of store_rebuild. */
static int rebuild(const char *root, StoreImport *result, Cost *cost) {
  double start = bench_seconds(), cpu_start = cpu_seconds();
  TRY(store_rebuild(root, result));
  *cost = (Cost){bench_seconds() - start, cpu_seconds() - cpu_start};
  return CORE_OK;
}

static int by_wall(const void *a, const void *b) {
  double x = ((const Cost *)a)->wall_s, y = ((const Cost *)b)->wall_s;
  return x < y ? -1 : x > y;
}

/* Imports a workspace several times into a new database. The median of wall times includes the disk and other programs
 * on the machine; the minimum of processor times does not. */
static int repeat(const char *root, const char *name, int64_t rows,
                  int (*run)(const char *root, StoreImport *result, Cost *cost)) {
  StoreImport result;
  char path[CORE_PATH_MAX];
  Cost costs[REPEATS];
  double cpu_s = INFINITY;
  TRY(store_path_database(root, path));
  for (int i = 0; i < REPEATS; i++) {
    unlink(path);
    TRY(run(root, &result, &costs[i]));
    if (result.rows != rows || result.damaged_lines)
      return core_error(CORE_FAIL, "imported %lld rows: %s", (long long)result.rows, result.first_damage);
    cpu_s = fmin(cpu_s, costs[i].cpu_s);
  }
  qsort(costs, REPEATS, sizeof *costs, by_wall);
  bench_row("store", name, "rows_per_second", (double)rows / costs[REPEATS / 2].wall_s, "1/s", 1);
  bench_row("store", name, "rows_per_second_best", (double)rows / costs[0].wall_s, "1/s", 1);
  bench_row("store", name, "rows_per_cpu_second", (double)rows / cpu_s, "1/s", 1);
  struct stat status;
  if (stat(path, &status) == 0)
    bench_row("store", name, "database_bytes_per_row", (double)status.st_size / (double)rows, "byte", 1);
  return CORE_OK;
}

static int bench_import(const char *root) {
  const int64_t rows = (int64_t)LONG_RUNS * LONG_ITERATIONS;
  double written = 0;
  for (int64_t seed = 0; seed < LONG_RUNS; seed++) TRY(write_run(root, seed, LONG_ITERATIONS, &written));
  bench_row("store", "log", "line", 1e6 * written / (double)rows, "us", 1);
  TRY(repeat(root, "import", rows, import));
  return repeat(root, "rebuild", rows, rebuild);
}

/* Writes a log of named metrics, as the supervisor of a program does: all names of one iteration after another. */
static int write_metrics(const char *root, int64_t seed) {
  CoreConfig config = core_config_default();
  char id[CORE_RUN_ID];
  StoreRunlog *log;
  config.train.seed = seed;
  TRY(store_run_prepare(root, &config, id));
  TRY(store_runlog_open(root, id, 1, STORE_LOG_METRICS, &log));
  for (int64_t i = 1; i <= METRIC_ITERATIONS; i++)
    for (int name = 0; name < METRIC_NAMES; name++) {
      StoreMetric row = {.iteration = i, .step = 2048.0 * (double)i, .value = 1.0 / (double)(i + name)};
      snprintf(row.name, sizeof row.name, "losses/metric_%d", name);
      store_runlog_metric(log, &row);
    }
  return store_runlog_close(&log);
}

static int bench_metrics(const char *root) {
  for (int64_t seed = 0; seed < METRIC_RUNS; seed++) TRY(write_metrics(root, seed));
  return repeat(root, "import of named metrics", (int64_t)METRIC_RUNS * METRIC_ITERATIONS * METRIC_NAMES, import);
}

static int write_file(const char *path, const char *data, size_t size) {
  FILE *file = fopen(path, "w");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
    return core_error_errno(CORE_FAIL, "cannot write %s", path);
  return CORE_OK;
}

/* Another run like `model` (an id), without the fsyncs that thousands of real ones would wait for. */
static int copy_run(const char *root, const char *model, int64_t seed) {
  static const char *const files[] = {"state", "stats.1.tsv"};
  char path[CORE_PATH_MAX], id[CORE_RUN_ID], *data;
  size_t size;
  CoreConfig config = core_config_default();
  CoreText ini = {0};
  config.train.seed = seed;
  core_config_id(&config, id);
  core_config_to_ini(&config, &ini);
  TRY(store_path_run(root, id, NULL, path));
  TRY(core_files_make_directories(path));
  TRY(store_path_run(root, id, "config.ini", path));
  TRY(write_file(path, ini.data, ini.length));
  core_text_free(&ini);
  for (size_t i = 0; i < 2; i++) {
    TRY(store_path_run(root, model, files[i], path));
    TRY(core_files_read(path, 0, &data, &size));
    char *named = strstr(data, model);
    if (named) memcpy(named, id, strlen(id));
    TRY(store_path_run(root, id, files[i], path));
    TRY(write_file(path, data, size));
    free(data);
  }
  return CORE_OK;
}

static int bench_many_runs(const char *root) {
  StoreImport result;
  Cost cost;
  char model[CORE_RUN_ID];
  double written = 0;
  CoreConfig config = core_config_default();
  core_config_id(&config, model);
  TRY(write_run(root, config.train.seed, SHORT_ITERATIONS, &written));
  for (int64_t seed = 1; seed < SHORT_RUNS; seed++) TRY(copy_run(root, model, seed));
  TRY(age_runs(root));
  TRY(import(root, &result, &cost));
  if (result.rows != SHORT_RUNS * SHORT_ITERATIONS || result.first_damage[0])
    return core_error(CORE_FAIL, "imported %lld rows: %s", (long long)result.rows, result.first_damage);
  bench_row("store", "import of 10000 short runs", "time", cost.wall_s, "s", 1);
  bench_row("store", "import of 10000 short runs", "cpu_time", cost.cpu_s, "s", 1);
  TRY(import(root, &result, &cost));
  if (result.rows != 0) return core_error(CORE_FAIL, "%lld rows were new again", (long long)result.rows);
  bench_row("store", "import of 10000 finished runs with nothing new", "time", 1e3 * cost.wall_s, "ms", 1);
  return CORE_OK;
}

static int bench(const char *base, int (*run)(const char *root)) {
  char root[CORE_PATH_MAX];
  TRY(core_files_path(root, "%s/bench_store.XXXXXX", base));
  if (!mkdtemp(root)) return core_error_errno(CORE_FAIL, "cannot make %s", root);
  int code = run(root);
  core_files_remove_tree(root);
  return code;
}

int main(void) {
  const char *temporary = getenv("TMPDIR");
  if (!temporary || !*temporary) temporary = "/tmp";
  int code = bench(temporary, bench_import);
  if (code == CORE_OK) code = bench(temporary, bench_metrics);
  /* Making forty thousand small files is slow on some disks, and is not what is measured. */
  if (code == CORE_OK) code = bench(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary, bench_many_runs);
  if (code != CORE_OK) fprintf(stderr, "bench_store: %s\n", core_error_message());
  return code;
}
