/* `sweep tag`, `sweep note` and `sweep pin`: what people say of sweeps and runs (store/workspace/annotations.h). */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "store/workspace/annotations.h"
#include "store/workspace/run_name.h"
#include "sweep/commands.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

typedef struct AnnotateOptions { SweepCommon common; bool remove, json; } AnnotateOptions;

/* What is meant, and what is to be said of it. */
typedef struct Order {
  const AnnotateOptions *options;
  SweepNamed named;
  const char **words;         /* tags, or the note */
  size_t count;
  char pinned[CORE_RUN_ID];
} Order;

static StoreSubject subject_of(const Order *order) {
  return order->named.is_sweep ? STORE_SUBJECT_SWEEP : STORE_SUBJECT_RUN;
}
static const char *name_of(const Order *order) { return order->named.is_sweep ? order->named.name : order->named.id; }

static void print_json(const Order *order, const StoreAnnotations *said) {
  json_t *object = store_annotations_json(said, subject_of(order));
  json_object_set_new(object, store_subject_name(subject_of(order)), core_json_text(name_of(order)));
  core_json_print(object);
}

/* Changes what is said, unless there is nothing to change, and gives what is said now. */
static int change_and_read(Order *order, bool changes, StoreAnnotate change, StoreAnnotations *said) {
  const char *root = order->options->common.root;
  if (changes) TRY(store_annotations_change(root, subject_of(order), name_of(order), change, order));
  return store_annotations_read(root, subject_of(order), name_of(order), said);
}

