/* `analyze` on a large results.db: 2000 runs of 5000 iterations, 10 million rows. Creates the file, runs each command
 * on it and prints its wall time and peak memory as CSV rows.
 *   bench_large                            all of it, in a temporary directory (needs 5 GB of disk)
 *   bench_large make FILE RUNS ITERATIONS  only the file
 *   bench_large time FILE ANALYZE          only the commands
 *   bench_large plain FILE PLAIN           four columns of FILE as a plain table, for the peers */
#include <math.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "analysis_workspace.h"
#include "bench/bench.h"
#include "core/command/options.h"
#include "core/text.h"
#include "store/database/bulk_internal.h"

enum { SEEDS = 5, EVALUATIONS = 40 };

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* Settings of run r: PPO-EWMA and PPO in turn, over COM or epsilon, epochs and environments, 5 seeds each. */
static CoreConfig large_config(int64_t r, int64_t iterations) {
  static const double com[] = {2, 8, 32, 128, 512}, epsilon[] = {0.05, 0.1, 0.2, 0.4, 0.8};
  CoreConfig config = core_config_default();
  int64_t c = r / SEEDS;
  bool ewma = c % 2 == 0;
  snprintf(config.algo.name, sizeof config.algo.name, "%s", ewma ? "ppo_ewma" : "ppo");
  if (ewma) config.ppo.com = com[c / 2 % 5];
  else config.ppo.epsilon = epsilon[c / 2 % 5];
  config.ppo.epochs = (int64_t)1 << (c / 10 % 4);
  config.ppo.learning_rate = 1e-4 * (double)(1 + c / 40);
  config.env.num = 128;
  config.ppo.num_steps = WORKSPACE_NK / 128;
  config.train.total_steps = iterations * WORKSPACE_NK;
  config.train.seed = r % SEEDS;
  config.eval.count = EVALUATIONS;
  return config;
}

/* The nearest number of nine digits, as a run log has it. */
static double nine_digits(double value) {
  if (value == 0) return 0;
  double power = pow(10, 8 - floor(log10(fabs(value))));
  return round(value * power) / power;
}

/* A row as a trainer with the default settings measures it: 38 columns an iteration, those of the network's last layer
 * every tenth. All nine digits of each are noise, over half a decade or more, of a column's own. */
static StoreIteration large_iteration(const Workspace *w, const CoreConfig *config, int64_t i) {
  StoreIteration row = workspace_iteration(w, config, i);
  double *measured[] = {&row.kl,
                        &row.kl_reverse,
                        &row.ddr,
                        &row.entropy,
                        &row.grad_norm_actor,
                        &row.solve_rate,
                        &row.kl_k1,
                        &row.kl_k2,
                        &row.kl_k3,
                        &row.grad_norm_critic,
                        &row.grad_norm_actor_max,
                        &row.grad_norm_critic_max,
                        &row.update_norm_actor,
                        &row.update_norm_critic,
                        &row.clip_fraction,
                        &row.explained_variance,
                        &row.policy_loss,
                        &row.value_loss,
                        &row.advantage_mean,
                        &row.advantage_sd,
                        &row.episode_return,
                        &row.episode_length,
                        &row.steps_per_second,
                        &row.seconds_rollout,
                        &row.seconds_update,
                        &row.seconds_other,
                        &row.ess_percent,
                        &row.policy_variance,
                        &row.weight_norm_actor,
                        &row.weight_norm_critic,
                        &row.seconds_environment,
                        &row.seconds_metrics};
  enum { NOISY = sizeof measured / sizeof *measured, OF_WORKSPACE = 6 };
  double noise[NOISY + 3];
  for (uint32_t k = 0; k < NOISY; k += 4) {
    CoreRandom4 words =
      core_random_4((uint64_t)config->train.seed, CORE_RANDOM_TEST, (uint32_t)i, k, (uint32_t)config->ppo.epochs);
    for (uint32_t j = 0; j < 4 && k + j < NOISY + 3; j++) noise[k + j] = core_random_unit(words.v[j]);
  }
  for (size_t k = 0; k < NOISY; k++) {
    double scale = k < OF_WORKSPACE && !isnan(*measured[k]) ? *measured[k] : 0.1 + (double)k;
    *measured[k] = nine_digits(scale * (k < OF_WORKSPACE ? 0.95 + 0.1 * noise[k] : 0.4 + noise[k]));
  }
  row.wall_seconds = nine_digits(row.wall_seconds);
  row.learning_rate = config->ppo.learning_rate;
  row.grad_clipped_actor = row.grad_clipped_critic = 1;
  row.episodes = 130 + floor(32 * noise[0]);
  double *rare = &row.clip_fraction_silent; /* and what follows it, as far as dead_critic */
  double each_time[] = {row.weight_norm_actor, row.weight_norm_critic};
  for (double *value = rare; value <= &row.dead_critic && i % 10 == 1; value++)
    *value = nine_digits(noise[value - rare] * (double)(3 + (value - rare)));
  row.weight_norm_actor = each_time[0], row.weight_norm_critic = each_time[1];
  return row;
}

