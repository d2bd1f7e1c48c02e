/* Routes of one run: its results and attempts, the end of its log, its videos. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/serve/access.h"
#include "sweep/serve/routes.h"

enum { LOG_DEFAULT = 16 << 10, LOG_MAX = 256 << 10, VIDEO_MAX = 32 << 20 };

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* Lists settings that differ from their defaults; null: the run has no directory yet. */
static json_t *settings_json(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  const CoreConfig defaults = core_config_default();
  CoreConfig config = defaults;
  const bool is_known = store_path_run(root, id, "config.ini", path) == CORE_OK && core_files_exists(path) &&
                     core_config_read(path, &config) == CORE_OK;
  core_error_clear();
  if (!is_known) return json_null();
  json_t *object = json_object();
  for (size_t r = 0; r < rows; r++)
    if (!core_config_value_equals(&config, &defaults, &row[r]))
      json_object_set_new(object, row[r].name, core_config_setting_json(&config, &row[r]));
  return object;
}

static json_t *sweeps_json(const ServeSnapshot *snapshot, const char *id) {
  json_t *list = json_array();
  for (size_t s = 0; s < snapshot->count; s++) {
    const SweepProgress *progress = &snapshot->view[s].progress;
    for (size_t i = 0; i < progress->runs; i++)
      if (strcmp(progress->run[i].id, id) == 0)
        json_array_append_new(list, json_pack("{s:s, s:I}", "sweep", progress->name, "index", (json_int_t)i));
  }
  return list;
}

static json_t *value_json(StoreQuery *query, int column) {
  switch (store_query_value(query, column)) {
    case STORE_VALUE_NULL: return json_null();
    case STORE_VALUE_INT: return json_integer(store_query_int(query, column));
    case STORE_VALUE_REAL: return core_json_real(store_query_real(query, column));
    default: return core_json_text(store_query_text(query, column));
  }
}

/* Lists the rows of a statement with the id as ?1: [{column: value}]. Empty without a results.db. */
static json_t *rows_json(ServeReader *reader, const char *sql, const char *id) {
  json_t *list = json_array();
  StoreQuery *query = NULL;
  bool row = false;

  if (serve_reader_open(reader) == CORE_OK && store_query_open(reader->database, sql, &query) == CORE_OK) {
    store_query_bind_text(query, 1, id);
    while (store_query_step(query, &row) == CORE_OK && row) {
      json_t *object = json_object();
      for (int c = 0; c < store_query_columns(query); c++)
        json_object_set_new(object, store_query_name(query, c), value_json(query, c));
      json_array_append_new(list, object);
    }
  }

  store_query_close(&query);
  core_error_clear();
  return list;
}

static json_t *videos_json(const char *root, const char *id) {
  int64_t *iterations = NULL;
  size_t count = 0;
  json_t *list = json_array();
  if (store_path_list_videos(root, id, &iterations, &count) != CORE_OK) core_error_clear();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer(iterations[i]));
  free(iterations);
  return list;
}

int serve_api_run(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  size_t index;
  ServeReader *reader = context->reader;
  TRY(serve_argument_run(context, &sweep, &index));
  const char *root = context->serve->root, *id = sweep->view->progress.run[index].id;
  *value = serve_run_json(sweep, index);

  json_object_set_new(*value, "sweeps", sweeps_json(context->snapshot, id));
  json_object_set_new(*value, "not_default", settings_json(root, id));
  json_object_set_new(*value, "attempts", rows_json(reader,
    "SELECT attempt, status, host, device, git_commit, started, finished, message FROM attempt WHERE run_id = ?1"
    " ORDER BY attempt DESC LIMIT 50", id));
  json_object_set_new(*value, "evaluations", rows_json(reader,
    "SELECT level_set, max(iteration) AS iteration, transitions, solve_rate, solve_rate_se, episode_return, episodes"
    " FROM evaluation WHERE run_id = ?1 GROUP BY level_set ORDER BY level_set <> 'train', level_set", id));
  json_object_set_new(*value, "videos", videos_json(root, id));
  return CORE_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Appends up to `size` bytes from `offset` on; fewer if the file has been truncated. */
static void append_bytes(int fd, off_t offset, size_t size, CoreText *text) {
  char *buffer = core_memory_allocate(size + 1);
  size_t length = 0;
  ssize_t n = 1;
  while (length < size && n > 0) {
    n = pread(fd, buffer + length, size - length, offset + (off_t)length);
    if (n > 0) length += (size_t)n;
  }
  core_text_append_bytes(text, buffer, length);
  free(buffer);
}

/* Returns the end of the log, from the beginning of a line on. */
int serve_api_log(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  size_t index;
  int64_t limit;
  int fd;
  off_t size;
  CoreText text = {0};

  TRY(serve_argument_int(context, "bytes", 1, LOG_MAX, LOG_DEFAULT, &limit));
  TRY(serve_argument_run(context, &sweep, &index));
  const char *id = sweep->view->progress.run[index].id;
  const int code = serve_file_open(context->serve->root, id, "log.txt", &fd, &size);
  if (code == SERVE_NOT_FOUND) {
    *value = json_pack("{s:s, s:i, s:i, s:s}", "run", id, "size", 0, "offset", 0, "text", "");
    return CORE_OK;
  }
  TRY(code);

  off_t from = size > limit ? size - limit : 0;
  append_bytes(fd, from, (size_t)(size - from), &text);
  close(fd);
  const char *start = core_text_string(&text), *line = from > 0 ? strchr(start, '\n') : NULL;
  if (line) {
    from += line + 1 - start;
    start = line + 1;
  }

  *value = json_pack("{s:s, s:I, s:I, s:o}", "run", id, "size", (json_int_t)size, "offset", (json_int_t)from, "text",
                     core_json_text(start));
  core_text_free(&text);
  return CORE_OK;
}

int serve_api_video(const ServeContext *context, CoreText *gif) {
  const ServeSweep *sweep;
  size_t index;
  int64_t iteration;
  int fd;
  off_t size;
  char name[STORE_VIDEO_NAME];

  TRY(serve_argument_int(context, "iteration", 0, INT64_MAX, -1, &iteration));
  if (iteration < 0) return core_error(CORE_USAGE, "iteration=NUMBER is missing");
  TRY(serve_argument_run(context, &sweep, &index));
  store_video_name(iteration, name);
  TRY(serve_file_open(context->serve->root, sweep->view->progress.run[index].id, name, &fd, &size));

  const bool is_small = size <= VIDEO_MAX;
  if (is_small) append_bytes(fd, 0, (size_t)size, gif);
  close(fd);
  return is_small ? CORE_OK : core_error(CORE_FAIL, "%s exceeds %d MB", name, VIDEO_MAX >> 20);
}
