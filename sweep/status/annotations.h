/* What people said of a sweep and its runs (store/workspace/annotations.h), for status, report and their JSON. */
#ifndef SWEEP_ANNOTATIONS_H
#define SWEEP_ANNOTATIONS_H
#include "store/workspace/annotations.h"
#include "sweep/spec/archived.h"
#include "sweep/spec/manifest.h"

typedef struct SweepRunAnnotations {
  size_t index;
  StoreAnnotations annotations;
} SweepRunAnnotations;

typedef struct SweepAnnotations {
  StoreAnnotations sweep;
  SweepRunAnnotations *run;          /* [runs] of those of which something is said, by index */
  size_t runs, pinned;               /* pinned: its index; SIZE_MAX: no run of the sweep is pinned */
  char archived[SWEEP_ARCHIVED_DAY]; /* since when; "": it is not */
} SweepAnnotations;

/* All annotations of a workspace: read once for many sweeps. */
typedef struct SweepAnnotationFile {
  StoreSubject subject;
  char name[SWEEP_NAME]; /* a sweep's, or a run's id */
  StoreAnnotations annotations;
} SweepAnnotationFile;
typedef struct SweepAnnotationFiles {
  SweepAnnotationFile *file;
  size_t count;
} SweepAnnotationFiles;

/* Files that cannot be read are told to the log, unless `is_quiet`, and count as saying nothing. */
void sweep_annotation_files_read(const char *root, bool is_quiet, SweepAnnotationFiles *files);
void sweep_annotation_files_free(SweepAnnotationFiles *files);

/* What of it is of a sweep. */
void sweep_annotations_select(const char *root, const char *name, const SweepAnnotationFiles *files,
                              SweepAnnotations *annotations);
void sweep_annotations_free(SweepAnnotations *annotations);

/* Of run `index`; NULL: nothing. */
const StoreAnnotations *sweep_annotations_find_run(const SweepAnnotations *annotations, size_t index);
/* Has the run this tag, or its sweep? NULL: any will do. */
bool sweep_annotations_run_has_tag(const SweepAnnotations *annotations, size_t index, const char *tag);
/* Has the sweep this tag, or one of its runs? */
bool sweep_annotations_has_tag(const SweepAnnotations *annotations, const char *tag);

/* Appends lines: archived, tags, note, the pinned run; nothing where nothing is said. */
void sweep_annotations_draw(const SweepAnnotations *annotations, const char *name, CoreText *text);
/* Adds "tags", "note", "pinned" and "archived" to a sweep's object, "tags" and "note" to a run's. */
void sweep_annotations_add_json(const SweepAnnotations *annotations, json_t *object);
void sweep_annotations_add_run_json(const SweepAnnotations *annotations, size_t index, json_t *object);

#endif
