/* `sweep tag`, `sweep note` and `sweep pin`: user annotations of sweeps and runs (store/workspace/annotations.h). */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "store/workspace/annotations.h"
#include "store/workspace/run_name.h"
#include "sweep/commands.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

typedef struct AnnotateOptions { SweepCommon common; bool remove, json; } AnnotateOptions;

/* Subject of an annotation, and its new values. */
typedef struct Request {
  const AnnotateOptions *options;
  SweepTarget named;
  const char **values;        /* [count] tags, or the note */
  size_t count;
  char pinned[CORE_RUN_ID];
} Request;

static StoreSubject subject(const Request *request) {
  return request->named.is_sweep ? STORE_SUBJECT_SWEEP : STORE_SUBJECT_RUN;
}

static const char *subject_name(const Request *request) {
  return request->named.is_sweep ? request->named.name : request->named.id;
}

static void print_json(const Request *request, const StoreAnnotations *annotations) {
  json_t *object = store_annotations_json(annotations, subject(request));
  json_object_set_new(object, store_subject_name(subject(request)), core_json_text(subject_name(request)));
  core_json_print(object);
}

/* Applies `change` if there is anything to change, and reads the annotations. */
static int change_and_read(Request *request, bool has_change, StoreAnnotate change, StoreAnnotations *annotations) {
  const char *root = request->options->common.root, *name = subject_name(request);
  if (has_change) TRY(store_annotations_change(root, subject(request), name, change, request));
  return store_annotations_read(root, subject(request), name, annotations);
}

