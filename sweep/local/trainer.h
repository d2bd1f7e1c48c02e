/* Starting one trainer process for a run whose folder is prepared: the local executor's (job.c) and Slurm's tasks'
 * (task.c) way to do it. */
#ifndef SWEEP_TRAINER_H
#define SWEEP_TRAINER_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/files.h"

typedef struct SweepTrainer {
  const char *root, *id;
  const char *sweep;      /* whose recorded environment the trainer gets; NULL: this process's */
  bool is_program;        /* a user's program, started by `sweep supervise` instead of the trainer */
  int threads;            /* of one process */
  bool from_start;        /* forget checkpoints; else go on from the newest */
  const char *if_changed; /* what a run with a checkpoint of other code does: trainer --if-changed */
  /* On a cluster only: */
  int ranks, nodes;       /* more than one rank: started by srun */
  const char *mpi;        /* srun --mpi= */
  int slot;               /* index among the runs of a task, which selects its CPUs and GPUs; -1: the only run */
  double gpus_per_run;
} SweepTrainer;

/* Forks. The child writes its words to the run's log.txt, has default signals, and gets SIGTERM when this process dies.
 * A program that cannot be executed shows as exit code 127. */
int sweep_trainer_start(const SweepTrainer *trainer, pid_t *process);

/* The trainer beside this program; $SWEEP_TRAINER names another one. */
int sweep_trainer_program(char path[CORE_PATH_MAX]);

/* The last line of the run's log.txt that is not blank, without the program's name; "" when there is none. */
void sweep_trainer_last_line(const char *root, const char *id, char *line, size_t capacity);

#endif
