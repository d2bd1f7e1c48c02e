/* Checks of `sweep doctor`, which produce a list of findings. checkup.c checks the workspace and the programs,
 * checkup_slurm.c the cluster; doctor.c prints the list. */
#ifndef SWEEP_CHECKUP_H
#define SWEEP_CHECKUP_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "slurm/settings.h"

typedef enum SweepGrade { SWEEP_GOOD, SWEEP_NOTE, SWEEP_WARN, SWEEP_BAD } SweepGrade;
/* Returns "good", "note", "warning" or "bad". */
const char *sweep_grade_name(SweepGrade grade);

typedef struct SweepFinding {
  const char *name;             /* subject of the check: "file locks" */
  SweepGrade grade;
  char text[512];
  char advice[512];             /* "": nothing to do */
} SweepFinding;

typedef struct SweepCheckup {
  SweepFinding *findings;       /* [count] */
  size_t count;
  SweepGrade worst;
} SweepCheckup;

/* Appends a finding. advice NULL: none. */
void sweep_checkup_add(SweepCheckup *checkup, const char *name, SweepGrade grade, const char *advice,
                       const char *format, ...) CORE_PRINTF(5, 6);
void sweep_checkup_free(SweepCheckup *checkup);

/* Check the workspace (space, inodes, kind of file system, locks between processes, clock), and the trainer. */
void sweep_checkup_workspace(SweepCheckup *checkup, const char *root);
void sweep_checkup_trainer(SweepCheckup *checkup);

/* Checks Slurm: connection, limits, partitions and PMIx. job_s > 0: also runs a job on a node, and waits for it for as
 * many seconds. */
void sweep_checkup_slurm(SweepCheckup *checkup, const char *root, const SlurmSettings *settings, int job_s);

/* Runs in that job: writes "key=value" lines about its node to `path`.answer. `path` is a file of the workspace whose
 * lock the doctor holds meanwhile. */
int sweep_checkup_run_on_node(const char *path);

/* Returns the absolute path of "sweep" or "trainer" in the directory of the running program. */
int sweep_checkup_program(const char *name, char *path, size_t size);

/* Whether another process holds the lock of `path`. Tries to take it. */
bool sweep_checkup_is_locked(const char *path);

#endif
