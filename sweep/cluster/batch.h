/* Batch: the runs of one submission to Slurm, sweeps/<name>/batches/<number>.tsv. The file is written before Slurm is
 * called and never changed afterwards. It contains everything that a task needs, so that tasks which wait for days do
 * not depend on files that are edited meanwhile. Job scripts contain only the batch number and an array index.
 *
 *   # batch 1 <name> <number>
 *   root <tab> /home/ada/study               workspace: distinguishes jobs of the same sweep name elsewhere
 *   set <tab> slurm.cpus_per_run=4           Slurm settings that differ from the defaults
 *   program <tab> command = "python3 ..."    [program], [settings] and [metric], one line per line; absent otherwise
 *   base <tab> ppo.epochs=8                  settings common to all runs that differ from the defaults
 *   index <tab> run <tab> settings ...
 *   12 <tab> 0123456789abcdef <tab> ppo.com=8 <tab> train.seed=3
 *
 * Task t of the batch executes lines t*runs_per_task .. of its list. A batch is split into one or more Slurm arrays,
 * which the journal lists (journal.h). */
#ifndef SWEEP_BATCH_H
#define SWEEP_BATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/text.h"
#include "slurm/settings.h"

enum { SWEEP_HASH = 17 }; /* hex digits and NUL */

typedef struct SweepBatchRun {
  int64_t index;               /* manifest index */
  const char *id;
  const char *settings;        /* "key=value<tab>key=value" */
} SweepBatchRun;

typedef struct SweepBatch {
  int64_t number;
  char hash[SWEEP_HASH];       /* hash of the file's bytes; part of the jobs' comments */
  bool force;                  /* restart finished and diverged runs */
  bool is_own;                 /* this user has written it, from a trusted sweep */
  SlurmSettings settings;
  SweepBatchRun *runs;         /* [count] */
  size_t count;
  CoreConfig base;
  char *memory;                /* owner of the strings */
} SweepBatch;

/* Append the head of a batch file, and a line with the settings of one run that differ from `base`. The file is built
 * in memory so that a preview has its hash. */
void sweep_batch_append_head(const char *root, const char *name, int64_t number, const SlurmSettings *settings,
                             bool force,
                       const CoreConfig *base, CoreText *text);
void sweep_batch_append_run(const CoreConfig *base, int64_t index, const char *id, const CoreConfig *config,
                            CoreText *text);
void sweep_batch_hash(const CoreText *text, char hash[SWEEP_HASH]);
/* Writes a new batch file. The number must not be known to any other process yet. */
int sweep_batch_write(const char *root, const char *name, int64_t number, const CoreText *text);

/* Reads a batch. CORE_FAIL: it is absent or damaged; the message names the line. The caller frees. */
int sweep_batch_read(const char *root, const char *name, int64_t number, SweepBatch *batch);
void sweep_batch_free(SweepBatch *batch);

/* Whether the batch restarts finished runs. Reads only its head; false if that cannot be read. */
bool sweep_batch_is_forced(const char *root, const char *name, int64_t number);

/* Reads the configuration of a line. CORE_FAIL if its run id differs from that in the line. */
int sweep_batch_config(const SweepBatch *batch, size_t line, CoreConfig *config);

/* Returns the output file of an array's batch scripts. Arrays of a very large batch share files. */
int sweep_batch_output(const char *root, const char *name, int64_t number, int64_t array, char path[CORE_PATH_MAX]);

/* Returns the parent of a line's run (init.from = run:<id>). False: it has none, or starts from a file. */
bool sweep_batch_parent(const SweepBatch *batch, size_t line, char id[CORE_RUN_ID]);

#endif
