/* Event files: TFRecord records (tensorflow.org, "TFRecord and tf.train.Example": length, its CRC, data, its CRC,
 * where the CRC is Castagnoli's, rotated and shifted), each an Event (tensorflow/core/util/event.proto,
 * summary.proto; TensorBoard's hparams plugin_data.proto). Field numbers are from those files. */
#include "analysis/commands/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands/export_runs.h"
#include "core/config/config.h"
#include "core/protobuf.h"
#include "core/unicode.h"

enum { SUCCESS = 1, FAILURE = 2, RUNNING = 3 /* Status of HParams */, TAG = 250 };

typedef struct Board {
  const TensorboardTarget *target;
  StoreDatabase *database;
  json_t *names, *present;    /* by id: readable name of a run; its directory from an earlier export */
  json_t *shown, *defaults;   /* settings that differ from the default in some run; all defaults */
  FILE *stream;
  int64_t runs, events;
} Board;

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Computes CRC-32C (RFC 3720, appendix B.4) with TFRecord's mask. */
static uint32_t masked_crc(const void *data, size_t bytes) {
  static uint32_t table[256];
  const unsigned char *b = data;
  for (uint32_t i = 0; table[255] == 0 && i < 256; i++) {
    table[i] = i;
    for (int k = 0; k < 8; k++) table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82f63b78u : table[i] >> 1;
  }
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; i++) crc = crc >> 8 ^ table[(crc ^ b[i]) & 0xff];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Writes and frees the event. Errors are reported when the file is closed. */
static void write_event(Board *board, CoreText *event) {
  const uint64_t length = event->length;
  const uint32_t of_length = masked_crc(&length, sizeof length), of_data = masked_crc(event->data, event->length);
  fwrite(&length, sizeof length, 1, board->stream);
  fwrite(&of_length, sizeof of_length, 1, board->stream);
  fwrite(event->data, 1, event->length, board->stream);
  fwrite(&of_data, sizeof of_data, 1, board->stream);
  core_text_free(event);
  board->events++;
}

static CoreText begin_event(double wall_s, int64_t step) {
  CoreText event = {0};
  core_protobuf_double(&event, 1, wall_s);
  core_protobuf_int(&event, 2, step);
  return event;
}

/* Appends a Summary.Value with a number. */
static void add_scalar(CoreText *summary, const char *tag, double value) {
  CoreText entry = {0};
  core_protobuf_text(&entry, 1, tag);
  core_protobuf_float(&entry, 2, (float)value);
  core_protobuf_message(summary, 1, &entry);
}

static void write_summary(Board *board, double wall_s, int64_t step, CoreText *summary) {
  CoreText event = begin_event(wall_s, step);
  core_protobuf_message(&event, 5, summary);
  write_event(board, &event);
}

/* ---- settings, for the HParams page ------------------------------------------------------------------------------ */

/* Writes a value whose metadata has `content` (freed) for a plugin; its tensor is empty. */
static void write_plugin(Board *board, const char *tag, CoreText *content, double wall_s) {
  CoreText shape = {0}, dim = {0}, tensor = {0}, data = {0}, metadata = {0}, entry = {0}, summary = {0};
  core_protobuf_int(&dim, 1, 0);
  core_protobuf_message(&shape, 2, &dim);
  core_protobuf_int(&tensor, 1, 1 /* float */);
  core_protobuf_message(&tensor, 2, &shape);
  core_protobuf_text(&data, 1, "hparams");
  core_protobuf_message(&data, 2, content);
  core_protobuf_message(&metadata, 1, &data);
  core_protobuf_text(&entry, 1, tag);
  core_protobuf_message(&entry, 8, &tensor);
  core_protobuf_message(&entry, 9, &metadata);
  core_protobuf_message(&summary, 1, &entry);
  write_summary(board, wall_s, 0, &summary);
}

static void note_shown(void *given, const char *name, const json_t *value) {
  Board *board = given;
  if (!json_equal(json_object_get(board->defaults, name), value)) json_object_set_new(board->shown, name, json_true());
}

static void note_default(void *given, const char *name, const json_t *value) {
  Board *board = given;
  json_object_set(board->defaults, name, (json_t *)value);
}

typedef struct Session { Board *board; CoreText start; } Session;

/* Appends an entry of map<string, google.protobuf.Value>. */
static void add_setting(void *given, const char *name, const json_t *setting) {
  Session *session = given;
  CoreText value = {0}, entry = {0};
  if (!json_object_get(session->board->shown, name)) return;
  if (json_is_number(setting)) core_protobuf_double(&value, 2, json_number_value(setting));
  else if (json_is_boolean(setting)) core_protobuf_int(&value, 4, json_is_true(setting));
  else core_protobuf_text(&value, 3, json_is_string(setting) ? json_string_value(setting) : "");
  core_protobuf_text(&entry, 1, name);
  core_protobuf_message(&entry, 2, &value);
  core_protobuf_message(&session->start, 1, &entry);
}

