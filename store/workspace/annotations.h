/* What people say of sweeps and runs: tags, a note, and of a sweep the run that is pinned as its best. Files of the
 * workspace are the truth, so that they outlive results.db, which imports them (store/database/annotation.c):
 *
 *   annotations/sweep-<name>.json    {"tags": ["paper"], "note": "with the new rewards", "pinned": "021a..."}
 *   annotations/run-<id>.json        {"tags": ["good"], "note": "..."}
 *
 * A tag is a name (core_text_check_name). A note is any UTF-8; control characters other than a new line never get into
 * a file, and are '?' where somebody else has put them there. */
#ifndef STORE_ANNOTATIONS_H
#define STORE_ANNOTATIONS_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/json.h"

enum { STORE_TAG = 65, STORE_TAGS_MAX = 64, STORE_NOTE_MAX = 4000 /* bytes */ };

typedef enum StoreSubject { STORE_OF_SWEEP, STORE_OF_RUN } StoreSubject;
const char *store_subject_name(StoreSubject subject); /* "sweep", "run" */

typedef struct StoreAnnotations {
  char tags[STORE_TAGS_MAX][STORE_TAG];  /* sorted, each once */
  size_t tag_count;
  char note[STORE_NOTE_MAX + 1];         /* "": none */
  char pinned[CORE_RUN_ID];              /* of a sweep; "": none */
} StoreAnnotations;

/* name: a sweep's name or a run's id. No file: nothing is said. CORE_FAIL: the file is damaged; says how to mend it. */
int store_annotations_read(const char *root, StoreSubject subject, const char *name, StoreAnnotations *annotations);

/* Changes them while nobody else does: `change` gets what is there and returns a CORE_ code; its result is written, or
 * the file removed where nothing is said any more. */
typedef int (*StoreAnnotate)(void *context, StoreAnnotations *annotations);
int store_annotations_change(const char *root, StoreSubject subject, const char *name, StoreAnnotate change,
                             void *context);
/* Forgets what is said of it (`sweep rm`). */
int store_annotations_remove(const char *root, StoreSubject subject, const char *name);

/* Calls found(context, subject, name, annotations) for each file, in order. A file that can not be read is told to
 * `fault` and passed over. CORE_FAIL: the folder can not be read; or found's code. */
typedef struct StoreAnnotationsVisit {
  int (*found)(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations);
  void (*fault)(void *context, const char *message);
  void *context;
} StoreAnnotationsVisit;
int store_annotations_each(const char *root, const StoreAnnotationsVisit *visit);

/* Adds a tag; CORE_USAGE: no name, or too many. Taking away one that is not there is CORE_USAGE too. */
int store_annotations_add_tag(StoreAnnotations *annotations, const char *tag);
int store_annotations_take_tag(StoreAnnotations *annotations, const char *tag);
bool store_annotations_has_tag(const StoreAnnotations *annotations, const char *tag);
/* CORE_USAGE: too long, no UTF-8, or control characters. */
int store_annotations_set_note(StoreAnnotations *annotations, const char *note);
/* Says nothing at all? */
bool store_annotations_are_empty(const StoreAnnotations *annotations);

/* {"tags": [...], "note": "..." or null}, and of sweeps "pinned": id or null. */
json_t *store_annotations_json(const StoreAnnotations *annotations, StoreSubject subject);
/* One line for people: "paper, good: with the new rewards"; "" for nothing. New lines are spaces. */
const char *store_annotations_line(const StoreAnnotations *annotations, CoreText *text);

#endif
