/* `sweep annotate`: user annotations of sweeps and runs (store/workspace/annotations.h). */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "store/workspace/annotations.h"
#include "store/workspace/run_name.h"
#include "sweep/commands.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

typedef struct AnnotateOptions {
  SweepCommon common;
  CoreOptionList tags, untags;
  const char *note, *pin;     /* NULL: as before; "": none */
  bool json;
} AnnotateOptions;

/* Subject of the annotations, and the run to pin. */
typedef struct Request {
  const AnnotateOptions *options;
  SweepTarget named;
  char pinned[CORE_RUN_ID];
} Request;

static int change(void *context, StoreAnnotations *annotations) {
  const Request *request = context;
  const AnnotateOptions *options = request->options;
  for (size_t i = 0; i < options->untags.count; i++)
    TRY(store_annotations_remove_tag(annotations, options->untags.items[i]));
  for (size_t i = 0; i < options->tags.count; i++) TRY(store_annotations_add_tag(annotations, options->tags.items[i]));
  if (options->pin) memcpy(annotations->pinned, request->pinned, sizeof annotations->pinned);
  if (options->note && !*options->note) annotations->note[0] = '\0';
  return options->note && *options->note ? store_annotations_set_note(annotations, options->note) : CORE_OK;
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

static void print(const Request *request, const StoreAnnotations *annotations) {
  const char *name = request->named.is_sweep ? request->named.name : request->named.id;
  printf("%s: tags:", name);
  for (size_t i = 0; i < annotations->tag_count; i++) printf("%s %s", i ? "," : "", annotations->tags[i]);
  printf("%s\n", annotations->tag_count ? "" : " none");
  printf("%s: note: %s\n", name, *annotations->note ? annotations->note : "none");
  if (!request->named.is_sweep) return;
  printf("%s: pinned: %s%s\n", name, *annotations->pinned ? "run " : "none", annotations->pinned);
}

static int check_tags(const AnnotateOptions *options) {
  for (size_t i = 0; i < options->tags.count; i++)
    for (size_t k = 0; k < options->untags.count; k++)
      if (strcmp(options->tags.items[i], options->untags.items[k]) == 0)
        return core_error(CORE_USAGE, "--tag %s and --untag %s exclude each other", options->tags.items[i],
                          options->untags.items[k]);
  return CORE_OK;
}

static int annotate(void *context, const char **operands, size_t count) {
  AnnotateOptions *options = context;
  Request request = {.options = options};
  StoreAnnotations annotations;
  TRY(check_tags(options));
  TRY(sweep_common_open(&options->common));
  TRY(sweep_common_find(options->common.root, operands[0], &request.named));
  if (options->pin && !request.named.is_sweep)
    return core_error(CORE_USAGE, "a run is pinned in its sweep; use sweep annotate SWEEP --pin %s", operands[0]);
  if (options->pin && *options->pin) TRY(find_pinned(&request, options->pin, request.pinned));

  const char *root = options->common.root, *name = request.named.is_sweep ? request.named.name : request.named.id;
  const StoreSubject subject = request.named.is_sweep ? STORE_SUBJECT_SWEEP : STORE_SUBJECT_RUN;
  if (options->tags.count + options->untags.count > 0 || options->note || options->pin)
    TRY(store_annotations_change(root, subject, name, change, &request));
  TRY(store_annotations_read(root, subject, name, &annotations));
  if (options->json) {
    json_t *object = store_annotations_json(&annotations, subject);
    json_object_set_new(object, store_subject_name(subject), core_json_text(name));
    core_json_print(object);
  } else print(&request, &annotations);
  return CORE_OK;
}

int sweep_annotate(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep annotate SWEEP|RUN [options]",
    .about = "Changes and prints the annotations of a sweep or a run: its tags, its note, and the run that is pinned "
             "as the sweep's best. sweep status and the reports show them; sweep status --tag and analyze --where "
             "tag=TAG or pinned=yes select by them. A run also has the tags of its sweeps. " STORE_RUN_NAME_HELP,
    .operands_min = 1, .operands = {"SWEEP|RUN"}, .operands_max = 1, .hint = "quote a text of several words"};
  AnnotateOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"tag", 't', CORE_OPTION_LIST, &parsed.tags, "TAG", "add a tag: letters, digits, ._-; repeatable"},
    {"untag", 0, CORE_OPTION_LIST, &parsed.untags, "TAG", "remove a tag; repeatable"},
    {"note", 0, CORE_OPTION_TEXT, &parsed.note, "TEXT", "set the note, up to 4000 bytes; \"\" removes it"},
    {"pin", 0, CORE_OPTION_TEXT, &parsed.pin, "RUN",
     "pin a run, which may be an index in the sweep, instead of the previous one; \"\" removes the pin"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, annotate, &parsed);
}
