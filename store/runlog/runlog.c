/* Writes run logs: records are formatted in memory and appended to the file by store_runlog_flush, the only function
 * that waits for a disk. A full disk only delays the writes. runlog_read.c reads. */
#include "store/runlog/runlog.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/text.h"
#include "store/runlog/number_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"

enum { PENDING_BYTES_MAX = 64 << 20 };

struct StoreRunlog {
  StoreLogKind kind;
  int fd;
  char path[CORE_PATH_MAX];
  CoreText pending;      /* lines not yet written; the first may be partly written */
  int64_t dropped;       /* records lost because `pending` was full */
  bool is_dirty;         /* whether it was written but not synced */
};

/* ---- names and columns ------------------------------------------------------------------------------------------ */

static const StoreLogColumn iteration_columns[] = {
#define X(name, unit, comment) {#name, unit},
  STORE_ITERATION_COLUMNS(X)
#undef X
};
static const StoreLogColumn evaluation_columns[] = {
#define X(name, unit, comment) {#name, unit},
  STORE_EVALUATION_COLUMNS(X)
#undef X
};

static const StoreLogColumn layer_columns[] = {
  {"layer", ""},
#define X(name, unit, comment) {#name, unit},
  STORE_LAYER_COLUMNS(X)
#undef X
};

static const StoreLogColumn metric_columns[] = {
#define X(name, unit, comment) {#name, unit},
  STORE_METRIC_NUMBERS(X)
#undef X
};

static const struct { const char *name, *keys; const StoreLogColumn *columns; size_t count; } kinds[STORE_LOG_KINDS] = {
  [STORE_LOG_STATS] = {"stats", "iteration", iteration_columns, STORE_ITERATION_COUNT},
  [STORE_LOG_EVAL] = {"eval", "iteration\tlevel_set", evaluation_columns, STORE_EVALUATION_COUNT},
  [STORE_LOG_LAYERS] = {"layers", "iteration\tnetwork", layer_columns, STORE_LAYER_COUNT},
  [STORE_LOG_METRICS] = {"metrics", "iteration\tname", metric_columns, STORE_METRIC_COUNT},
};

const StoreLogColumn *store_runlog_columns(StoreLogKind kind, size_t *count) {
  *count = kinds[kind].count;
  return kinds[kind].columns;
}

const char *store_runlog_kind_name(StoreLogKind kind) { return kinds[kind].name; }

bool store_runlog_from_name(const char *name, StoreLogKind *kind, int *attempt) {
  char word[8], expected[32];
  int number;
  if (sscanf(name, "%7[a-z].%9d.", word, &number) != 2 || number < 1) return false;
  *kind = STORE_LOG_STATS;
  for (int k = 0; k < STORE_LOG_KINDS; k++)
    if (strcmp(word, kinds[k].name) == 0) *kind = (StoreLogKind)k;
  *attempt = number;
  snprintf(expected, sizeof expected, "%s.%d.tsv", store_runlog_kind_name(*kind), number);
  return strcmp(name, expected) == 0;
}

static double noise_scale(double variance, double square) { return square > 0 ? variance / square : NAN; }

void store_iteration_set_noise_scale(StoreIteration *row) {
  row->noise_scale_actor = noise_scale(row->grad_variance_actor, row->grad_square_actor);
  row->noise_scale_critic = noise_scale(row->grad_variance_critic, row->grad_square_critic);
}

StoreIteration store_iteration_unmeasured(int64_t iteration) {
  return (StoreIteration){.iteration = iteration,
#define X(name, unit, comment) .name = NAN,
                          STORE_ITERATION_COLUMNS(X)
#undef X
  };
}

StoreEvaluation store_evaluation_unmeasured(int64_t iteration, const char *level_set) {
  StoreEvaluation row = {.iteration = iteration,
#define X(name, unit, comment) .name = NAN,
                         STORE_EVALUATION_COLUMNS(X)
#undef X
  };
  snprintf(row.level_set, sizeof row.level_set, "%s", level_set);
  return row;
}

