/* Checks that the runs of a grid would start. Finds whatever makes a trainer fail at its start before anything is
 * queued: levels, encoders, parents, evaluation sets, memory, and commands of programs. For plan and submit. */
#ifndef SWEEP_CHECK_H
#define SWEEP_CHECK_H
#include "core/config/config.h"
#include "core/text.h"
#include "slurm/settings.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/resources.h"

typedef struct SweepCheckOptions {
  const char *root;
  const SweepResources *resources; /* requested memory and GPUs; NULL: those of this machine */
  bool in_root;                    /* working directory of runs: the workspace (on a cluster), else the current one */
  double seconds;                  /* time limit of the check; 0: none */
} SweepCheckOptions;

/* Number of configurations. Those that differ only in settings that cannot affect a start count as one. */
typedef struct SweepCheckSummary {
  size_t distinct, checked;
  char problem[512]; /* why the trainer could not check them; "": none */
} SweepCheckSummary;

/* Checks all runs. CORE_USAGE: some would not start; the message has file and line of the setting, the reason and the
 * number of runs, once per reason. Memory limits that are unknown here are warnings. */
int sweep_check_grid(const SweepCheckOptions *check, const SweepGrid *grid, SweepCheckSummary *checked);

/* ---- duplicates.c ------------------------------------------------------------------------------------------------ */

/* Finds runs of a grid that are duplicates of one another. They arise when a swept setting is not read by the
 * algorithm: each run then has its own id, but results are bit-identical. */

/* Checks the grid. CORE_USAGE: it has duplicates; the message has file, line, the setting, why it is not read, the
 * number of runs and a remedy. Only a warning for a sweep that was already submitted (a frozen file). Does nothing if
 * [sweep] unread = allow. */
int sweep_duplicates_check(const SweepGrid *grid);

/* ---- program_check.c --------------------------------------------------------------------------------------------- */

/* Appends the first problem with a remedy to `problem`; nothing if there is none, or no program. is_remote: the runs
 * start on a cluster, whose nodes have another PATH. */
int sweep_program_check(const char *root, const SweepGrid *grid, bool is_remote, CoreText *problem);

/* ---- workers of environments ------------------------------------------------------------------------------------- */

/* Python processes of a run: environments of gym/, atari/ and envpool/ are stepped by worker processes, which
 * hold memory and processors of the same job. */

/* Counts the processes that a rank has at once: one that describes the environment, and env.workers for training and
 * for evaluation each; 0: its environments are not in Python. */
int64_t sweep_workers_count(const CoreConfig *config);
/* Returns a lower bound of their memory in bytes: an interpreter with Gymnasium and NumPy takes some 25 MB without its
 * environments. */
double sweep_workers_bytes(const CoreConfig *config, int64_t ranks);
/* Appends the number of processes and their memory, and whether [slurm] has too few processors for them; nothing if
 * there are none. slurm NULL: there is no [slurm]. */
void sweep_workers_describe(const CoreConfig *config, const SlurmSettings *slurm, CoreText *text);

#endif
