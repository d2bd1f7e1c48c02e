/* Reads directories of TensorBoard event files (import.h). Settings are those of TensorBoard's HParams plugin
 * (tensorboard/plugins/hparams/plugin_data.proto) and of the text "hyperparameters" that CleanRL writes, a Markdown
 * table. */
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import.h"
#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/protobuf.h"
#include "sweep/program/events.h"
#include "sweep/program/file.h"

enum { /* field numbers of the protocol buffers */
  EVENT_TIME = 1, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_TENSOR = 8, VALUE_METADATA = 9,
  TENSOR_STRING = 8, METADATA_PLUGIN = 1, PLUGIN_CONTENT = 2, HPARAMS_START = 3, START_HPARAMS = 1, ENTRY_KEY = 1,
  ENTRY_VALUE = 2, STRUCT_NUMBER = 2, STRUCT_STRING = 3, STRUCT_BOOL = 4
};

static const char infix[] = "tfevents"; /* in the name of every event file */

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Finds the last field of a number in a message. */
static bool find_field(const CoreProtobufField *message, uint64_t number, CoreProtobufField *found) {
  const unsigned char *next = message->bytes, *end = next + message->size;
  CoreProtobufField field;
  bool is_found = false;
  while (message->wire == CORE_PROTOBUF_LENGTH && core_protobuf_next(&next, end, &field)) {
    if (field.number != number) continue;
    *found = field;
    is_found = true;
  }
  return is_found;
}

/* Sets a hyperparameter of the HParams plugin: an entry of a map to google.protobuf.Value. */
static void set_entry(ImportRun *run, const CoreProtobufField *entry) {
  CoreProtobufField name, value, field;
  CoreText text = {0};
  if (!find_field(entry, ENTRY_KEY, &name) || !find_field(entry, ENTRY_VALUE, &value)) return;

  const bool is_string = find_field(&value, STRUCT_STRING, &field);
  if (is_string) core_text_append_bytes(&text, (const char *)field.bytes, field.size);
  else if (find_field(&value, STRUCT_BOOL, &field)) core_text_append(&text, field.integer ? "true" : "false");
  else if (find_field(&value, STRUCT_NUMBER, &field)) {
    json_t *number = core_json_real(core_protobuf_real(&field));
    core_json_append(number, 0, &text);
    json_decref(number);
  } else core_text_append(&text, "none");
  import_set(run, (const char *)name.bytes, name.size, core_text_string(&text), is_string);
  core_text_free(&text);
}

static void set_hparams(ImportRun *run, const CoreProtobufField *metadata) {
  CoreProtobufField plugin, content, start, entry;
  if (!find_field(metadata, METADATA_PLUGIN, &plugin) || !find_field(&plugin, PLUGIN_CONTENT, &content) ||
      !find_field(&content, HPARAMS_START, &start))
    return;
  const unsigned char *next = start.bytes, *end = next + start.size;
  while (core_protobuf_next(&next, end, &entry))
    if (entry.number == START_HPARAMS && entry.wire == CORE_PROTOBUF_LENGTH) set_entry(run, &entry);
}

/* Sets the rows "|name|value|" of a Markdown table, without its two lines of head. */
static void set_markdown(ImportRun *run, const CoreProtobufField *text) {
  const char *line = (const char *)text->bytes, *end = line + text->size;
  for (size_t number = 0; line < end; number++) {
    const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
    const char *bar = stop > line + 1 && *line == '|' ? memchr(line + 1, '|', (size_t)(stop - line - 1)) : NULL;
    if (bar && number >= 2) {
      CoreText value = {0};
      const char *last = stop[-1] == '|' && stop - 1 > bar ? stop - 1 : stop;
      core_text_append_bytes(&value, bar + 1, (size_t)(last - bar - 1));
      import_set(run, line + 1, (size_t)(bar - line - 1), core_text_string(&value), false);
      core_text_free(&value);
    }
    line = stop + 1;
  }
}

