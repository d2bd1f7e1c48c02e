/* User annotations of sweeps and runs: tags, a note, and for a sweep the run pinned as its best. They are files of the
 * workspace, so that they outlive results.db, which imports them (store/database/annotation.c):
 *
 *   annotations/sweep-<name>.json    {"tags": ["paper"], "note": "with the new rewards", "pinned": "021a..."}
 *   annotations/run-<id>.json        {"tags": ["good"], "note": "..."}
 *
 * A tag is a name (core_text_check_name). A note is UTF-8 without control characters except newlines; those found in a
 * file are read as '?'. */
#ifndef STORE_ANNOTATIONS_H
#define STORE_ANNOTATIONS_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "core/json.h"

enum { STORE_TAG = 65, STORE_TAGS_MAX = 64, STORE_NOTE_MAX = 4000 /* bytes */ };

typedef enum StoreSubject { STORE_SUBJECT_SWEEP, STORE_SUBJECT_RUN } StoreSubject;
const char *store_subject_name(StoreSubject subject); /* "sweep", "run" */

typedef struct StoreAnnotations {
  char tags[STORE_TAGS_MAX][STORE_TAG];  /* sorted, without duplicates */
  size_t tag_count;
  char note[STORE_NOTE_MAX + 1];         /* "": none */
  char pinned[CORE_RUN_ID];              /* run id, for sweeps only; "": none */
} StoreAnnotations;

/* Reads the annotations of a sweep (by name) or run (by id); empty without a file. CORE_FAIL: the file is damaged. */
int store_annotations_read(const char *root, StoreSubject subject, const char *name, StoreAnnotations *annotations);

/* Changes annotations under the lock: `change` modifies the current ones and returns a CORE_ code. The result is
 * written, or the file removed if they are empty. */
typedef int (*StoreAnnotate)(void *context, StoreAnnotations *annotations);
int store_annotations_change(const char *root, StoreSubject subject, const char *name, StoreAnnotate change,
                             void *context);
/* Removes all annotations of a sweep or run (`sweep rm`). */
int store_annotations_remove(const char *root, StoreSubject subject, const char *name);

/* Calls found(context, subject, name, annotations) for each file in order, and `fault` for unreadable files. Returns
 * CORE_FAIL if the directory cannot be read, or found's code. */
typedef struct StoreAnnotationsVisit {
  int (*found)(void *context, StoreSubject subject, const char *name, const StoreAnnotations *annotations);
  void (*fault)(void *context, const char *message);
  void *context;
} StoreAnnotationsVisit;
int store_annotations_each(const char *root, const StoreAnnotationsVisit *visit);

/* Add or remove a tag. CORE_USAGE: invalid name, too many tags, or no such tag. */
int store_annotations_add_tag(StoreAnnotations *annotations, const char *tag);
int store_annotations_remove_tag(StoreAnnotations *annotations, const char *tag);
bool store_annotations_has_tag(const StoreAnnotations *annotations, const char *tag);
/* Sets the note. CORE_USAGE: too long, not UTF-8, or with control characters. */
int store_annotations_set_note(StoreAnnotations *annotations, const char *note);
/* Whether there is neither tag, note nor pinned run. */
bool store_annotations_are_empty(const StoreAnnotations *annotations);

/* Returns {"tags": [...], "note": "..." or null}, with "pinned": id or null for sweeps. */
json_t *store_annotations_json(const StoreAnnotations *annotations, StoreSubject subject);
/* Formats one line, "paper, good: with the new rewards", with spaces for newlines; "": empty. */
const char *store_annotations_line(const StoreAnnotations *annotations, CoreText *text);

#endif
