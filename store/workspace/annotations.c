/* Annotation files (annotations.h). They are small, read and replaced as a whole, under one lock per workspace. */
#include "store/workspace/annotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/unicode.h"
#include "store/workspace/paths.h"

enum { FILE_MAX = 256 << 10 };
static const char FOLDER[] = "annotations";

const char *store_subject_name(StoreSubject subject) { return subject == STORE_SUBJECT_SWEEP ? "sweep" : "run"; }

/* ---- tags and notes ---------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

bool store_annotations_has_tag(const StoreAnnotations *annotations, const char *tag) {
  for (size_t i = 0; i < annotations->tag_count; i++)
    if (strcmp(annotations->tags[i], tag) == 0) return true;
  return false;
}

int store_annotations_add_tag(StoreAnnotations *annotations, const char *tag) {
  TRY(core_text_check_name(tag, "tag"));
  if (store_annotations_has_tag(annotations, tag)) return CORE_OK;
  if (annotations->tag_count == STORE_TAGS_MAX)
    return core_error(CORE_USAGE, "too many tags: %d is the maximum; remove some with --remove",
                      STORE_TAGS_MAX);
  TRY(core_text_copy(annotations->tags[annotations->tag_count], STORE_TAG, tag, "tag"));
  qsort(annotations->tags, ++annotations->tag_count, sizeof *annotations->tags, by_name);
  return CORE_OK;
}

int store_annotations_remove_tag(StoreAnnotations *annotations, const char *tag) {
  const char *names[STORE_TAGS_MAX];
  for (size_t i = 0; i < annotations->tag_count; i++) {
    names[i] = annotations->tags[i];
    if (strcmp(names[i], tag) != 0) continue;
    annotations->tag_count--;
    memmove(annotations->tags[i], annotations->tags[i + 1], (annotations->tag_count - i) * sizeof *annotations->tags);
    return CORE_OK;
  }
  const char *near = core_text_nearest(tag, names, annotations->tag_count);
  return core_error(CORE_USAGE, "no such tag: '%.80s'%s%s%s", tag, near ? "; did you mean " : "", near ? near : "",
                    near ? "?" : "");
}

int store_annotations_set_note(StoreAnnotations *annotations, const char *note) {
  if (!core_text_is_utf8(note)) return core_error(CORE_USAGE, "the note is not UTF-8");
  if (strlen(note) > STORE_NOTE_MAX)
    return core_error(CORE_USAGE, "the note has %zu bytes, more than %d; put the text into a file and note its name",
                      strlen(note), STORE_NOTE_MAX);
  for (const char *cursor = note; *cursor;) {
    const char *here = cursor;
    const uint32_t code = core_unicode_next(&cursor);
    if (code != '\n' && core_unicode_is_unsafe(code))
      return core_error(CORE_USAGE, "the note contains a control character (byte %zu); only newlines are allowed",
                        (size_t)(here - note) + 1);
  }
  return core_text_copy(annotations->note, sizeof annotations->note, note, "note");
}

bool store_annotations_are_empty(const StoreAnnotations *annotations) {
  return annotations->tag_count == 0 && !*annotations->note && !*annotations->pinned;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

json_t *store_annotations_json(const StoreAnnotations *annotations, StoreSubject subject) {
  json_t *tags = json_array();
  for (size_t i = 0; i < annotations->tag_count; i++) json_array_append_new(tags, core_json_text(annotations->tags[i]));
  json_t *object = json_pack("{s:o, s:o}", "tags", tags, "note",
                             *annotations->note ? core_json_text(annotations->note) : json_null());
  if (subject == STORE_SUBJECT_SWEEP)
    json_object_set_new(object, "pinned", *annotations->pinned ? core_json_text(annotations->pinned) : json_null());
  return object;
}

/* Truncates and cleans a note from a file; never refuses it. */
static void copy_note(StoreAnnotations *annotations, const char *note) {
  size_t length = strlen(note);
  if (length > STORE_NOTE_MAX)
    for (length = STORE_NOTE_MAX; length > 0 && (note[length] & 0xc0) == 0x80;) length--;
  memcpy(annotations->note, note, length);
  annotations->note[length] = '\0';
  core_unicode_mask(annotations->note);
}

/* Ignores unknown keys, which a later version may have written. */
static int from_json(const json_t *object, const char *path, StoreAnnotations *annotations) {
  const json_t *tags = json_object_get(object, "tags"), *tag;
  const char *note = json_string_value(json_object_get(object, "note"));
  const char *pinned = json_string_value(json_object_get(object, "pinned"));
  size_t i;
  json_array_foreach(tags, i, tag) {
    const char *name = json_string_value(tag);
    if (!name || store_annotations_add_tag(annotations, name) != CORE_OK)
      return core_error(CORE_FAIL, "%s: tag %zu is invalid; correct the file, or remove it", path, i + 1);
  }
  if (note) copy_note(annotations, note);
  if (pinned && !store_is_run_id(pinned))
    return core_error(CORE_FAIL, "%s: \"pinned\" is not a run id; correct the file, or remove it", path);
  if (pinned) memcpy(annotations->pinned, pinned, sizeof annotations->pinned);
  return CORE_OK;
}