static int make_request(AnnotateOptions *options, const char **operands, size_t count, Request *request) {
  *request = (Request){.options = options, .values = operands + 1, .count = count - 1};
  TRY(sweep_common_open(&options->common));
  return sweep_common_find(options->common.root, operands[0], &request->named);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static int change_tags(void *context, StoreAnnotations *annotations) {
  const Request *request = context;
  if (request->options->remove && request->count == 0) annotations->tag_count = 0;
  for (size_t i = 0; i < request->count; i++)
    TRY(request->options->remove ? store_annotations_remove_tag(annotations, request->values[i])
                               : store_annotations_add_tag(annotations, request->values[i]));
  return CORE_OK;
}

static int tag(void *context, const char **operands, size_t count) {
  AnnotateOptions *options = context;
  Request request;
  StoreAnnotations annotations;
  TRY(make_request(options, operands, count, &request));
  TRY(change_and_read(&request, options->remove || request.count > 0, change_tags, &annotations));
  if (options->json) {
    print_json(&request, &annotations);
    return CORE_OK;
  }
  printf("%s:", subject_name(&request));
  for (size_t i = 0; i < annotations.tag_count; i++) printf("%s %s", i ? "," : "", annotations.tags[i]);
  printf("%s\n", annotations.tag_count ? "" : " no tags");
  return CORE_OK;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static int change_note(void *context, StoreAnnotations *annotations) {
  const Request *request = context;
  if (request->options->remove) annotations->note[0] = '\0';
  return request->count ? store_annotations_set_note(annotations, request->values[0]) : CORE_OK;
}

static int note(void *context, const char **operands, size_t count) {
  AnnotateOptions *options = context;
  Request request;
  StoreAnnotations annotations;
  if (options->remove && count > 1) return core_error(CORE_USAGE, "--remove deletes the note: give no text");
  TRY(make_request(options, operands, count, &request));
  TRY(change_and_read(&request, options->remove || request.count > 0, change_note, &annotations));
  if (options->json) print_json(&request, &annotations);
  else printf("%s: %s\n", subject_name(&request), *annotations.note ? annotations.note : "no note");
  return CORE_OK;
}

/* ---- pins -------------------------------------------------------------------------------------------------------- */

static int change_pin(void *context, StoreAnnotations *annotations) {
  const Request *request = context;
  memcpy(annotations->pinned, request->pinned, sizeof annotations->pinned);
  return CORE_OK;
}

/* Finds the run to pin: by its index, if it has fewer digits than an abbreviated id, otherwise by its name. */
static int find_pinned(const Request *request, const char *operand, char id[CORE_RUN_ID]) {
  const char *root = request->options->common.root, *name = request->named.name;
  SweepManifest manifest;
  int64_t index;
  int code = CORE_OK;

  TRY(sweep_manifest_read(root, name, &manifest));
  const bool is_index = strlen(operand) < STORE_PREFIX_MIN && core_text_to_int(operand, &index) && index >= 0;
  if (is_index && (size_t)index >= manifest.count)
    code = core_error(CORE_USAGE, "%s has no run %s: its indices are 0 to %zu", name, operand, manifest.count - 1);
  else if (is_index) memcpy(id, manifest.ids[index], CORE_RUN_ID);
  else code = store_run_find(root, operand, id);

  bool has = false;
  for (size_t i = 0; i < manifest.count && code == CORE_OK && !has; i++) has = strcmp(manifest.ids[i], id) == 0;
  if (code == CORE_OK && !has) code = core_error(CORE_USAGE, "run %s is not in %s", id, name);
  sweep_manifest_free(&manifest);
  return code;
}

static int pin(void *context, const char **operands, size_t count) {
  AnnotateOptions *options = context;
  Request request;
  StoreAnnotations annotations;
  if (options->remove && count > 1) return core_error(CORE_USAGE, "--remove deletes the pin: name the sweep only");
  TRY(make_request(options, operands, count, &request));
  if (!request.named.is_sweep)
    return core_error(CORE_USAGE, "a run is pinned in its sweep; use sweep pin SWEEP %s", operands[0]);
  if (count > 1) TRY(find_pinned(&request, operands[1], request.pinned));
  TRY(change_and_read(&request, options->remove || count > 1, change_pin, &annotations));
  if (options->json) print_json(&request, &annotations);
  else if (*annotations.pinned) printf("%s: run %s\n", subject_name(&request), annotations.pinned);
  else printf("%s: no run is pinned\n", subject_name(&request));
  return CORE_OK;
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

#define ANNOTATE_OPTIONS(parsed, remove_help)                                      \
  SWEEP_OPTION_ROOT((parsed).common),                                          \
    {"remove", 0, CORE_OPTION_FLAG, &(parsed).remove, NULL, remove_help},          \
    {"json", 0, CORE_OPTION_FLAG, &(parsed).json, NULL, "print JSON"}, {0}

int sweep_tag(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep tag SWEEP|RUN [TAG...] [options]",
    .about = "Adds tags to a sweep or a run, or without TAG prints its tags. Tags are names (letters, digits, ._-). "
             "sweep status --tag and analyze --where tag=TAG select by them; a run also has the tags of its sweeps. "
             STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"SWEEP|RUN", "TAG"}, .operands_max = SIZE_MAX};
  AnnotateOptions parsed = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(parsed, "remove these tags, or all without TAG")};
  return core_options_run(&manual, options, argc, argv, tag, &parsed);
}

int sweep_note(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep note SWEEP|RUN [TEXT] [options]",
    .about = "Sets the note of a sweep or a run, or without TEXT prints it. Any text of up to 4000 bytes; quote it for "
             "your shell. sweep status and the report show it. " STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"SWEEP|RUN", "TEXT"}, .operands_max = 2, .hint = "quote a text of several words"};
  AnnotateOptions parsed = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(parsed, "delete the note")};
  return core_options_run(&manual, options, argc, argv, note, &parsed);
}

int sweep_pin(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep pin SWEEP [RUN] [options]",
    .about = "Pins a run as the sweep's best, instead of the previous one, or without RUN prints it. sweep status and "
             "the report show it, and analyze --where pinned=yes selects it. RUN may be an index in the sweep. "
             STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"SWEEP", "RUN"}, .operands_max = 2};
  AnnotateOptions parsed = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(parsed, "delete the pin")};
  return core_options_run(&manual, options, argc, argv, pin, &parsed);
}