static int begin(AnnotateOptions *options, const char **operands, size_t count, Order *order) {
  *order = (Order){.options = options, .words = operands + 1, .count = count - 1};
  TRY(sweep_common_open(&options->common));
  return sweep_common_find(options->common.root, operands[0], &order->named);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static int change_tags(void *context, StoreAnnotations *said) {
  const Order *order = context;
  if (order->options->remove && order->count == 0) said->tag_count = 0;
  for (size_t i = 0; i < order->count; i++)
    TRY(order->options->remove ? store_annotations_take_tag(said, order->words[i])
                               : store_annotations_add_tag(said, order->words[i]));
  return CORE_OK;
}

static int tag(void *given, const char **operands, size_t count) {
  AnnotateOptions *options = given;
  Order order;
  StoreAnnotations said;
  TRY(begin(options, operands, count, &order));
  TRY(change_and_read(&order, options->remove || order.count > 0, change_tags, &said));
  if (options->json) {
    print_json(&order, &said);
    return CORE_OK;
  }
  printf("%s:", name_of(&order));
  for (size_t i = 0; i < said.tag_count; i++) printf("%s %s", i ? "," : "", said.tags[i]);
  printf("%s\n", said.tag_count ? "" : " no tags");
  return CORE_OK;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

static int change_note(void *context, StoreAnnotations *said) {
  const Order *order = context;
  if (order->options->remove) said->note[0] = '\0';
  return order->count ? store_annotations_set_note(said, order->words[0]) : CORE_OK;
}

static int note(void *given, const char **operands, size_t count) {
  AnnotateOptions *options = given;
  Order order;
  StoreAnnotations said;
  if (options->remove && count > 1) return core_error(CORE_USAGE, "--remove takes the note away: give no text");
  TRY(begin(options, operands, count, &order));
  TRY(change_and_read(&order, options->remove || order.count > 0, change_note, &said));
  if (options->json) print_json(&order, &said);
  else printf("%s: %s\n", name_of(&order), *said.note ? said.note : "no note");
  return CORE_OK;
}

/* ---- pins -------------------------------------------------------------------------------------------------------- */

static int change_pin(void *context, StoreAnnotations *said) {
  const Order *order = context;
  memcpy(said->pinned, order->pinned, sizeof said->pinned);
  return CORE_OK;
}

/* A place in the sweep, of fewer digits than an id has to have, or a run as it is named everywhere. */
static int find_pinned(const Order *order, const char *operand, char id[CORE_RUN_ID]) {
  const char *root = order->options->common.root, *name = order->named.name;
  SweepManifest manifest;
  int64_t index;
  int code = CORE_OK;
  TRY(sweep_manifest_read(root, name, &manifest));
  const bool is_index = strlen(operand) < STORE_PREFIX_MIN && core_text_to_int(operand, &index) && index >= 0;
  if (is_index && (size_t)index >= manifest.count)
    code = core_error(CORE_USAGE, "%s has %zu runs: 0 to %zu", name, manifest.count, manifest.count - 1);
  else if (is_index) memcpy(id, manifest.ids[index], CORE_RUN_ID);
  else code = store_run_find(root, operand, id);
  bool has = false;
  for (size_t i = 0; i < manifest.count && code == CORE_OK && !has; i++) has = strcmp(manifest.ids[i], id) == 0;
  if (code == CORE_OK && !has) code = core_error(CORE_USAGE, "run %s is not one of %s", id, name);
  sweep_manifest_free(&manifest);
  return code;
}

static int pin(void *given, const char **operands, size_t count) {
  AnnotateOptions *options = given;
  Order order;
  StoreAnnotations said;
  if (options->remove && count > 1) return core_error(CORE_USAGE, "--remove takes the pin away: name the sweep alone");
  TRY(begin(options, operands, count, &order));
  if (!order.named.is_sweep)
    return core_error(CORE_USAGE, "a run is pinned in its sweep: sweep pin SWEEP %s", operands[0]);
  if (count > 1) TRY(find_pinned(&order, operands[1], order.pinned));
  TRY(change_and_read(&order, options->remove || count > 1, change_pin, &said));
  if (options->json) print_json(&order, &said);
  else printf("%s: %s%s\n", name_of(&order), *said.pinned ? "run " : "no run is pinned", said.pinned);
  return CORE_OK;
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

#define ANNOTATE_OPTIONS(given, removes)                                      \
  SWEEP_OPTION_ROOT((given).common),                                          \
    {"remove", 0, CORE_OPTION_FLAG, &(given).remove, NULL, removes},          \
    {"json", 0, CORE_OPTION_FLAG, &(given).json, NULL, "print JSON"}, {0}

int sweep_tag(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep tag SWEEP|RUN [TAG...] [options]",
    .about = "Gives a sweep or a run tags, or without TAG prints those it has. Tags are names (letters, digits, ._-). "
             "sweep status --tag and --where tag=TAG of analyze choose by them; a run counts with the tags of its "
             "sweeps. " STORE_RUN_NAME_HELP,
    .least = 1, .most = SIZE_MAX};
  AnnotateOptions given = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(given, "take these tags away; without TAG all")};
  return core_options_answer(&manual, options, argc, argv, tag, &given);
}

int sweep_note(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep note SWEEP|RUN [TEXT] [options]",
    .about = "Writes a note on a sweep or a run, in the place of the one it had, or without TEXT prints it. Any text "
             "of up to 4000 bytes; quote it for your shell. sweep status and the report show it. "
             STORE_RUN_NAME_HELP,
    .least = 1, .most = 2, .hint = "a text of several words goes in quotes"};
  AnnotateOptions given = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(given, "take the note away")};
  return core_options_answer(&manual, options, argc, argv, note, &given);
}

int sweep_pin(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep pin SWEEP [RUN] [options]",
    .about = "Pins a run as the sweep's best, in the place of the one before, or without RUN prints it. sweep status "
             "and the report show it, --where pinned=yes of analyze chooses it. RUN is also its index in the sweep. "
             STORE_RUN_NAME_HELP,
    .least = 1, .most = 2};
  AnnotateOptions given = {0};
  const CoreOption options[] = {ANNOTATE_OPTIONS(given, "no run is pinned any more")};
  return core_options_answer(&manual, options, argc, argv, pin, &given);
}
