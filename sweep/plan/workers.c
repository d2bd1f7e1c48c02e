/* Counts the Python processes of a run. */
#include "sweep/plan/workers.h"

#include "store/code/code.h"

static const double WORKER_BYTES = 25e6; /* measured: 25 MB not shared with others, 40 MB with them */

static int64_t min_int(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t sweep_workers_count(const CoreConfig *config) {
  if (!store_code_needs_python(config->env.task)) return 0;
  const int64_t workers = min_int(config->env.workers, config->env.num);
  return 1 + workers + (config->eval.count > 0 ? min_int(workers, config->eval.episodes) : 0);
}

double sweep_workers_bytes(const CoreConfig *config, int64_t ranks) {
  return (double)(ranks * sweep_workers_count(config)) * WORKER_BYTES;
}

void sweep_workers_describe(const CoreConfig *config, const SlurmSettings *slurm, CoreText *text) {
  const int64_t count = sweep_workers_count(config), ranks = slurm ? slurm->ranks_per_run : 1;
  char bytes[32];
  if (count == 0) return;
  core_text_appendf(text, "%lld Python processes per %s: at least %sB of memory, without the trainer", (long long)count,
                    ranks > 1 ? "rank" : "run", core_text_count(sweep_workers_bytes(config, 1), bytes));
  if (slurm && config->env.workers > slurm->cpus_per_run)
    core_text_appendf(text, "; %lld of them step at once, and slurm.cpus_per_run = %lld",
                      (long long)config->env.workers, (long long)slurm->cpus_per_run);
}
