/* Annotations of a sweep and of its runs, joined by index (said.h). The files are few, runs are many. */
#include "sweep/status/said.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "sweep/spec/id_set.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Reading { SweepSaidFiles *files; bool is_quiet; } Reading;

static int take(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations) {
  SweepSaidFiles *files = ((Reading *)context)->files;
  files->file = core_memory_resize(files->file, (files->count + 1) * sizeof *files->file);
  SweepSaidFile *file = &files->file[files->count++];
  *file = (SweepSaidFile){.subject = subject, .said = *annotations};
  return core_text_copy(file->name, sizeof file->name, name, "name");
}

static void warn(void *context, const char *message) {
  const Reading *reading = context;
  if (!reading->is_quiet) core_warn("%s", message);
  core_error_clear();
}

void sweep_said_files(const char *root, bool is_quiet, SweepSaidFiles *files) {
  Reading reading = {files, is_quiet};
  *files = (SweepSaidFiles){NULL, 0};
  if (store_annotations_each(root, &(StoreAnnotationsVisit){take, warn, &reading}) != CORE_OK)
    warn(&reading, core_error_message());
}

void sweep_said_files_free(SweepSaidFiles *files) {
  free(files->file);
  *files = (SweepSaidFiles){NULL, 0};
}

/* ---- one sweep --------------------------------------------------------------------------------------------------- */

static int by_index(const void *a, const void *b) {
  const SweepSaidRun *x = a, *y = b;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Files of runs that are the sweep's. */
static void take_runs(const SweepSaidFiles *files, const SweepIdSet *places, SweepSaid *said) {
  said->run = core_memory_allocate((files->count + 1) * sizeof *said->run);
  for (size_t i = 0; i < files->count; i++) {
    const SweepSaidFile *file = &files->file[i];
    size_t index;
    if (file->subject == STORE_OF_RUN && sweep_id_set_find(places, file->name, &index))
      said->run[said->runs++] = (SweepSaidRun){index, file->said};
  }
  if (said->runs) qsort(said->run, said->runs, sizeof *said->run, by_index);
}

void sweep_said_read(const char *root, const char *name, const SweepSaidFiles *files, SweepSaid *said) {
  SweepIdSet places = {0};
  SweepManifest manifest = {0};
  *said = (SweepSaid){.pinned = SIZE_MAX};
  sweep_archived(root, name, said->archived);
  if (files->count == 0) return;
  if (sweep_manifest_read(root, name, &manifest) != CORE_OK) core_error_clear(); /* who shows the sweep has said so */
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  sweep_manifest_free(&manifest);
  for (size_t i = 0; i < files->count; i++)
    if (files->file[i].subject == STORE_OF_SWEEP && strcmp(files->file[i].name, name) == 0)
      said->sweep = files->file[i].said;
  take_runs(files, &places, said);
  if (*said->sweep.pinned && !sweep_id_set_find(&places, said->sweep.pinned, &said->pinned)) said->pinned = SIZE_MAX;
  sweep_id_set_free(&places);
}

void sweep_said_free(SweepSaid *said) {
  free(said->run);
  *said = (SweepSaid){.pinned = SIZE_MAX};
}

const StoreAnnotations *sweep_said_of(const SweepSaid *said, size_t index) {
  const SweepSaidRun *found =
    said->runs ? bsearch(&(SweepSaidRun){.index = index}, said->run, said->runs, sizeof *said->run, by_index) : NULL;
  return found ? &found->said : NULL;
}

bool sweep_said_is_tagged(const SweepSaid *said, size_t index, const char *tag) {
  const StoreAnnotations *own = sweep_said_of(said, index);
  if (!tag || store_annotations_has_tag(&said->sweep, tag)) return true;
  return own && store_annotations_has_tag(own, tag);
}

bool sweep_said_has_tag(const SweepSaid *said, const char *tag) {
  bool has = store_annotations_has_tag(&said->sweep, tag);
  for (size_t i = 0; i < said->runs && !has; i++) has = store_annotations_has_tag(&said->run[i].said, tag);
  return has;
}

void sweep_said_draw(const SweepSaid *said, const char *name, CoreText *text) {
  CoreText line = {0};
  if (*said->archived)
    core_text_appendf(text, "  archived on %s: its checkpoints are gone, its results are kept\n", said->archived);
  store_annotations_line(&said->sweep, &line);
  if (line.length) core_text_appendf(text, "  %s: %s\n", said->sweep.tag_count ? "tagged" : "note", line.data);
  if (said->pinned != SIZE_MAX)
    core_text_appendf(text, "  pinned: run %s, %s/%zu\n", said->sweep.pinned, name, said->pinned);
  core_text_free(&line);
}

void sweep_said_add(const SweepSaid *said, json_t *object) {
  json_t *own = store_annotations_json(&said->sweep, STORE_OF_SWEEP);
  json_object_set_new(own, "archived", *said->archived ? core_json_text(said->archived) : json_null());
  json_object_update_new(object, own);
}

void sweep_said_add_run(const SweepSaid *said, size_t index, json_t *object) {
  static const StoreAnnotations nothing;
  const StoreAnnotations *own = sweep_said_of(said, index);
  json_object_update_new(object, store_annotations_json(own ? own : &nothing, STORE_OF_RUN));
}