typedef struct Maker { StoreDatabase *database; StoreBulk *bulk; sqlite3_stmt *evaluation; Workspace workspace; } Maker;

static int make_rows(Maker *maker, const CoreConfig *config, const char id[CORE_RUN_ID]) {
  const Workspace *w = &maker->workspace;
  for (int64_t i = 0; i <= w->iterations; i++) {
    StoreIteration row = large_iteration(w, config, i);
    if (store_bulk_count(maker->bulk) == STORE_BULK_ROWS) {
      TRY(store_bulk_insert(maker->bulk));
      store_bulk_clear(maker->bulk);
    }
    if (i > 0) store_bulk_add(maker->bulk, id, &row);
    if (i * EVALUATIONS % w->iterations >= EVALUATIONS) continue;
    sqlite3_bind_text(maker->evaluation, 1, id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(maker->evaluation, 2, i);
    sqlite3_bind_double(maker->evaluation, 3, (double)(i * WORKSPACE_NK));
    sqlite3_bind_double(maker->evaluation, 4, row.solve_rate);
    TRY(store_database_run(maker->database, maker->evaluation));
  }
  TRY(store_bulk_insert(maker->bulk));
  store_bulk_clear(maker->bulk);
  return CORE_OK;
}

static int make_run(Maker *maker, int64_t r) {
  char id[CORE_RUN_ID], sql[256];
  CoreConfig config = large_config(r, maker->workspace.iterations);
  core_config_id(&config, id);
  TRY(store_database_put_run(maker->database, "large", r, &config, id));
  snprintf(sql, sizeof sql,
           "UPDATE run SET status = 'finished', attempt = 1, iteration = %lld, iterations = %lld WHERE"
           " key = %lld",
           (long long)maker->workspace.iterations, (long long)maker->workspace.iterations, (long long)r + 1);
  TRY(store_database_execute(maker->database, sql));
  return make_rows(maker, &config, id);
}

static int make_runs(Maker *maker, int64_t runs) {
  int code = CORE_OK;
  for (int64_t r = 0; r < runs && code == CORE_OK; r++) {
    code = store_database_begin(maker->database);
    if (code == CORE_OK && r == 0) code = store_database_put_sweep(maker->database, "large", "[sweep]\nname = large\n");
    if (code == CORE_OK) code = make_run(maker, r);
    if (code == CORE_OK) code = store_database_commit(maker->database);
  }
  return code;
}

/* Fills the database as an import of run logs would. */
static int make_file(const char *path, int64_t runs, int64_t iterations) {
  Maker maker = {.workspace = {NULL, iterations, EVALUATIONS, SEEDS}};
  TRY(store_database_open(path, false, &maker.database));
  int code = store_database_execute(maker.database, "PRAGMA synchronous = OFF");
  if (code == CORE_OK) code = store_bulk_create(maker.database, &maker.bulk);
  if (code == CORE_OK)
    code = store_database_prepare(maker.database,
                                  "INSERT INTO evaluation(run_id, iteration, level_set, transitions, solve_rate,"
                                  " episodes) VALUES(?1, ?2, 'train', ?3, ?4, 512)",
                                  &maker.evaluation);
  if (code == CORE_OK) code = make_runs(&maker, runs);
  sqlite3_finalize(maker.evaluation);
  store_bulk_destroy(&maker.bulk);
  store_database_close(&maker.database);
  return code;
}

/* ---- the commands ----------------------------------------------------------------------------------------------- */

static int threads(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* compared: the case of the peer that does the same (tests/bench/peers), NULL: none; rows: of the database. */
static int time_command(const char *analyze, const char *label, const char *compared, double rows,
                        char *const *arguments) {
  struct rusage usage;
  int status;
  double start = bench_seconds();
  pid_t child = fork();
  if (child < 0) return core_error_errno(CORE_FAIL, "fork");
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    execv(analyze, arguments);
    _exit(127);
  }
  if (wait4(child, &status, 0, &usage) < 0) return core_error_errno(CORE_FAIL, "wait4");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return core_error(CORE_FAIL, "analyze %s ended with status %d", label, WEXITSTATUS(status));
  double seconds = bench_seconds() - start;
  bench_row("analysis", label, "wall time", seconds, "s", threads());
  if (compared) bench_row("analysis", compared, "rows", rows / seconds, "1/s", threads());
  double user = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
  bench_row("analysis", label, "processor time", user, "s", threads());
  bench_row("analysis", label, "peak memory", (double)usage.ru_maxrss / 1024, "MB", threads());
  return CORE_OK;
}

static int time_all(const char *path, const char *analyze) {
  char output[CORE_PATH_MAX];
  struct stat status;
  sqlite3 *handle = NULL;
  double rows = 0;
  TRY(core_files_path(output, "%s.figures", path));
  char *file = (char *)path;
  char means[] = "SELECT run_id, avg(transitions), avg(kl), avg(solve_rate) FROM iteration GROUP BY run_id";
  const struct { const char *label, *compared; char *arguments[8]; } commands[] = {
    {"10 M rows: means by run in SQL", "results_group", {"analyze", "sql", file, means, NULL}},
    {"10 M rows: ddr-vs-solve", "results_ddr", {"analyze", "ddr-vs-solve", file, "-o", output, NULL}},
    {"10 M rows: curves of solve rates", NULL, {"analyze", "curves", file, "-o", output, NULL}},
    {"10 M rows: curves of KL", "results_read", {"analyze", "curves", file, "--y", "kl", "-o", output, NULL}},
    {"10 M rows: claims", NULL, {"analyze", "claims", file, NULL}},
    {"10 M rows: report", NULL, {"analyze", "report", file, "-o", output, NULL}},
  };
  if (stat(path, &status) == 0 && sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
    sqlite3_stmt *count = NULL;
    if (sqlite3_prepare_v2(handle, "SELECT sum(n) FROM iteration_bin", -1, &count, NULL) == SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW)
      bench_row("analysis", "results.db", "size", (double)status.st_size / (rows = sqlite3_column_double(count, 0)),
                "bytes/row", 1);
    sqlite3_finalize(count);
  }
  sqlite3_close(handle);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    TRY(time_command(analyze, commands[i].label, commands[i].compared, rows, commands[i].arguments));
  return CORE_OK;
}

/* The best that a program without our code could find: a table of the four columns and nothing else. */
static int make_plain(const char *path, const char *plain) {
  StoreDatabase *database = NULL;
  sqlite3_stmt *read = NULL, *write = NULL;
  sqlite3 *target = NULL;
  int step = SQLITE_DONE;
  TRY(store_database_open(path, true, &database));
  bool good = sqlite3_open(plain, &target) == SQLITE_OK &&
              sqlite3_exec(target,
                           "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; CREATE TABLE iteration(run_id TEXT,"
                           " transitions REAL, kl REAL, solve_rate REAL); BEGIN",
                           NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(target, "INSERT INTO iteration VALUES(?, ?, ?, ?)", -1, &write, NULL) == SQLITE_OK;
  int code = store_database_prepare(database, "SELECT run_id, transitions, kl, solve_rate FROM iteration", &read);
  while (good && code == CORE_OK && (step = sqlite3_step(read)) == SQLITE_ROW) {
    for (int c = 0; c < 4; c++) sqlite3_bind_value(write, c + 1, sqlite3_column_value(read, c));
    good = sqlite3_step(write) == SQLITE_DONE && sqlite3_reset(write) == SQLITE_OK;
  }
  good = good && step == SQLITE_DONE && sqlite3_exec(target, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
  if (!good && code == CORE_OK) code = core_error(CORE_FAIL, "%s: %s", plain, sqlite3_errmsg(target));
  sqlite3_finalize(read);
  sqlite3_finalize(write);
  sqlite3_close(target);
  store_database_close(&database);
  return code;
}

static int measure(void) {
  char directory[CORE_PATH_MAX], file[CORE_PATH_MAX], analyze[CORE_PATH_MAX];
  const char *temporary = getenv("TMPDIR"), *build = getenv("SWEEP_BUILD");
  TRY(core_files_path(directory, "%s/bench-large-XXXXXX", temporary ? temporary : "/tmp"));
  TRY(core_files_path(analyze, "%s/bin/analyze", build ? build : "build"));
  if (!mkdtemp(directory)) return core_error_errno(CORE_FAIL, "%s", directory);
  int code = core_files_path(file, "%s/results.db", directory);
  if (code == CORE_OK) code = make_file(file, 2000, 5000);
  if (code == CORE_OK) code = time_all(file, analyze);
  core_files_remove_tree(directory);
  return code;
}

int main(int argc, char **argv) {
  int64_t runs = 0, iterations = 0;
  bool make = argc == 5 && strcmp(argv[1], "make") == 0 && core_text_to_int(argv[3], &runs) && runs > 0 &&
              core_text_to_int(argv[4], &iterations) && iterations > 0;
  bool timed = argc == 4 && strcmp(argv[1], "time") == 0, plain = argc == 4 && strcmp(argv[1], "plain") == 0;
  if (argc > 1 && !make && !timed && !plain)
    return core_options_report("bench_large", core_error(CORE_USAGE, "expected nothing, `make FILE RUNS ITERATIONS`, "
                               "`time FILE ANALYZE`, or `plain FILE PLAIN`"));
  return core_options_report("bench_large", make    ? make_file(argv[2], runs, iterations)
                                            : timed ? time_all(argv[2], argv[3])
                                            : plain ? make_plain(argv[2], argv[3])
                                                    : measure());
}