const char *store_annotations_line(const StoreAnnotations *annotations, CoreText *text) {
  core_text_clear(text);
  for (size_t i = 0; i < annotations->tag_count; i++)
    core_text_appendf(text, "%s%s", i ? ", " : "", annotations->tags[i]);
  if (*annotations->note) core_text_appendf(text, "%s%s", annotations->tag_count ? ": " : "", annotations->note);
  for (size_t i = 0; i < text->length; i++)
    if (text->data[i] == '\n') text->data[i] = ' ';
  return core_text_string(text);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int check_subject(StoreSubject subject, const char *name) {
  if (subject == STORE_SUBJECT_SWEEP) return core_text_check_name(name, "sweep");
  return store_is_run_id(name) ? CORE_OK : core_error(CORE_USAGE, "'%.40s' is not a run id", name);
}

static int make_path(const char *root, StoreSubject subject, const char *name, char path[CORE_PATH_MAX]) {
  TRY(check_subject(subject, name));
  return core_files_path(path, "%s/%s/%s-%s.json", root, FOLDER, store_subject_name(subject), name);
}

int store_annotations_read(const char *root, StoreSubject subject, const char *name, StoreAnnotations *annotations) {
  char path[CORE_PATH_MAX], *data;
  size_t size;
  json_error_t error;
  *annotations = (StoreAnnotations){.tag_count = 0};
  TRY(make_path(root, subject, name, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, FILE_MAX, &data, &size));
  json_t *object = json_loadb(data, size, 0, &error);
  int code = json_is_object(object) ? from_json(object, path, annotations)
                                    : core_error(CORE_FAIL, "%s: not a JSON object; correct or remove the file", path);
  json_decref(object);
  free(data);
  if (code != CORE_OK) *annotations = (StoreAnnotations){.tag_count = 0};
  return code;
}

static int write_file(const char *path, StoreSubject subject, const StoreAnnotations *annotations) {
  CoreText text = {0};
  if (store_annotations_are_empty(annotations)) return core_files_remove(path);
  json_t *object = store_annotations_json(annotations, subject);
  core_json_append(object, 2, &text);
  core_text_append(&text, "\n");
  const int code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  json_decref(object);
  return code;
}

int store_annotations_change(const char *root, StoreSubject subject, const char *name, StoreAnnotate change,
                             void *context) {
  char path[CORE_PATH_MAX], directory[CORE_PATH_MAX], lock_path[CORE_PATH_MAX];
  StoreAnnotations annotations;
  int lock;
  TRY(make_path(root, subject, name, path));
  TRY(core_files_path(directory, "%s/%s", root, FOLDER));
  TRY(core_files_path(lock_path, "%s/.lock", directory));
  TRY(core_files_make_directories(directory));
  TRY(core_files_lock(lock_path, true, &lock));
  int code = store_annotations_read(root, subject, name, &annotations);
  if (code == CORE_OK) code = change(context, &annotations);
  if (code == CORE_OK) code = write_file(path, subject, &annotations);
  core_files_unlock(&lock);
  return code;
}

int store_annotations_remove(const char *root, StoreSubject subject, const char *name) {
  char path[CORE_PATH_MAX];
  TRY(make_path(root, subject, name, path));
  return write_file(path, subject, &(StoreAnnotations){.tag_count = 0});
}

/* Parses a file name "run-021a....json" into subject and name; returns false for any other name. */
static bool from_file_name(const char *file, StoreSubject *subject, char name[CORE_PATH_MAX]) {
  static const char ending[] = ".json";
  const size_t length = strlen(file), tail = sizeof ending - 1;
  if (length <= tail || length >= CORE_PATH_MAX || strcmp(file + length - tail, ending) != 0) return false;
  for (int i = STORE_SUBJECT_SWEEP; i <= STORE_SUBJECT_RUN; i++) {
    const char *word = store_subject_name((StoreSubject)i);
    const size_t head = strlen(word) + 1;
    if (length <= head + tail || strncmp(file, word, head - 1) != 0 || file[head - 1] != '-') continue;
    *subject = (StoreSubject)i;
    snprintf(name, CORE_PATH_MAX, "%.*s", (int)(length - head - tail), file + head);
    const bool is_one = check_subject(*subject, name) == CORE_OK;
    core_error_clear();
    return is_one;
  }
  return false;
}

int store_annotations_each(const char *root, const StoreAnnotationsVisit *visit) {
  char directory[CORE_PATH_MAX], name[CORE_PATH_MAX], **files;
  size_t count;
  int code = CORE_OK;

  TRY(core_files_path(directory, "%s/%s", root, FOLDER));
  if (!core_files_exists(directory)) return CORE_OK;
  TRY(core_files_list(directory, &files, &count));

  for (size_t i = 0; i < count; i++) {
    StoreSubject subject;
    StoreAnnotations annotations;
    if (code == CORE_OK && from_file_name(files[i], &subject, name)) {
      if (store_annotations_read(root, subject, name, &annotations) == CORE_OK)
        code = visit->found(visit->context, subject, name, &annotations);
      else visit->fault(visit->context, core_error_message());
    }
    free(files[i]);
  }

  free(files);
  return code;
}
