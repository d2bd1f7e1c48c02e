/* What one submission hands to Slurm: sweeps/<name>/batches/<number>.tsv, written before Slurm is asked, never changed
 * afterwards. It holds all that a task needs, so that tasks which wait for days do not depend on what is edited
 * meanwhile; job scripts carry only its number and a task's index.
 *
 *   # batch 1 <name> <number>
 *   root <tab> /home/ada/study               the workspace: jobs of the same sweep in another one are not ours
 *   set <tab> slurm.cpus_per_run=4           resources and manner, what differs from the defaults
 *   program <tab> command = "python3 ..."    [program], [settings] and [metric], a line each; of the trainer none
 *   base <tab> ppo.epochs=8                  settings of all runs, what differs from the defaults
 *   index <tab> run <tab> settings ...
 *   12 <tab> 0123456789abcdef <tab> ppo.com=8 <tab> train.seed=3
 *
 * Task t of the batch carries out lines t*runs_per_task .. of its list. A batch is split into one or more Slurm arrays;
 * the journal (journal.h) knows which. */
#ifndef SWEEP_BATCH_H
#define SWEEP_BATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/text.h"
#include "slurm/settings.h"

enum { SWEEP_HASH = 17 };

typedef struct SweepBatchRun {
  int64_t index;
  const char *id;
  const char *settings;
} SweepBatchRun; /* settings: "k=v<tab>k=v" */

typedef struct SweepBatch {
  int64_t number;
  char hash[SWEEP_HASH];       /* of the file's bytes: part of the jobs' comments */
  bool force;                  /* start finished and diverged runs over */
  SlurmSettings settings;
  SweepBatchRun *runs;
  size_t count;
  CoreConfig base;
  char *memory;                /* owns the texts */
} SweepBatch;

/* A batch file is put together as text, so that a preview can have its hash without the file: its head, then a line for
 * each run, of what differs from `base`. */
void sweep_batch_append_head(const char *root, const char *name, int64_t number, const SlurmSettings *settings,
                             bool force,
                       const CoreConfig *base, CoreText *text);
void sweep_batch_append_run(const CoreConfig *base, int64_t index, const char *id, const CoreConfig *config,
                            CoreText *text);
void sweep_batch_hash(const CoreText *text, char hash[SWEEP_HASH]);
/* Writes it, once and for all: nobody may know the number yet. */
int sweep_batch_write(const char *root, const char *name, int64_t number, const CoreText *text);

/* Reads one. CORE_FAIL: not there, or damaged (with the line). Caller frees. */
int sweep_batch_read(const char *root, const char *name, int64_t number, SweepBatch *batch);
void sweep_batch_free(SweepBatch *batch);

/* Does it start runs over that are done? Reads no more than its head; false when that cannot be read. */
bool sweep_batch_is_forced(const char *root, const char *name, int64_t number);

/* The configuration of line `line`. CORE_FAIL when it does not come to the id that stands beside it. */
int sweep_batch_config(const SweepBatch *batch, size_t line, CoreConfig *config);

/* The file that the batch scripts of one array write to; shared by arrays of a batch that has very many. */
int sweep_batch_output(const char *root, const char *name, int64_t number, int64_t array, char path[CORE_PATH_MAX]);

/* The run whose checkpoint line `line` begins from (init.from = run:<id>). false: none, or a file. */
bool sweep_batch_parent(const SweepBatch *batch, size_t line, char id[CORE_RUN_ID]);

#endif
