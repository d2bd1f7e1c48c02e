/* Annotations of a sweep and its runs (store/workspace/annotations.h): tags, notes, the pinned run. For status, report
 * and their JSON. */
#ifndef SWEEP_ANNOTATIONS_H
#define SWEEP_ANNOTATIONS_H
#include "store/workspace/annotations.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/markers.h"

typedef struct SweepRunAnnotations {
  size_t index;
  StoreAnnotations annotations;
} SweepRunAnnotations;

typedef struct SweepAnnotations {
  StoreAnnotations sweep;
  SweepRunAnnotations *run;          /* [runs] annotated runs, by index */
  size_t runs, pinned;               /* pinned: index of the pinned run; SIZE_MAX: none */
  char archived[SWEEP_ARCHIVED_DAY]; /* day on which it was archived; "": it is not */
} SweepAnnotations;

/* All annotations of a workspace, read once for many sweeps. */
typedef struct SweepAnnotationFile {
  StoreSubject subject;
  char name[SWEEP_NAME]; /* sweep's name, or run id */
  StoreAnnotations annotations;
} SweepAnnotationFile;
typedef struct SweepAnnotationFiles {
  SweepAnnotationFile *file;
  size_t count;
} SweepAnnotationFiles;

/* Reads all annotation files. Warns of files that cannot be read, unless `is_quiet`, and skips them. */
void sweep_annotation_files_read(const char *root, bool is_quiet, SweepAnnotationFiles *files);
void sweep_annotation_files_free(SweepAnnotationFiles *files);

/* Selects the annotations of a sweep and its runs. Caller frees. */
void sweep_annotations_select(const char *root, const char *name, const SweepAnnotationFiles *files,
                              SweepAnnotations *annotations);
void sweep_annotations_free(SweepAnnotations *annotations);

/* Returns the annotations of run `index`; NULL: none. */
const StoreAnnotations *sweep_annotations_find_run(const SweepAnnotations *annotations, size_t index);
/* Whether the run or its sweep has this tag. tag NULL: always true. */
bool sweep_annotations_run_has_tag(const SweepAnnotations *annotations, size_t index, const char *tag);
/* Whether the sweep or one of its runs has this tag. */
bool sweep_annotations_has_tag(const SweepAnnotations *annotations, const char *tag);

/* Appends lines for archived, tags, note and the pinned run, as far as there are any. */
void sweep_annotations_draw(const SweepAnnotations *annotations, const char *name, CoreText *text);
/* Adds "tags", "note", "pinned" and "archived" to a sweep's object, "tags" and "note" to a run's. */
void sweep_annotations_add_json(const SweepAnnotations *annotations, json_t *object);
void sweep_annotations_add_run_json(const SweepAnnotations *annotations, size_t index, json_t *object);

#endif
