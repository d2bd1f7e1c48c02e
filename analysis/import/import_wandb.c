/* Reads .wandb files of Weights & Biases (import.h): LevelDB's log format, blocks of 32 KiB with fragments of records,
 * each a Record of wandb_internal.proto. The history has a line of JSON values per step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/protobuf.h"

enum { /* field numbers of wandb_internal.proto */
  RECORD_HISTORY = 2, RECORD_CONFIG = 5, RECORD_RUN = 17, RECORD_EXIT = 18, HISTORY_ITEM = 1, ITEM_KEY = 1,
  ITEM_NESTED_KEY = 2, ITEM_JSON = 16, CONFIG_UPDATE = 1, RUN_CONFIG = 4, RUN_START = 17, TIME_SECONDS = 1,
  EXIT_CODE = 1
};
enum { BLOCK = 32768, FRAGMENT_HEADER = 7, FILE_HEADER = 7 };
enum { FRAGMENT_FULL = 1, FRAGMENT_FIRST, FRAGMENT_MIDDLE, FRAGMENT_LAST };

/* Called with each record. */
typedef void (*OnRecord)(void *context, const CoreProtobufField *record);

/* ---- the log ----------------------------------------------------------------------------------------------------- */

/* Passes the records of a log on; a torn or damaged end is a warning. */
static void read_log(const char *path, const unsigned char *bytes, size_t count, OnRecord on_record, void *context) {
  CoreText record = {0};
  bool is_open = false;
  size_t position = FILE_HEADER;

  while (position + FRAGMENT_HEADER <= count) {
    const size_t left = BLOCK - position % BLOCK;
    if (left < FRAGMENT_HEADER) {
      position += left;
      continue;
    }

    const unsigned char *header = bytes + position;
    const size_t length = header[4] | (size_t)header[5] << 8;
    const int type = header[6];
    position += FRAGMENT_HEADER;
    if (type == 0 && length == 0) { /* the rest of the block is padding */
      position += left - FRAGMENT_HEADER;
      continue;
    }
    if (type > FRAGMENT_LAST || position + length > count || length > left - FRAGMENT_HEADER) {
      core_warn("%s: damaged or incomplete after byte %zu; the rest is left out", path, position - FRAGMENT_HEADER);
      break;
    }

    if (type == FRAGMENT_FULL || type == FRAGMENT_FIRST) core_text_clear(&record);
    is_open = type == FRAGMENT_FULL || type == FRAGMENT_FIRST || is_open;
    core_text_append_bytes(&record, (const char *)bytes + position, length);
    position += length;
    if (!is_open || type == FRAGMENT_FIRST || type == FRAGMENT_MIDDLE) continue;
    is_open = false;
    const CoreProtobufField message = {.wire = CORE_PROTOBUF_LENGTH, .bytes = (const unsigned char *)record.data,
                                       .size = record.length};
    on_record(context, &message);
  }
  core_text_free(&record);
}

static int read_file(const char *path, OnRecord on_record, void *context) {
  static const size_t max_bytes = (size_t)4 << 30;
  char *bytes;
  size_t count;
  TRY(core_files_read(path, max_bytes, &bytes, &count));
  int code = CORE_OK;
  if (count < FILE_HEADER || memcmp(bytes, ":W&B", 4) != 0)
    code = core_error(CORE_USAGE, "%s: is not a file of Weights & Biases (.wandb)", path);
  else if (bytes[6] != 0)
    code = core_error(CORE_FAIL, "%s: written in version %d of the format; this program reads version 0", path,
                      bytes[6]);
  else read_log(path, (const unsigned char *)bytes, count, on_record, context);
  free(bytes);
  return code;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

/* Item of a configuration or of the history: a name, "a/b" of nested keys, and a value in JSON. */
typedef struct Item { CoreText name; json_t *value; } Item;

static bool read_item(const CoreProtobufField *message, char separator, Item *item) {
  const unsigned char *next = message->bytes, *end = next + message->size;
  CoreProtobufField field;
  *item = (Item){0};
  while (core_protobuf_next(&next, end, &field)) {
    if (field.wire != CORE_PROTOBUF_LENGTH) continue;
    if (field.number == ITEM_KEY || field.number == ITEM_NESTED_KEY) {
      if (item->name.length) core_text_append_bytes(&item->name, &separator, 1);
      core_text_append_bytes(&item->name, (const char *)field.bytes, field.size);
    } else if (field.number == ITEM_JSON) {
      json_decref(item->value);
      item->value = json_loadb((const char *)field.bytes, field.size, JSON_DECODE_ANY, NULL);
      if (!item->value && field.size == 3 && memcmp(field.bytes, "NaN", 3) == 0) item->value = json_string("NaN");
    }
  }
  return item->name.length > 0 && item->value;
}

/* Calls on_item with each item `number` of a message. */
static void read_items(const CoreProtobufField *message, uint64_t number, char separator,
                       void (*on_item)(void *context, const char *name, const json_t *value), void *context) {
  const unsigned char *next = message->bytes, *end = next + message->size;
  CoreProtobufField field;
  Item item;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number != number || field.wire != CORE_PROTOBUF_LENGTH) continue;
    if (read_item(&field, separator, &item)) on_item(context, core_text_string(&item.name), item.value);
    core_text_free(&item.name);
    json_decref(item.value);
  }
}

