/* Annotations of a sweep and of its runs, joined by index (said.h). The folder of annotations is read once a sweep: it
 * has few files, runs are many. */
#include "sweep/status/said.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "sweep/spec/id_set.h"

typedef struct Reading {
  SweepSaid *said;
  const char *name;
  const SweepIdSet *places;
  bool is_quiet;
} Reading;

static int take(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations) {
  Reading *reading = context;
  SweepSaid *said = reading->said;
  size_t index;
  if (subject == STORE_OF_SWEEP && strcmp(name, reading->name) == 0) said->sweep = *annotations;
  if (subject != STORE_OF_RUN || !sweep_id_set_find(reading->places, name, &index)) return CORE_OK;
  said->run = core_memory_resize(said->run, (said->runs + 1) * sizeof *said->run);
  said->run[said->runs++] = (SweepSaidRun){index, *annotations};
  return CORE_OK;
}

static void warn(void *context, const char *message) {
  const Reading *reading = context;
  if (!reading->is_quiet) core_warn("%s", message);
  core_error_clear();
}

static int by_index(const void *a, const void *b) {
  const SweepSaidRun *x = a, *y = b;
  return x->index < y->index ? -1 : x->index > y->index;
}

void sweep_said_read(const char *root, const char *name, bool is_quiet, SweepSaid *said) {
  SweepIdSet places = {0};
  SweepManifest manifest = {0};
  Reading reading = {said, name, &places, is_quiet};
  *said = (SweepSaid){.pinned = SIZE_MAX};
  sweep_archived(root, name, said->archived);
  if (sweep_manifest_read(root, name, &manifest) != CORE_OK) warn(&reading, core_error_message());
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  sweep_manifest_free(&manifest);
  if (store_annotations_each(root, &(StoreAnnotationsVisit){take, warn, &reading}) != CORE_OK)
    warn(&reading, core_error_message());
  if (said->runs) qsort(said->run, said->runs, sizeof *said->run, by_index);
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
  json_object_set_new(own, "archived", *said->archived ? json_string(said->archived) : json_null());
  json_object_update_new(object, own);
}

void sweep_said_add_run(const SweepSaid *said, size_t index, json_t *object) {
  static const StoreAnnotations nothing;
  const StoreAnnotations *own = sweep_said_of(said, index);
  json_object_update_new(object, store_annotations_json(own ? own : &nothing, STORE_OF_RUN));
}
