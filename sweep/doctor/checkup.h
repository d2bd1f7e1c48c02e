/* What `sweep doctor` looks at, as a list of findings. checkup.c looks at the workspace and the programs,
 * checkup_slurm.c at the cluster; doctor.c prints. */
#ifndef SWEEP_CHECKUP_H
#define SWEEP_CHECKUP_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"
#include "slurm/settings.h"

typedef enum SweepGrade { SWEEP_GOOD, SWEEP_NOTE, SWEEP_WARN, SWEEP_BAD } SweepGrade;
const char *sweep_grade_name(SweepGrade grade); /* "good", "note", "warning", "bad" */

typedef struct SweepFinding {
  const char *name;             /* "file locks" */
  SweepGrade grade;
  char text[512], advice[512];  /* advice "": nothing to do */
} SweepFinding;

typedef struct SweepCheckup {
  SweepFinding *findings;
  size_t count;
  SweepGrade worst;
} SweepCheckup;

/* Appends a finding. advice NULL: none. */
void sweep_checkup_add(SweepCheckup *checkup, const char *name, SweepGrade grade, const char *advice,
                       const char *format, ...) CORE_PRINTF(5, 6);
void sweep_checkup_free(SweepCheckup *checkup);

/* The workspace: space, inodes, kind of filesystem, locks between processes, its clock; and the programs. */
void sweep_checkup_workspace(SweepCheckup *checkup, const char *root);
void sweep_checkup_trainer(SweepCheckup *checkup);

/* Slurm: reached or not, its limits and partitions, PMIx. job_s > 0: also a job on a node, for which is
 * waited so long. */
void sweep_checkup_slurm(SweepCheckup *checkup, const char *root, const SlurmSettings *settings, int job_s);

/* What that job executes: writes "key=value" lines about its node into `path`, a file of the workspace whose lock the
 * doctor holds meanwhile. */
int sweep_checkup_run_on_node(const char *path);

/* sweep, trainer: absolute paths of the programs beside the one that runs. */
int sweep_checkup_program(const char *name, char *path, size_t size);

/* Is the lock of `path` held by another process? Tries to take it. */
bool sweep_checkup_is_locked(const char *path);

#endif