/* ---- the configuration ------------------------------------------------------------------------------------------- */

typedef struct Search { Import *import; ImportRun *run; const char *operand; bool has_history; } Search;

/* Sets a value of the configuration; nested ones as "net.width". W&B's own begin with '_'. */
static void set_value(void *context, const char *name, const json_t *value) {
  ImportRun *run = ((Search *)context)->run;
  if (*name == '_') return;
  if (json_is_object(value)) {
    const char *key;
    json_t *inner;
    json_object_foreach((json_t *)value, key, inner) {
      CoreText nested = {0};
      core_text_appendf(&nested, "%s.%s", name, key);
      set_value(context, core_text_string(&nested), inner);
      core_text_free(&nested);
    }
    return;
  }

  CoreText text = {0};
  if (json_is_string(value)) core_text_append(&text, json_string_value(value));
  else if (json_is_null(value)) core_text_append(&text, "none");
  else core_json_append(value, 0, &text);
  import_set(run, name, strlen(name), core_text_string(&text), json_is_string(value) || json_is_array(value));
  core_text_free(&text);
}

/* Adds the name of a metric. */
static void note_metric(void *context, const char *name, const json_t *value) {
  Search *search = context;
  search->has_history = true;
  if (json_is_number(value) || json_is_boolean(value) || json_is_string(value))
    program_names_add(&search->import->names, name, strlen(name));
}

static void scan_record(void *context, const CoreProtobufField *record) {
  Search *search = context;
  const unsigned char *next = record->bytes, *end = next + record->size, *inner;
  CoreProtobufField field, part, seconds;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.wire != CORE_PROTOBUF_LENGTH) continue;
    if (field.number == RECORD_CONFIG) read_items(&field, CONFIG_UPDATE, '.', set_value, search);
    if (field.number == RECORD_HISTORY) read_items(&field, HISTORY_ITEM, '/', note_metric, search);

    inner = field.bytes;
    while (field.number == RECORD_RUN && core_protobuf_next(&inner, field.bytes + field.size, &part)) {
      if (part.wire != CORE_PROTOBUF_LENGTH) continue;
      const unsigned char *time = part.bytes;
      if (part.number == RUN_CONFIG) read_items(&part, CONFIG_UPDATE, '.', set_value, search);
      if (part.number == RUN_START && core_protobuf_next(&time, part.bytes + part.size, &seconds) &&
          seconds.number == TIME_SECONDS)
        search->run->started_unix_s = (double)seconds.integer;
    }

    while (field.number == RECORD_EXIT && core_protobuf_next(&inner, field.bytes + field.size, &part)) {
      if (part.number != EXIT_CODE || part.integer == 0) continue;
      search->run->status = STORE_FAILED;
      snprintf(search->run->message, sizeof search->run->message, "exit code %lld", (long long)part.integer);
    }
  }
}

static int find_file(void *context, const char *path) {
  Search *search = context;
  search->run = import_add_run(search->import, path, path);
  TRY(import_set_by_path(search->import->options, path, search->operand, search->run));
  return read_file(path, scan_record, search);
}

static int find(Import *import, const char *operand) {
  Search search = {.import = import, .operand = operand};
  return import_walk(operand, ".wandb", "run of Weights & Biases", find_file, &search);
}

/* ---- the history ------------------------------------------------------------------------------------------------- */

typedef struct History { ProgramSink *sink; ProgramSeries series; } History;

static void add_value(void *context, const char *name, const json_t *value) {
  ProgramSink *sink = ((History *)context)->sink;
  double number = NAN;
  if (json_is_number(value)) number = json_number_value(value);
  else if (json_is_boolean(value)) number = json_is_true(value);
  else if (!json_is_string(value)) return; /* media, histograms */
  else if (!program_number_parse(json_string_value(value), strlen(json_string_value(value)), &number)) return;
  program_record_add(&sink->record, name, strlen(name), number);
}

static void emit_history(void *context, const CoreProtobufField *record) {
  History *history = context;
  const unsigned char *next = record->bytes, *end = next + record->size;
  CoreProtobufField field;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number != RECORD_HISTORY || field.wire != CORE_PROTOBUF_LENGTH) continue;
    program_record_clear(&history->sink->record);
    read_items(&field, HISTORY_ITEM, '/', add_value, history);
    program_sink_emit(history->sink, &history->series);
  }
}

static int read_run(const Import *import, const ImportRun *run, const char *home, ProgramSink *sink) {
  (void)import;
  (void)home;
  History history = {.sink = sink};
  const int code = read_file(run->path, emit_history, &history);
  program_series_free(&history.series);
  return code;
}

const ImportReader import_wandb = {"wandb", "run of Weights & Biases", find, read_run};