static void write_settings(Board *board, const ExportRun *run) {
  Session session = {.board = board};
  CoreText content = {0};
  export_settings(run->config, add_setting, &session);
  core_protobuf_double(&session.start, 5, run->started_s);
  core_protobuf_int(&content, 1, 0);
  core_protobuf_message(&content, 3, &session.start);
  write_plugin(board, "_hparams_/session_start_info", &content, run->started_s);
}

static void write_end(Board *board, const ExportRun *run) {
  CoreText end = {0}, content = {0};
  const bool finished = run->status && strcmp(run->status, "finished") == 0;
  const bool failed = run->status && (strcmp(run->status, "failed") == 0 || strcmp(run->status, "diverged") == 0);
  const double ended_s = run->ended_s > 0 ? run->ended_s : run->started_s;
  core_protobuf_int(&end, 1, finished ? SUCCESS : failed ? FAILURE : RUNNING);
  core_protobuf_double(&end, 2, ended_s);
  core_protobuf_int(&content, 1, 0);
  core_protobuf_message(&content, 4, &end);
  write_plugin(board, "_hparams_/session_end_info", &content, ended_s);
}

/* ---- iterations, evaluations and named metrics ------------------------------------------------------------------- */

static int write_iterations(Board *board, const ExportRun *run) {
  const ExportTable *table = &export_iterations;
  const int wall = 1 + export_column(table, "wall_seconds"), steps = 1 + export_column(table, "transitions");
  StoreQuery *query;
  bool row;
  int code;
  TRY(export_rows_open(board->database, table, run->id, -1, &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const int64_t iteration = store_query_int(query, 0);
    const double seconds = store_query_real(query, wall);
    CoreText summary = {0};
    if (iteration % board->target->every != 0 && iteration != run->iteration) continue;
    for (int i = 0; i < table->count; i++) {
      char tag[TAG];
      const double value = store_query_real(query, i + 1);
      snprintf(tag, sizeof tag, "train/%s", table->columns[i]);
      if (isfinite(value)) add_scalar(&summary, tag, value);
    }
    write_summary(board, run->started_s + (isfinite(seconds) ? seconds : 0),
                  export_step(run, store_query_real(query, steps), iteration), &summary);
  }
  store_query_close(&query);
  return code;
}

/* Reads the training time before an iteration's evaluation; 0 before training, or if unknown. */
static int read_seconds(StoreQuery *query, const char *id, int64_t iteration, double *seconds) {
  bool row;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  store_query_bind_int(query, 2, iteration);
  TRY(store_query_step(query, &row));
  *seconds = row ? store_query_real(query, 0) : 0;
  if (!isfinite(*seconds)) *seconds = 0;
  return CORE_OK;
}

static int write_evaluations(Board *board, const ExportRun *run) {
  static const char seconds_sql[] = "SELECT " STORE_SECONDS_SQL("?1", "?2");
  const ExportTable *table = &export_evaluations;
  const int steps = 2 + export_column(table, "transitions");
  StoreQuery *query, *of_seconds;
  double seconds = 0;
  bool row;
  int code;
  TRY(store_query_open(board->database, seconds_sql, &of_seconds));
  code = export_rows_open(board->database, table, run->id, -1, &query);
  while (code == CORE_OK && (code = store_query_step(query, &row)) == CORE_OK && row) {
    if ((code = read_seconds(of_seconds, run->id, store_query_int(query, 0), &seconds)) != CORE_OK) break;
    const char *set = store_query_text(query, 1);
    CoreText summary = {0};
    for (int i = 0; i < table->count; i++) {
      char tag[TAG];
      const double value = store_query_real(query, i + 2);
      snprintf(tag, sizeof tag, "eval/%.150s/%s", set && core_text_is_utf8(set) ? set : "?", table->columns[i]);
      if (isfinite(value)) add_scalar(&summary, tag, value);
    }
    write_summary(board, run->started_s + seconds,
                  export_step(run, store_query_real(query, steps), store_query_int(query, 0)), &summary);
  }
  store_query_close(&query);
  store_query_close(&of_seconds);
  return code;
}

/* Writes named metrics under their own names, which are tags of TensorBoard for most programs. */
static int write_metrics(Board *board, const ExportRun *run) {
  static const ExportNaming naming = {"train/", '/'};
  StoreQuery *query;
  bool row;
  int code;
  TRY(export_metrics_open(board->database, run->id, 0, board->target->every, &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *name = store_query_text(query, 0);
    const double value = store_query_real(query, 3), seconds = store_query_real(query, 4);
    char tag[EXPORT_NAME_MAX];
    CoreText summary = {0};
    if (!name || !isfinite(value)) continue;
    export_metric_name(naming, name, tag);
    add_scalar(&summary, tag, value);
    write_summary(board, run->started_s + (isfinite(seconds) ? seconds : 0),
                  export_step(run, store_query_real(query, 2), store_query_int(query, 1)), &summary);
  }
  store_query_close(&query);
  return code;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static const char EVENTS[] = "events.out.tfevents.sweep";

/* Finds the directories of runs that an earlier export wrote: "NAME-<id>", or "<id>" by version 0.1. */
static int find_present(Board *board) {
  char **names, path[CORE_PATH_MAX];
  size_t count;
  if (!core_files_exists(board->target->directory)) return CORE_OK;
  TRY(core_files_list(board->target->directory, &names, &count));
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(names[i]), digits = CORE_RUN_ID - 1;
    const char *id = length < digits ? names[i] : names[i] + length - digits;
    if (strlen(id) == digits && strspn(id, "0123456789abcdef") == digits && (length == digits || id[-1] == '-') &&
        core_files_path(path, "%s/%s/%s", board->target->directory, names[i], EVENTS) == CORE_OK &&
        core_files_exists(path))
      json_object_set_new(board->present, id, json_string(names[i]));
    free(names[i]);
  }
  free(names);
  core_error_clear();
  return CORE_OK;
}

/* Makes the directory of a run. One with an earlier name is renamed: names change as a sweep grows. */
static int make_directory(Board *board, const char *id, char directory[CORE_PATH_MAX]) {
  const char *earlier = json_string_value(json_object_get(board->present, id));
  char before[CORE_PATH_MAX];
  const char *name = json_string_value(json_object_get(board->names, id));
  TRY(core_files_path(directory, "%s/%s-%s", board->target->directory, name, id));
  if (earlier) {
    TRY(core_files_path(before, "%s/%s", board->target->directory, earlier));
    if (strcmp(before, directory) != 0 && rename(before, directory) != 0)
      return core_error_errno(CORE_FAIL, "%s: cannot be renamed to %s", before, directory);
  }
  return core_files_make_directories(directory);
}

static int write_run(Board *board, const ExportRun *run) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  ExportFile file;
  TRY(make_directory(board, run->id, directory));
  TRY(core_files_path(path, "%s/%s", directory, EVENTS));
  TRY(export_file_begin(path, &file));
  board->stream = file.stream;
  CoreText event = begin_event(run->started_s, 0);
  core_protobuf_text(&event, 3, "brain.Event:2");
  write_event(board, &event);
  write_settings(board, run);
  int code = write_iterations(board, run);
  if (code == CORE_OK) code = write_evaluations(board, run);
  if (code == CORE_OK) code = write_metrics(board, run);
  write_end(board, run);
  board->runs++;
  return export_file_end(&file, code);
}

static int each_run(Board *board, const char *sweep, int (*work)(Board *board, const ExportRun *run)) {
  StoreQuery *query;
  ExportRun run;
  bool more;
  int code;
  TRY(export_runs_open(board->database, sweep, &query));
  while ((code = export_runs_next(query, &run, &more)) == CORE_OK && more)
    if ((code = work(board, &run)) != CORE_OK) break;
  store_query_close(&query);
  return code;
}

static int note_settings(Board *board, const ExportRun *run) {
  export_settings(run->config, note_shown, board);
  return CORE_OK;
}

int tensorboard_export(StoreDatabase *database, const char *sweep, const TensorboardTarget *target) {
  Board board = {.target = target, .database = database, .shown = json_object(), .defaults = json_object()};
  const CoreConfig defaults = core_config_default();
  CoreText text = {0};

  core_config_to_json(&defaults, &text);
  export_settings(core_text_string(&text), note_default, &board);
  core_text_free(&text);

  board.present = json_object();
  int code = export_runs_names(database, sweep, &board.names);
  if (code == CORE_OK) code = find_present(&board);
  if (code == CORE_OK) code = each_run(&board, sweep, note_settings);
  if (code == CORE_OK) code = each_run(&board, sweep, write_run);
  if (code == CORE_OK && board.runs == 0) code = export_runs_none(sweep);
  if (code == CORE_OK)
    core_unicode_print(stdout, "%lld runs, %lld events in %s; tensorboard --logdir %s\n", (long long)board.runs,
                       (long long)board.events, target->directory, target->directory);

  json_decref(board.names);
  json_decref(board.present);
  json_decref(board.shown);
  json_decref(board.defaults);
  return code;
}
