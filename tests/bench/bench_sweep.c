/* `make bench ONLY=sweep`: planning 100 000 runs (goal: under 1 s and 200 MB) and writing the manifest of 10 000 (under
 * 0.5 s), on a fresh workspace in a temporary folder. */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "core/files.h"
#include "sweep/manifest.h"
#include "sweep/plan.h"

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

/* The whole of `sweep plan` but for printing. */
static int bench_plan(const char *root) {
  SweepSpec spec;
  SweepPlan plan;
  struct rusage usage;
  double start = bench_seconds();
  TRY(read_spec(5, 100, &spec));
  int code = sweep_plan_make(root, &spec, &plan);
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

int main(void) {
  char root[CORE_PATH_MAX];
  const char *temporary = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/bench_sweep.XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(root)) return core_options_report("bench_sweep", core_error_errno(CORE_FAIL, "%s", root));
  int code = bench_plan(root); /* first: the memory is the process's maximum */
  if (code == CORE_OK) code = bench_manifest(root, "write_time");
  if (code == CORE_OK) code = bench_manifest(root, "write_again_time");
  core_files_remove_tree(root);
  return code == CORE_OK ? 0 : core_options_report("bench_sweep", code);
}
