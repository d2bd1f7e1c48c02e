/* Starts a trainer process for a run whose directory is prepared. Used by the local executor (job.c) and by Slurm tasks
 * (attempt.c). */
#ifndef SWEEP_TRAINER_H
#define SWEEP_TRAINER_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/config/config.h"
#include "core/files.h"

typedef struct SweepTrainer {
  const char *root, *id;
  const CoreConfig *config; /* expected content of config.ini, which others may write meanwhile */
  const char *sweep;      /* sweep whose recorded environment the trainer gets; NULL: inherit this process's */
  int threads;            /* per process */
  bool from_start;        /* ignore checkpoints; otherwise resume from the newest */
  const char *if_changed; /* action if a checkpoint was made by other code: trainer --if-changed */
  /* On clusters only: */
  int ranks, nodes;       /* more than one rank: started through srun */
  const char *mpi;        /* srun --mpi= */
  int slot;               /* index among the runs of a task, which selects its CPUs and GPUs; -1: the only run */
  double gpus_per_run;
} SweepTrainer;

/* Forks the trainer. It writes its output to the run's log.txt, has default signal handling, and gets SIGTERM if this
 * process dies. A program that cannot be executed gives exit code 127. */
int sweep_trainer_start(const SweepTrainer *trainer, pid_t *process);

/* Kills the processes of a user's program that its killed supervisor has left. */
void sweep_trainer_kill_rest(const char *root, const char *id);

/* Returns the path of the trainer: $SWEEP_TRAINER, or the one in this program's directory. */
int sweep_trainer_program(char path[CORE_PATH_MAX]);

/* Copies the last non-blank line of the run's log.txt, without the program's name; "": none. */
void sweep_trainer_last_line(const char *root, const char *id, char *line, size_t capacity);

#endif