static void read_settings(ImportRun *run, const unsigned char *data, size_t size) {
  CoreProtobufField event = {.wire = CORE_PROTOBUF_LENGTH, .bytes = data, .size = size}, summary, value, tag, field;
  if (run->started_unix_s <= 0 && find_field(&event, EVENT_TIME, &field))
    run->started_unix_s = core_protobuf_real(&field);
  if (!find_field(&event, EVENT_SUMMARY, &summary)) return;

  const unsigned char *next = summary.bytes, *end = next + summary.size;
  while (summary.wire == CORE_PROTOBUF_LENGTH && core_protobuf_next(&next, end, &value)) {
    if (value.number != SUMMARY_VALUE || !find_field(&value, VALUE_TAG, &tag)) continue;
    static const char hparams[] = "_hparams_/session_start_info", hyperparameters[] = "hyperparameters";
    CoreProtobufField tensor, text;
    if (tag.size == strlen(hparams) && memcmp(tag.bytes, hparams, tag.size) == 0) {
      if (find_field(&value, VALUE_METADATA, &field)) set_hparams(run, &field);
    } else if (tag.size >= strlen(hyperparameters) &&
               memcmp(tag.bytes, hyperparameters, strlen(hyperparameters)) == 0) {
      if (find_field(&value, VALUE_TENSOR, &tensor) && find_field(&tensor, TENSOR_STRING, &text))
        set_markdown(run, &text);
    }
  }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void add_name(void *context, double step, const char *tag, size_t length, double value) {
  (void)step;
  (void)value;
  program_names_add(&((Import *)context)->names, tag, length);
}

/* Reads the settings of a run and the names of its scalars from one of its files. */
static int scan_file(Import *import, ImportRun *run, const char *path) {
  static const size_t max_bytes = (size_t)4 << 30;
  char *bytes;
  const unsigned char *data;
  size_t count, data_size, size = 0;
  TRY(core_files_read(path, max_bytes, &bytes, &count));

  for (size_t at_byte = 0; at_byte < count; at_byte += size) {
    const CoreTfrecordState state =
      core_tfrecord_next((const unsigned char *)bytes + at_byte, count - at_byte, &data, &data_size, &size);
    if (state == CORE_TFRECORD_TORN || state == CORE_TFRECORD_LOST) break;
    if (state != CORE_TFRECORD_WHOLE) continue;
    read_settings(run, data, data_size);
    program_event_scalars(data, data_size, add_name, import);
  }
  free(bytes);
  return CORE_OK;
}

typedef struct Search { Import *import; const char *operand; } Search;

/* Adds a file to the run of its directory, or of one above it. */
static int add_file(void *context, const char *path) {
  const Search *search = context;
  Import *import = search->import;
  const char *name = strrchr(path, '/');
  if (!strstr(name ? name : path, infix)) return CORE_OK;

  ImportRun *run = NULL;
  for (size_t r = 0; r < import->count && !run; r++) {
    const size_t length = strlen(import->runs[r].path);
    if (strncmp(path, import->runs[r].path, length) == 0 && path[length] == '/') run = &import->runs[r];
  }
  if (run) return scan_file(import, run, path);

  char directory[CORE_PATH_MAX];
  TRY(core_files_parent(path, directory, NULL));
  run = import_add_run(import, directory, directory);
  TRY(import_set_by_path(import->options, directory, search->operand, run));
  return scan_file(import, run, path);
}

static int find(Import *import, const char *operand) {
  const size_t first = import->count;
  struct stat status;
  if (stat(operand, &status) == 0 && !S_ISDIR(status.st_mode))
    return core_error(CORE_USAGE, "%s: expected a directory with event files", operand);
  Search search = {import, operand};
  TRY(import_walk(operand, "", "event files of TensorBoard", add_file, &search));
  if (import->count == first)
    return core_error(CORE_FAIL, "%s: contains no event file of TensorBoard (*%s*)", operand, infix);
  program_names_add(&import->names, "step", strlen("step"));
  return CORE_OK;
}

static int read_run(const Import *import, const ImportRun *run, const char *home, ProgramSink *sink) {
  char list[CORE_PATH_MAX];
  ProgramEvents *events;
  const ProgramStarts none = {0}; /* all of the files belongs to the attempt */
  TRY(core_files_path(list, "%s/metrics.1.files", home));
  TRY(program_starts_write(list, &none));
  snprintf(sink->step_name, sizeof sink->step_name, "%s", import->step);
  TRY(program_events_open(run->path, NULL, list, &events));
  const int code = program_events_read(events, true, sink);
  program_events_close(&events);
  return code;
}

const ImportReader import_tensorboard = {"tensorboard", "run of TensorBoard", find, read_run};
