/* Reads run logs: verifies the checksum of each complete line, and finds fields by the names in the header. This is the
 * importer's inner loop, so a line is scanned twice (checksum, numbers) and never copied. The input is untrusted:
 * a log may be truncated, have flipped bytes, or come from another version. Readable lines are read, others counted. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/runlog/number_internal.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/crc32_internal.h"
#include "store/workspace/paths.h"

enum {
  BUFFER_BYTES = 1 << 18, /* also the maximum length of a line */
  COLUMNS_MAX = 256,
  CHECK_BYTES = 9,        /* tab and eight hex digits */
  PREFIX_BYTES = 64,      /* bytes before an offset that its CRC covers */
};

/* ---- lines ------------------------------------------------------------------------------------------------------ */

typedef struct Reader {
  const char *path;
  int fd;
  char *buffer;           /* [BUFFER_BYTES] */
  size_t begin, end;      /* unread bytes of the buffer */
  int64_t base;           /* file offset of buffer[0] */
  int64_t lines;          /* lines read since the last seek */
} Reader;

typedef struct Line {
  char *text;             /* terminated by a newline; NULL: no complete line is left */
  size_t length;          /* length without the newline */
  int64_t end;            /* file offset after the line */
} Line;

static void reader_seek(Reader *reader, int64_t offset) {
  reader->base = offset;
  reader->begin = reader->end = 0;
  reader->lines = 0;
}

/* Moves unread bytes to the front and reads more. *got: number of bytes read; 0: end of the file. */
static int reader_fill(Reader *reader, size_t *got) {
  memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
  reader->base += (int64_t)reader->begin;
  reader->end -= reader->begin;
  reader->begin = 0;
  ssize_t count;
  do count = pread(reader->fd, reader->buffer + reader->end, BUFFER_BYTES - reader->end,
                   reader->base + (int64_t)reader->end);
  while (count < 0 && errno == EINTR);
  if (count < 0) return core_error_errno(CORE_FAIL, "cannot read %s", reader->path);
  reader->end += (size_t)count;
  *got = (size_t)count;
  return CORE_OK;
}

/* Reads the next complete line. A line longer than the buffer is returned as an empty one, which counts as damaged
 * because it has no checksum. */
static int reader_next(Reader *reader, Line *line) {
  bool too_long = false;
  for (size_t searched = 0;;) {
    char *start = reader->buffer + reader->begin;
    char *newline = memchr(start + searched, '\n', reader->end - reader->begin - searched);
    if (newline) {
      reader->begin = (size_t)(newline + 1 - reader->buffer);
      reader->lines++;
      *line = (Line){too_long ? newline : start, too_long ? 0 : (size_t)(newline - start),
                     reader->base + (int64_t)reader->begin};
      return CORE_OK;
    }

    searched = reader->end - reader->begin;
    if (searched == BUFFER_BYTES) {
      too_long = true;
      reader->begin = reader->end;
      searched = 0;
    }

    size_t got = 0;
    TRY(reader_fill(reader, &got));
    if (got == 0) {
      *line = (Line){0};
      return CORE_OK;
    }
  }
}

/* Counts the newlines in the first `offset` bytes, for the line number of a damaged line. The importer saves only an
 * offset, no line number, between calls. */
static int64_t count_lines_before(const Reader *reader, int64_t offset) {
  char *bytes = core_memory_allocate(BUFFER_BYTES);
  int64_t lines = 0;
  for (int64_t position = 0; position < offset;) {
    size_t chunk = offset - position < BUFFER_BYTES ? (size_t)(offset - position) : BUFFER_BYTES;
    ssize_t got = pread(reader->fd, bytes, chunk, position);
    if (got <= 0) break;
    for (char *c = bytes, *end = bytes + got; (c = memchr(c, '\n', (size_t)(end - c))) != NULL; c++) lines++;
    position += got;
  }
  free(bytes);
  return lines;
}

/* ---- header ----------------------------------------------------------------------------------------------------- */

enum { TARGET_IGNORED = -1, TARGET_ITERATION = -2, TARGET_NAME = -3 }; /* NAME: of a level set, network or metric */

/* Destination of each field of a log: an index into the record's values, or a TARGET_. */
typedef struct Layout {
  StoreLogKind kind;
  int columns;            /* number of fields without the checksum */
  int target[COLUMNS_MAX];
} Layout;

