/* Starts a run whose directory is prepared: its trainer, or the supervisor of its program (`sweep supervise`), below
 * srun for several ranks of a trainer. */
#ifndef SWEEP_TRAINER_H
#define SWEEP_TRAINER_H
#include <stdbool.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/files.h"

typedef struct SweepTrainer {
  const char *root, *id;    /* workspace, run */
  const char *sweep;
  const CoreConfig *config; /* expected content of config.ini, which others may write meanwhile */
  bool applies_environment; /* whether it gets the sweep's recorded environment; otherwise this process's */
  int threads;              /* per process */
  bool from_start;          /* ignores checkpoints; otherwise it resumes from the newest */
  bool force;               /* restarts if a checkpoint was made by other code; otherwise sweeps/<name>/kept decides */
  /* On clusters only: */
  int ranks, nodes;         /* more than one rank: started through srun */
  const char *mpi;          /* srun --mpi= */
  int slot;                 /* index among the runs of a task, which selects its CPUs and GPUs; -1: the only run */
  double gpus_per_run;
} SweepTrainer;

/* Forks the trainer. It appends its output to the run's log.txt, and gets SIGTERM if this process dies. */
int sweep_trainer_start(const SweepTrainer *trainer, pid_t *process);

/* Returns the path of the trainer: $SWEEP_TRAINER, or the one in this program's directory. */
int sweep_trainer_program(char path[CORE_PATH_MAX]);

#endif
