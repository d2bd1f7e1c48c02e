/* `make bench ONLY=sweep`: planning 100 000 runs (goal: under 1 s and 200 MB), submitting 10 000 without starting them
 * (under 0.5 s), and the status of 10 000 finished ones (under 0.2 s), on a fresh workspace in a temporary
 * directory. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "core/files.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/commands.h"
#include "sweep/plan/plan.h"
#include "sweep/spec/manifest.h"

/* 5 seeds * 100 * 100 * 2 cells, as a large study would span them; `seeds` scales it. */
static void experiment_text(int seeds, int com_count, CoreText *text) {
  core_text_appendf(text, "[sweep]\nname = bench\nseeds = %d\n[train]\ntotal_steps = 1e8\n[grid large]\n", seeds);
  core_text_append(text, "algo.name = ppo_ewma\nenv.level_count = 1..100\nnet.activation = tanh, relu\nppo.com = ");
  for (int i = 0; i < com_count; i++) core_text_appendf(text, "%s%g", i ? ", " : "", 1.5 * i + 0.25);
  core_text_append(text, "\n");
}

static int read_spec(int seeds, int com_count, SweepSpec *spec) {
  CoreText text = {0};
  experiment_text(seeds, com_count, &text);
  int code = sweep_spec_parse("bench.ini", core_text_string(&text), NULL, NULL, 0, spec);
  core_text_free(&text);
  return code;
}

/* Runs all of `sweep plan` except printing. */
static int bench_plan(const char *root) {
  SweepSpec spec;
  SweepPlan plan;
  struct rusage usage;
  double start = bench_seconds();
  TRY(read_spec(5, 100, &spec));
  int code = sweep_plan_make(root, &spec, &(SweepPlanOptions){0}, &plan);
  if (code == CORE_OK) {
    double seconds = bench_seconds() - start;
    getrusage(RUSAGE_SELF, &usage);
    bench_row("sweep", "plan", "runs", (double)plan.grid.runs, "runs", 1);
    bench_row("sweep", "plan", "time", seconds, "s", 1);
    bench_row("sweep", "plan", "memory_max", (double)usage.ru_maxrss / 1024, "MB", 1);
    sweep_plan_free(&plan);
  }
  sweep_spec_free(&spec);
  return code;
}

/* From the file's text to the manifest on disk; then again, when it is all known. */
static int bench_manifest(const char *root, const char *metric) {
  SweepSpec spec;
  SweepGrid grid = {0};
  SweepManifest manifest = {0};
  SweepManifestChange change;
  double start = bench_seconds();
  int code;
  TRY(read_spec(5, 10, &spec));
  TRY_GOTO(code, out, sweep_grid_expand(&spec, &grid));
  TRY_GOTO(code, out, sweep_manifest_record(root, &grid, &manifest, &change));
  double seconds = bench_seconds() - start;
  bench_row("sweep", "manifest", "runs", (double)manifest.count, "runs", 1);
  bench_row("sweep", "manifest", metric, seconds, "s", 1);
out:
  sweep_manifest_free(&manifest);
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
  return code;
}

/* A subcommand as main() calls it, its output thrown away: *seconds it took. */
static int time_command(int (*command)(int, char **), char **argv, double *seconds) {
  int argc = 0, null = open("/dev/null", O_WRONLY);
  while (argv[argc]) argc++;
  fflush(stdout);
  int out = dup(1);
  dup2(null, 1);
  double start = bench_seconds();
  int code = command(argc, argv);
  *seconds = bench_seconds() - start;
  fflush(stdout);
  dup2(out, 1);
  close(out);
  close(null);
  return code;
}

/* Every run of the manifest as the trainer leaves a finished one; one state is written for real and copied. */
static int finish_runs(const char *root, const SweepGrid *grid) {
  char path[CORE_PATH_MAX], id[CORE_RUN_ID], *state = NULL;
  size_t size = 0;
  for (size_t i = 0; i < grid->runs; i++) {
    CoreConfig config;
    sweep_grid_config(grid, i, &config);
    TRY(store_path_run(root, grid->ids[i], "state", path));
    if (i == 0) {
      StoreState finished = {.status = STORE_FINISHED, .attempt = 1, .iteration = 10, .iterations = 10,
                             .transitions = 1000, .transitions_total = 1000};
      TRY(store_run_prepare(root, &config, id));
      TRY(store_run_state_write(root, id, &finished));
      TRY(core_files_read(path, 0, &state, &size));
      continue;
    }
    char directory[CORE_PATH_MAX];
    TRY(store_path_run(root, grid->ids[i], NULL, directory));
    TRY(core_files_make_directories(directory));
    FILE *file = fopen(path, "w");
    if (!file || fwrite(state, 1, size, file) != size) return core_error_errno(CORE_FAIL, "%s", path);
    fclose(file);
    CoreText text = {0};
    core_config_to_ini(&config, &text);
    TRY(store_path_run(root, grid->ids[i], "config.ini", path));
    file = fopen(path, "w");
    if (!file || fwrite(text.data, 1, text.length, file) != text.length) return core_error_errno(CORE_FAIL, "%s", path);
    fclose(file);
    core_text_free(&text);
  }
  free(state);
  return CORE_OK;
}

static int bench_commands(const char *root) {
  char experiment[CORE_PATH_MAX];
  CoreText text = {0};
  SweepSpec spec;
  SweepGrid grid;
  double seconds;
  experiment_text(5, 10, &text);
  TRY(core_files_path(experiment, "%s/bench.ini", root));
  TRY(core_files_write_atomic(experiment, text.data, text.length));
  core_text_free(&text);
  char *submit[] = {"submit", experiment, "--no-start", "--root", (char *)root, NULL};
  TRY(time_command(sweep_submit, submit, &seconds));
  bench_row("sweep", "submit_10000", "time", seconds, "s", 1);
  TRY(read_spec(5, 10, &spec));
  TRY(sweep_grid_expand(&spec, &grid));
  TRY(finish_runs(root, &grid));
  sweep_grid_free(&grid);
  sweep_spec_free(&spec);
  char *status[] = {"status", "--root", (char *)root, NULL};
  TRY(time_command(sweep_status, status, &seconds));
  bench_row("sweep", "status_10000_first", "time", seconds, "s", 1);
  sleep(3); /* directories that changed in the last seconds are looked at once more */
  TRY(time_command(sweep_status, status, &seconds));
  TRY(time_command(sweep_status, status, &seconds));
  bench_row("sweep", "status_10000", "time", seconds, "s", 1);
  return CORE_OK;
}

int main(void) {
  char root[CORE_PATH_MAX];
  const char *temporary = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/bench_sweep.XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(root)) return core_options_report("bench_sweep", core_error_errno(CORE_FAIL, "%s", root));
  int code = bench_plan(root); /* first: the memory is the process's maximum */
  if (code == CORE_OK) code = bench_manifest(root, "write_time");
  if (code == CORE_OK) code = bench_manifest(root, "write_again_time");
  core_files_remove_tree(root);
  if (code == CORE_OK && core_files_make_directories(root) == CORE_OK) code = bench_commands(root);
  core_files_remove_tree(root);
  return code == CORE_OK ? 0 : core_options_report("bench_sweep", code);
}