static Layout default_layout(StoreLogKind kind) {
  Layout layout = {.kind = kind};
  size_t count;
  store_runlog_columns(kind, &count);
  layout.target[layout.columns++] = TARGET_ITERATION;
  if (kind != STORE_LOG_STATS) layout.target[layout.columns++] = TARGET_NAME;
  for (size_t i = 0; i < count; i++) layout.target[layout.columns++] = (int)i;
  return layout;
}

static int find_target(StoreLogKind kind, const char *name, size_t length) {
  size_t count;
  const StoreLogColumn *columns = store_runlog_columns(kind, &count);
  if (length == 9 && memcmp(name, "iteration", 9) == 0) return TARGET_ITERATION;
  if (kind == STORE_LOG_EVAL && length == 9 && memcmp(name, "level_set", 9) == 0) return TARGET_NAME;
  if (kind == STORE_LOG_LAYERS && length == 7 && memcmp(name, "network", 7) == 0) return TARGET_NAME;
  if (kind == STORE_LOG_METRICS && length == 4 && memcmp(name, "name", 4) == 0) return TARGET_NAME;
  for (size_t i = 0; i < count; i++)
    if (strlen(columns[i].name) == length && memcmp(columns[i].name, name, length) == 0) return (int)i;
  return TARGET_IGNORED;
}

/* Parses the column names in line 2. warn: warn of columns that are unknown to this version. */
static Layout parse_names(const Reader *reader, StoreLogKind kind, const Line *line, bool warn) {
  Layout layout = {.kind = kind};
  const char *end = line->text + line->length;

  for (const char *c = line->text; c < end && layout.columns < COLUMNS_MAX;) {
    const char *tab = memchr(c, '\t', (size_t)(end - c));
    if (!tab) break; /* the last name is the checksum's */
    const char *unit = memchr(c, '[', (size_t)(tab - c));
    size_t length = (size_t)((unit ? unit : tab) - c);
    int target = find_target(kind, c, length);
    if (target == TARGET_IGNORED && warn)
      core_warn("%s: column '%.*s' is unknown to this version; it is not imported", reader->path,
                length < 40 ? (int)length : 40, c);
    layout.target[layout.columns++] = target;
    c = tab + 1;
  }

  return layout;
}

/* Whether line 1 agrees with the names of the file and its directory. *names_crc: the checksum of line 2 (the column
 * names) that it contains; *has_crc: whether it contains one. */
static bool check_first_line(const Reader *reader, StoreLogKind kind, int attempt, const Line *line, bool *has_crc,
                             uint32_t *names_crc) {
  char copy[128], word[8], id[40], directory[CORE_PATH_MAX];
  int version, number, end = 0;
  unsigned crc = 0;
  *has_crc = false;

  if (line->length >= sizeof copy) return false;
  memcpy(copy, line->text, line->length);
  copy[line->length] = '\0';
  if (sscanf(copy, "#runlog %9d %7s %39s %9d%n", &version, word, id, &number, &end) != 4) return false;

  *has_crc = copy[end] != '\0';
  /* An unreadable checksum counts as a wrong one, and so do uppercase digits, which are never written. */
  if (strlen(copy + end) == 9 && strspn(copy + end + 1, "0123456789abcdef") == 8) sscanf(copy + end, " %8x", &crc);
  *names_crc = crc;

  if (version != STORE_RUNLOG_VERSION || strcmp(word, store_runlog_kind_name(kind)) != 0 || number != attempt)
    return false;
  if (core_files_path(directory, "%s", reader->path) != CORE_OK) return false;

  char *slash = strrchr(directory, '/');
  if (!slash) return true;
  *slash = '\0';
  slash = strrchr(directory, '/');
  const char *name = slash ? slash + 1 : directory;
  return !store_is_run_id(name) || strcmp(name, id) == 0;
}

typedef struct Header {
  Layout layout;
  Layout fallback;         /* this version's layout; used if line 2 is damaged, for records with as many fields */
  bool names_damaged;
  int64_t end;             /* offset of the first record; 0: the header is not complete yet */
  StoreLogDamage damage;
} Header;

static void count_damage(StoreLogDamage *damage, int64_t line) {
  if (damage->lines++ == 0) damage->first_line = line;
}

