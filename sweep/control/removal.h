/* Removal of a sweep, its stale runs, or one run: selects what is removed, checks that it may be, and removes it.
 * `sweep rm` (remove.c) asks for confirmation.
 *
 * A removal that is killed can be repeated: directories are removed one by one, each renamed before it is emptied;
 * then the rows of results.db; and last the sweep's own directory, which lists what belongs to it. */
#ifndef SWEEP_REMOVAL_H
#define SWEEP_REMOVAL_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/spec/manifest.h"

typedef struct SweepRemovedRun {
  char id[CORE_RUN_ID];
  double bytes;               /* size on disk; 0 before sweep_removal_measure */
} SweepRemovedRun;

typedef struct SweepRemoval {
  char name[SWEEP_NAME];      /* the sweep; "": a run that is in no sweep */
  bool is_whole_sweep;        /* the sweep itself is removed, too */
  SweepManifest manifest;     /* manifest of `name`; empty for a single run */
  bool *is_removed;           /* [manifest.count] whether the run leaves the sweep; NULL for a single run */
  char (*ids)[CORE_RUN_ID];   /* [count] runs whose directories are removed */
  SweepRemovedRun *by_directory; /* [count] the same, sorted: a disk reads neighbors several times as fast */
  size_t count;
  size_t shared;              /* runs that leave the sweep but stay, since other sweeps have them */
  double bytes;               /* size on disk of what is removed; 0 before sweep_removal_measure */
} SweepRemoval;

/* Selects a whole sweep; stale: only the runs that its file, as last submitted, no longer has. */
int sweep_removal_plan_sweep(const char *root, const char *name, bool stale, SweepRemoval *removal);
/* Selects one run. CORE_USAGE: several sweeps have it. */
int sweep_removal_plan_run(const char *root, const char *id, SweepRemoval *removal);
/* Adds up the size on disk, which reads all directories. */
int sweep_removal_measure(const char *root, SweepRemoval *removal);
/* Checks that nothing of it is running or queued. CORE_USAGE: something is; the message says how to end it. */
int sweep_removal_check(const char *root, const SweepRemoval *removal);
/* Takes the sweep's submission lock, if it has one, and checks again. CORE_FAIL at once during a submission. The caller
 * calls core_files_unlock. */
int sweep_removal_lock(const char *root, const SweepRemoval *removal, int *lock);
/* Deletes a directory, after renaming it, together with what an interrupted removal has left of it. Links are removed,
 * never followed. An absent directory is not an error. */
int sweep_removal_delete_dir(const char *path);
/* Whether an interrupted removal of that directory has left a part of it. */
bool sweep_removal_is_unfinished(const char *path);
/* Completes an interrupted removal of a sweep whose directory is gone. *finished: there was one. */
int sweep_removal_resume(const char *root, const char *name, bool *finished);
/* Returns the number of bytes on disk that deleting the directory frees. */
double sweep_removal_bytes(const char *path);
/* Removes the selection, except runs that the sweep's file has again by now or that another sweep has taken up;
 * *removal is then what was removed. CORE_FAIL: the whole sweep was selected and has new runs, or is being submitted;
 * CORE_USAGE: the run is in several sweeps by now, or is queued. */
int sweep_removal_execute(const char *root, SweepRemoval *removal);
void sweep_removal_free(SweepRemoval *removal);

#endif
