/* What people said of a sweep and its runs (store/workspace/annotations.h), for status, report and their JSON. */
#ifndef SWEEP_SAID_H
#define SWEEP_SAID_H
#include "store/workspace/annotations.h"
#include "sweep/spec/archived.h"
#include "sweep/spec/manifest.h"

typedef struct SweepSaidRun { size_t index; StoreAnnotations said; } SweepSaidRun;

typedef struct SweepSaid {
  StoreAnnotations sweep;
  SweepSaidRun *run;          /* [runs] of those of which something is said, by index */
  size_t runs, pinned;        /* pinned: its index; SIZE_MAX: no run of the sweep is pinned */
  char archived[SWEEP_ARCHIVED_DAY]; /* since when; "": it is not */
} SweepSaid;

/* All annotations of a workspace: read once for many sweeps. */
typedef struct SweepSaidFile {
  StoreSubject subject;
  char name[SWEEP_NAME];      /* a sweep's, or a run's id */
  StoreAnnotations said;
} SweepSaidFile;
typedef struct SweepSaidFiles { SweepSaidFile *file; size_t count; } SweepSaidFiles;

/* Files that cannot be read are told to the log, unless `is_quiet`, and count as saying nothing. */
void sweep_said_files(const char *root, bool is_quiet, SweepSaidFiles *files);
void sweep_said_files_free(SweepSaidFiles *files);

/* What of it is of a sweep. */
void sweep_said_read(const char *root, const char *name, const SweepSaidFiles *files, SweepSaid *said);
void sweep_said_free(SweepSaid *said);

/* Of run `index`; NULL: nothing. */
const StoreAnnotations *sweep_said_of(const SweepSaid *said, size_t index);
/* Has the run this tag, or its sweep? NULL: any will do. */
bool sweep_said_is_tagged(const SweepSaid *said, size_t index, const char *tag);
/* Has the sweep this tag, or one of its runs? */
bool sweep_said_has_tag(const SweepSaid *said, const char *tag);

/* Appends lines: archived, tags, note, the pinned run; nothing where nothing is said. */
void sweep_said_draw(const SweepSaid *said, const char *name, CoreText *text);
/* Adds "tags", "note", "pinned" and "archived" to a sweep's object, "tags" and "note" to a run's. */
void sweep_said_add(const SweepSaid *said, json_t *object);
void sweep_said_add_run(const SweepSaid *said, size_t index, json_t *object);

#endif
