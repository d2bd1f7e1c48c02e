/* Annotations of a sweep and of its runs, joined by index (annotations.h). The files are few, runs are many. */
#include "sweep/status/annotations.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "sweep/spec/id_set.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Reading {
  SweepAnnotationFiles *files;
  bool is_quiet;
} Reading;

static int append_file(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations) {
  SweepAnnotationFiles *files = ((Reading *)context)->files;
  files->file = core_memory_resize(files->file, (files->count + 1) * sizeof *files->file);
  SweepAnnotationFile *file = &files->file[files->count++];
  *file = (SweepAnnotationFile){.subject = subject, .annotations = *annotations};
  return core_text_copy(file->name, sizeof file->name, name, "name");
}

static void warn(void *context, const char *message) {
  const Reading *reading = context;
  if (!reading->is_quiet) core_warn("%s", message);
  core_error_clear();
}

void sweep_annotation_files_read(const char *root, bool is_quiet, SweepAnnotationFiles *files) {
  Reading reading = {files, is_quiet};
  *files = (SweepAnnotationFiles){NULL, 0};
  if (store_annotations_each(root, &(StoreAnnotationsVisit){append_file, warn, &reading}) != CORE_OK)
    warn(&reading, core_error_message());
}

void sweep_annotation_files_free(SweepAnnotationFiles *files) {
  free(files->file);
  *files = (SweepAnnotationFiles){NULL, 0};
}

/* ---- one sweep --------------------------------------------------------------------------------------------------- */

static int by_index(const void *a, const void *b) {
  const SweepRunAnnotations *x = a, *y = b;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Copies the annotations of runs of the sweep. */
static void copy_runs(const SweepAnnotationFiles *files, const SweepIdSet *ids, SweepAnnotations *annotations) {
  annotations->run = core_memory_allocate((files->count + 1) * sizeof *annotations->run);
  for (size_t i = 0; i < files->count; i++) {
    const SweepAnnotationFile *file = &files->file[i];
    size_t index;
    if (file->subject == STORE_SUBJECT_RUN && sweep_id_set_find(ids, file->name, &index))
      annotations->run[annotations->runs++] = (SweepRunAnnotations){index, file->annotations};
  }
  if (annotations->runs) qsort(annotations->run, annotations->runs, sizeof *annotations->run, by_index);
}

void sweep_annotations_select(const char *root, const char *name, const SweepAnnotationFiles *files,
                              SweepAnnotations *annotations) {
  SweepIdSet ids = {0};
  SweepManifest manifest = {0};
  *annotations = (SweepAnnotations){.pinned = SIZE_MAX};
  sweep_archived(root, name, annotations->archived);
  if (files->count == 0) return;

  if (sweep_manifest_read(root, name, &manifest) != CORE_OK) core_error_clear(); /* reported by the caller */
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  sweep_manifest_free(&manifest);

  for (size_t i = 0; i < files->count; i++)
    if (files->file[i].subject == STORE_SUBJECT_SWEEP && strcmp(files->file[i].name, name) == 0)
      annotations->sweep = files->file[i].annotations;
  copy_runs(files, &ids, annotations);
  if (*annotations->sweep.pinned && !sweep_id_set_find(&ids, annotations->sweep.pinned, &annotations->pinned))
    annotations->pinned = SIZE_MAX;
  sweep_id_set_free(&ids);
}

void sweep_annotations_free(SweepAnnotations *annotations) {
  free(annotations->run);
  *annotations = (SweepAnnotations){.pinned = SIZE_MAX};
}

const StoreAnnotations *sweep_annotations_find_run(const SweepAnnotations *annotations, size_t index) {
  const SweepRunAnnotations *found = annotations->runs
                                         ? bsearch(&(SweepRunAnnotations){.index = index}, annotations->run,
                                                   annotations->runs, sizeof *annotations->run, by_index)
                                         : NULL;
  return found ? &found->annotations : NULL;
}

bool sweep_annotations_run_has_tag(const SweepAnnotations *annotations, size_t index, const char *tag) {
  const StoreAnnotations *own = sweep_annotations_find_run(annotations, index);
  if (!tag || store_annotations_has_tag(&annotations->sweep, tag)) return true;
  return own && store_annotations_has_tag(own, tag);
}

bool sweep_annotations_has_tag(const SweepAnnotations *annotations, const char *tag) {
  bool has = store_annotations_has_tag(&annotations->sweep, tag);
  for (size_t i = 0; i < annotations->runs && !has; i++)
    has = store_annotations_has_tag(&annotations->run[i].annotations, tag);
  return has;
}

void sweep_annotations_draw(const SweepAnnotations *annotations, const char *name, CoreText *text) {
  CoreText line = {0};
  if (*annotations->archived)
    core_text_appendf(text, "  archived on %s: its checkpoints are gone, its results are kept\n",
                      annotations->archived);
  store_annotations_line(&annotations->sweep, &line);
  if (line.length) core_text_appendf(text, "  %s: %s\n", annotations->sweep.tag_count ? "tagged" : "note", line.data);
  if (annotations->pinned != SIZE_MAX)
    core_text_appendf(text, "  pinned: run %s, %s/%zu\n", annotations->sweep.pinned, name, annotations->pinned);
  core_text_free(&line);
}

void sweep_annotations_add_json(const SweepAnnotations *annotations, json_t *object) {
  json_t *own = store_annotations_json(&annotations->sweep, STORE_SUBJECT_SWEEP);
  json_object_set_new(own, "archived", *annotations->archived ? core_json_text(annotations->archived) : json_null());
  json_object_update_new(object, own);
}

void sweep_annotations_add_run_json(const SweepAnnotations *annotations, size_t index, json_t *object) {
  static const StoreAnnotations nothing;
  const StoreAnnotations *own = sweep_annotations_find_run(annotations, index);
  json_object_update_new(object, store_annotations_json(own ? own : &nothing, STORE_SUBJECT_RUN));
}
