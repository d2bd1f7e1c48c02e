/* Removing a sweep, its stale runs, or one run: what would go, whether it may, and doing it. `sweep rm` (remove.c) asks
 * first.
 *
 * A removal that is killed can be repeated: folders go one by one, each renamed before it is emptied; then the rows of
 * results.db; and a sweep's own folder, which says what belongs to it, goes last. */
#ifndef SWEEP_REMOVAL_H
#define SWEEP_REMOVAL_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/spec/manifest.h"

typedef struct SweepRemoval {
  char name[SWEEP_NAME];      /* the sweep; "": a run that no sweep has */
  bool whole;                 /* the sweep itself too */
  SweepManifest manifest;     /* of `name`; empty without */
  bool *goes;                 /* [manifest.count]: the runs that go; NULL: of one run */
  char (*ids)[CORE_RUN_ID];   /* [count]: the same, as a list */
  size_t count;
  size_t shared;              /* asked for, but other sweeps have them too: they stay */
  double bytes;               /* of the folders that go */
} SweepRemoval;

/* All of a sweep; stale: only the runs that its file, as it was last submitted, no longer has. */
int sweep_removal_plan_sweep(const char *root, const char *name, bool stale, SweepRemoval *removal);
/* A run; CORE_USAGE when several sweeps have it. */
int sweep_removal_plan_run(const char *root, const char *id, SweepRemoval *removal);
/* CORE_USAGE: some of it runs or is in a queue; says which, and what ends it. */
int sweep_removal_check(const char *root, const SweepRemoval *removal);
/* The same once more, as somebody may have submitted since, under the sweep's lock of submissions where it has one.
 * CORE_FAIL at once while somebody submits. core_files_unlock. */
int sweep_removal_lock(const char *root, const SweepRemoval *removal, int *lock);
/* Removes a folder, out of everybody's sight first; one that is not there is no error. */
int sweep_removal_delete_dir(const char *path);
/* Whether a removal of that folder was interrupted and has left some of it. */
bool sweep_removal_is_unfinished(const char *path);
/* Removes what an interrupted removal has left of a sweep that has no folder any more. *finished: there was some. */
int sweep_removal_resume(const char *root, const char *name, bool *finished);
/* Bytes on the disk that removing the folder frees. */
double sweep_removal_bytes(const char *path);
/* Does it. Of the runs that were chosen those stay that the sweep's file has again by now, or that another sweep has
 * taken up; *removal is then what has gone. CORE_FAIL: all of a sweep was to go, and it has got more runs since, or
 * somebody submits it just now; CORE_USAGE: the run belongs to several sweeps by now, or is in a queue. */
int sweep_removal_execute(const char *root, SweepRemoval *removal);
void sweep_removal_free(SweepRemoval *removal);

#endif