StoreLayer store_layer_unmeasured(int64_t iteration, const char *network, int layer) {
  StoreLayer row = {.iteration = iteration, .layer = layer,
#define X(name, unit, comment) .name = NAN,
                    STORE_LAYER_COLUMNS(X)
#undef X
  };
  snprintf(row.network, sizeof row.network, "%s", network);
  return row;
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

static void append_header(CoreText *text, StoreLogKind kind, const char *id, int attempt) {
  CoreText names = {0};
  size_t count;
  const StoreLogColumn *columns = store_runlog_columns(kind, &count);
  core_text_append(&names, kinds[kind].keys);
  for (size_t i = 0; i < count; i++) {
    core_text_appendf(&names, "\t%s", columns[i].name);
    if (*columns[i].unit) core_text_appendf(&names, "[%s]", columns[i].unit);
  }
  core_text_append(&names, "\tcrc32");
  core_text_appendf(text, "#runlog %d %s %s %d %08x\n%s\n", STORE_RUNLOG_VERSION, store_runlog_kind_name(kind), id,
                    attempt, store_crc32(names.data, names.length), names.data);
  core_text_free(&names);
}

/* Prepares to append to the file of an earlier writer of the same attempt. A truncated header has no records after it
 * and is rewritten; a truncated last line is ended, so that only that line is lost. */
static int continue_file(StoreRunlog *log, const CoreText *header) {
  struct stat status;
  if (fstat(log->fd, &status) < 0) return core_error_errno(CORE_FAIL, "cannot open %s", log->path);

  char *start = core_memory_zero_allocate(1, header->length + 1), last = '\n';
  ssize_t got = pread(log->fd, start, header->length, 0);
  const bool is_prefix = got >= 0 && memcmp(start, header->data, (size_t)got) == 0;
  const bool is_complete = is_prefix && (size_t)got == header->length;
  free(start);

  if (got < 0 || (status.st_size > 0 && pread(log->fd, &last, 1, status.st_size - 1) != 1))
    return core_error_errno(CORE_FAIL, "cannot read %s", log->path);
  if (!is_prefix)
    return core_error(CORE_FAIL, "%s has other columns or belongs to another run; move it away to write this one",
                      log->path);

  if (!is_complete) {
    if (ftruncate(log->fd, 0) < 0) return core_error_errno(CORE_FAIL, "cannot write %s", log->path);
    core_text_append_bytes(&log->pending, header->data, header->length);
  } else if (last != '\n') {
    core_text_append(&log->pending, "\n");
  }
  return CORE_OK;
}

int store_runlog_open(const char *root, const char *id, int attempt, StoreLogKind kind, StoreRunlog **result) {
  char path[CORE_PATH_MAX], name[32];
  *result = NULL;

  if (attempt < 1) return core_error(CORE_USAGE, "invalid number of a run log: %d; they are numbered from 1", attempt);
  snprintf(name, sizeof name, "%s.%d.tsv", store_runlog_kind_name(kind), attempt);
  TRY(store_path_run(root, id, name, path));
  int fd;
  TRY(core_files_open(path, CORE_FILES_APPEND, &fd));

  StoreRunlog *log = core_memory_zero_allocate(1, sizeof *log);
  log->kind = kind;
  log->fd = fd;
  memcpy(log->path, path, sizeof path);

  CoreText header = {0};
  append_header(&header, kind, id, attempt);
  int code = continue_file(log, &header);
  core_text_free(&header);

  if (code != CORE_OK) {
    core_text_clear(&log->pending);
    store_runlog_close(&log);
    return code;
  }
  *result = log;
  return CORE_OK;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

/* Returns the offset of a new record in `pending`; -1 if the buffer is full. */
static int64_t begin_line(StoreRunlog *log) {
  if (log->pending.length < PENDING_BYTES_MAX) return (int64_t)log->pending.length;
  log->dropped++;
  return -1;
}

static void end_line(StoreRunlog *log, size_t begin, const double *values, size_t count) {
  char number[STORE_NUMBER_MAX];
  CoreText *text = &log->pending;
  for (size_t i = 0; i < count; i++) {
    core_text_append_bytes(text, "\t", 1);
    core_text_append_bytes(text, number, store_number_write(values[i], number));
  }
  core_text_appendf(text, "\t%08x\n", store_crc32(text->data + begin, text->length - begin));
}

void store_runlog_iteration(StoreRunlog *log, const StoreIteration *row) {
  CORE_CHECK(log->kind == STORE_LOG_STATS);
  int64_t begin = begin_line(log);
  if (begin < 0) return;
  core_text_appendf(&log->pending, "%lld", (long long)row->iteration);
  end_line(log, (size_t)begin, store_iteration_values(row), STORE_ITERATION_COUNT);
}

/* Appends the keys `iteration` and a name, replacing characters that would split the field or break UTF-8. */
static void append_keys(StoreRunlog *log, int64_t iteration, const char *name) {
  CoreText *text = &log->pending;
  core_text_appendf(text, "%lld\t", (long long)iteration);
  const size_t begin = text->length;
  core_text_append(text, name);
  const bool is_text = core_text_is_utf8(text->data + begin);
  for (char *c = text->data + begin; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f || (!is_text && (unsigned char)*c > 0x7f)) *c = '_';
}

void store_runlog_evaluation(StoreRunlog *log, const StoreEvaluation *row) {
  CORE_CHECK(log->kind == STORE_LOG_EVAL);
  int64_t begin = begin_line(log);
  if (begin < 0) return;
  append_keys(log, row->iteration, row->level_set);
  end_line(log, (size_t)begin, store_evaluation_values(row), STORE_EVALUATION_COUNT);
}

void store_runlog_metric(StoreRunlog *log, const StoreMetric *row) {
  CORE_CHECK(log->kind == STORE_LOG_METRICS);
  int64_t begin = *row->name ? begin_line(log) : -1;
  if (begin < 0) return;
  append_keys(log, row->iteration, row->name);
  end_line(log, (size_t)begin, store_metric_values(row), STORE_METRIC_COUNT);
}

void store_runlog_layer(StoreRunlog *log, const StoreLayer *row) {
  CORE_CHECK(log->kind == STORE_LOG_LAYERS && !strpbrk(row->network, "\t\n"));
  int64_t begin = begin_line(log);
  if (begin < 0) return;
  core_text_appendf(&log->pending, "%lld\t%s", (long long)row->iteration, row->network);
  end_line(log, (size_t)begin, store_layer_values(row), STORE_LAYER_COUNT);
}

/* ---- flush ------------------------------------------------------------------------------------------------------ */

int store_runlog_flush(StoreRunlog *log, bool durable) {
  CoreText *text = &log->pending;
  size_t written = 0;
  int write_errno = 0;

  while (written < text->length && write_errno == 0) {
    ssize_t count = write(log->fd, text->data + written, text->length - written);
    if (count >= 0) written += (size_t)count;
    else if (errno != EINTR) write_errno = errno;
  }
  if (written > 0) {
    log->is_dirty = true;
    memmove(text->data, text->data + written, text->length - written);
    text->length -= written;
    text->data[text->length] = '\0';
  }

  errno = write_errno;
  if (write_errno)
    return core_error_errno(CORE_FAIL, "cannot write %s (%zu bytes are kept in memory and retried)", log->path,
                            text->length);

  if (durable && log->is_dirty) {
    if (fdatasync(log->fd) < 0) return core_error_errno(CORE_FAIL, "cannot sync %s", log->path);
    log->is_dirty = false;
  }

  int64_t dropped = log->dropped;
  log->dropped = 0;
  if (dropped)
    return core_error(CORE_FAIL, "%s: %lld records were lost while the file could not be written", log->path,
                      (long long)dropped);
  return CORE_OK;
}

int store_runlog_close(StoreRunlog **log) {
  if (!*log) return CORE_OK;
  int code = store_runlog_flush(*log, true);
  if (close((*log)->fd) < 0 && code == CORE_OK)
    code = core_error_errno(CORE_FAIL, "cannot write %s", (*log)->path);
  core_text_free(&(*log)->pending);
  free(*log);
  *log = NULL;
  return code;
}