/* Reads lines 1 and 2. If they are damaged, the kind follows from the file's name, and records with as many fields as
 * this version writes are assumed to have its layout; their checksums exclude garbage. */
static int read_header(Reader *reader, bool warn, Header *header) {
  StoreLogKind kind = STORE_LOG_STATS;
  int attempt = 0;
  const char *slash = strrchr(reader->path, '/');

  if (!store_runlog_from_name(slash ? slash + 1 : reader->path, &kind, &attempt))
    return core_error(CORE_FAIL, "%s is not a run log: expected a name like stats.N.tsv, eval.N.tsv, layers.N.tsv or "
                      "metrics.N.tsv",
                      reader->path);
  *header = (Header){.layout = default_layout(kind), .fallback = default_layout(kind)};

  Line line;
  bool has_crc;
  uint32_t crc = 0;
  reader_seek(reader, 0);
  TRY(reader_next(reader, &line));
  if (!line.text) return CORE_OK;
  if (!check_first_line(reader, kind, attempt, &line, &has_crc, &crc)) count_damage(&header->damage, 1);

  int64_t first_end = line.end;
  TRY(reader_next(reader, &line));
  if (!line.text) return CORE_OK;
  const bool has_names = line.length > 10 && memcmp(line.text, "iteration\t", 10) == 0;
  header->end = has_names ? line.end : first_end; /* a second line without names is read as a record */
  if (!has_names) return CORE_OK;

  header->names_damaged = has_crc && store_crc32(line.text, line.length) != crc;
  if (header->names_damaged) count_damage(&header->damage, 2);
  header->layout = parse_names(reader, kind, &line, warn && !header->names_damaged);
  return CORE_OK;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Verifies the checksum of a line and removes it. Returns false if it is missing or wrong. */
static bool check_line(Line *line) {
  if (line->length <= CHECK_BYTES) return false;
  size_t length = line->length - CHECK_BYTES;
  const char *c = line->text + length;
  if (*c != '\t') return false;
  uint32_t written = 0;
  for (int i = 1; i < CHECK_BYTES; i++) {
    int digit = hex_digit(c[i]);
    if (digit < 0) return false;
    written = written << 4 | (uint32_t)digit;
  }
  line->length = length;
  return store_crc32(line->text, length) == written;
}

/* Record of a log of any kind; only the member of that kind is used. */
typedef struct Record {
  StoreIteration iteration;
  StoreEvaluation evaluation;
  StoreLayer layer;
  StoreMetric metric;
} Record;

static Record empty_record(void) {
  return (Record){store_iteration_unmeasured(0), store_evaluation_unmeasured(0, ""), store_layer_unmeasured(0, "", 0),
                  {.step = NAN, .value = NAN}};
}

/* Destinations in a record of a line's iteration, name and numbers; name is NULL if the kind has none. */
typedef struct Parts { int64_t *iteration; double *values; char *name; size_t name_size; } Parts;

static Parts find_parts(StoreLogKind kind, Record *record) {
  StoreEvaluation *evaluation = &record->evaluation;
  StoreLayer *layer = &record->layer;
  StoreMetric *metric = &record->metric;
  if (kind == STORE_LOG_EVAL)
    return (Parts){&evaluation->iteration, &evaluation->transitions, evaluation->level_set,
                   sizeof evaluation->level_set};
  if (kind == STORE_LOG_LAYERS)
    return (Parts){&layer->iteration, &layer->layer, layer->network, sizeof layer->network};
  if (kind == STORE_LOG_METRICS)
    return (Parts){&metric->iteration, &metric->step, metric->name, sizeof metric->name};
  return (Parts){&record->iteration.iteration, &record->iteration.transitions, NULL, 0};
}

static bool parse_name(const char *field, const char *end, const Parts *parts) {
  size_t length = (size_t)(end - field);
  if (length >= parts->name_size || memchr(field, '\0', length)) return false;
  memcpy(parts->name, field, length);
  parts->name[length] = '\0';
  return core_text_is_utf8(parts->name);
}

/* Parses the fields of a line. Each of them ends in a tab, since the checksum's tab follows the last. */
static bool parse_record(const Layout *layout, const Line *line, Record *record) {
  const Parts parts = find_parts(layout->kind, record);
  const char *c = line->text, *end = c + line->length;
  double key = NAN;

  for (int column = 0; column < layout->columns; column++) {
    int target = layout->target[column];
    if (c > end) return false;
    if (target >= 0) {
      c = store_number_read(c, parts.values + target);
    } else if (target == TARGET_ITERATION) {
      c = store_number_read(c, &key);
    } else {
      const char *tab = memchr(c, '\t', (size_t)(end - c) + 1);
      if (target == TARGET_NAME && !parse_name(c, tab, &parts)) return false;
      c = tab;
    }
    if (!c || *c != '\t') return false;
    c++;
  }

  if (c != end + 1 || !(key >= 0 && key <= UINT32_MAX) || key != trunc(key)) return false;
  *parts.iteration = (int64_t)key;
  const double layer = record->layer.layer;
  if (layout->kind == STORE_LOG_METRICS) return *record->metric.name != '\0';
  return layout->kind != STORE_LOG_LAYERS || (layer >= 0 && layer == trunc(layer));
}

static const Layout *select_layout(const Header *header, const Line *line) {
  int fields = 1;
  if (!header->names_damaged) return &header->layout;
  for (size_t i = 0; i < line->length; i++) fields += line->text[i] == '\t';
  return fields == header->fallback.columns ? &header->fallback : &header->layout;
}

static int read_records(Reader *reader, const Header *header, StoreLogRow row, void *context, int64_t *end,
                        StoreLogDamage *damage) {
  int64_t start = reader->base;
  Record record = empty_record();
  const StoreLogKind kind = header->layout.kind;

  for (Line line;;) {
    TRY(reader_next(reader, &line));
    if (!line.text) return CORE_OK;
    *end = line.end;
    if (check_line(&line) && parse_record(select_layout(header, &line), &line, &record)) {
      int code =
        row(context, kind == STORE_LOG_STATS ? &record.iteration : NULL,
            kind == STORE_LOG_EVAL ? &record.evaluation : NULL, kind == STORE_LOG_LAYERS ? &record.layer : NULL,
            kind == STORE_LOG_METRICS ? &record.metric : NULL);
      if (code != CORE_OK) return code;
    } else {
      count_damage(damage, damage->lines ? 0 : count_lines_before(reader, start) + reader->lines);
      /* The damaged line may have set some values before it was rejected. */
      record = empty_record();
    }
  }
}

int store_runlog_read(const char *path, int64_t offset, StoreLogRow row, void *context, int64_t *end,
                      StoreLogDamage *damage) {
  Reader reader = {.path = path};
  Header header;
  *end = offset;
  *damage = (StoreLogDamage){0};

  TRY(core_files_open_reading(path, &reader.fd));
  reader.buffer = core_memory_zero_allocate(1, BUFFER_BYTES + STORE_NUMBER_SLACK);
  int code = read_header(&reader, offset == 0, &header);
  struct stat status;
  if (code == CORE_OK && (fstat(reader.fd, &status) < 0 || status.st_size < offset))
    code = core_error(CORE_FAIL, "%s is shorter than it was", path);

  if (code == CORE_OK && header.end > 0) {
    if (offset < header.end) {
      offset = *end = header.end;
      *damage = header.damage;
    }
    reader_seek(&reader, offset);
    code = read_records(&reader, &header, row, context, end, damage);
  }

  close(reader.fd);
  free(reader.buffer);
  return code;
}

int store_runlog_prefix_crc(const char *path, int64_t offset, int64_t *size, uint32_t *crc) {
  struct stat status;

  if (!crc) {
    if (stat(path, &status) < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
    *size = status.st_size;
    return CORE_OK;
  }

  char bytes[PREFIX_BYTES];
  size_t count = offset < PREFIX_BYTES ? (size_t)offset : PREFIX_BYTES;
  int fd;
  TRY(core_files_open_reading(path, &fd));
  if (fstat(fd, &status) < 0) {
    int code = core_error_errno(CORE_FAIL, "cannot read %s", path);
    close(fd);
    return code;
  }

  *size = status.st_size;
  *crc = 0;
  if (status.st_size >= offset && pread(fd, bytes, count, offset - (int64_t)count) == (ssize_t)count)
    *crc = store_crc32(bytes, count);
  close(fd);
  return CORE_OK;
}
