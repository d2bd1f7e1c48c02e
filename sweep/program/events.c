/* Finds the run's event files and parses their events (events.h; tensorflow/core/util/event.proto). */
#include "sweep/program/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/protobuf.h"
#include "core/terminal.h"
#include "core/tfrecord.h"
#include "sweep/program/processes.h"

enum { DEPTH_MAX = 8, READ_BYTES = 1 << 20, WALK_INTERVAL_S = 10 };
static const char infix[] = "tfevents"; /* in the name of every event file */

typedef struct EventFile {
  char *path;
  int64_t offset;
  CoreText bytes;               /* start of an incomplete record */
  bool is_lost;                 /* damaged: nothing after `offset` can be read */
  ProgramRecord record;         /* scalars of `step`, emitted when the step changes */
  double step;
} EventFile;

struct ProgramEvents {
  char directory[CORE_PATH_MAX], list[CORE_PATH_MAX], run[64];
  EventFile *files;             /* [count] */
  size_t count;
  char **older;                 /* [older_count] files that existed before the attempt */
  size_t older_count;
  pid_t *processes;             /* [process_count] all processes of the run that were seen */
  size_t process_count;
  char host[256];
  double start_unix_s;          /* start of the attempt; INFINITY: an earlier attempt, whose files are all listed */
  double walk_end_s;            /* last walk through the shared directory, monotonic */
};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool is_known(const ProgramEvents *events, const char *path) {
  for (size_t i = 0; i < events->count; i++)
    if (strcmp(events->files[i].path, path) == 0) return true;
  for (size_t i = 0; i < events->older_count; i++)
    if (strcmp(events->older[i], path) == 0) return true;
  return false;
}

static void add_file(ProgramEvents *events, const char *path) {
  events->files = core_memory_resize(events->files, (events->count + 1) * sizeof *events->files);
  events->files[events->count++] = (EventFile){.path = core_text_duplicate(path), .step = NAN};
}

static void add_older(ProgramEvents *events, const char *path) {
  events->older = core_memory_resize(events->older, (events->older_count + 1) * sizeof *events->older);
  events->older[events->older_count++] = core_text_duplicate(path);
}

typedef void (*VisitFile)(ProgramEvents *events, const char *path);

/* Calls `visit` with each event file below a directory, sorted by name. Does not follow links. */
static void walk(ProgramEvents *events, const char *directory, int depth, VisitFile visit) {
  char **names, path[CORE_PATH_MAX];
  size_t count;
  struct stat status;
  if (depth > DEPTH_MAX || core_files_list(directory, &names, &count) != CORE_OK) {
    core_error_clear();
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (core_files_path(path, "%s/%s", directory, names[i]) == CORE_OK && lstat(path, &status) == 0) {
      if (S_ISDIR(status.st_mode)) walk(events, path, depth + 1, visit);
      else if (S_ISREG(status.st_mode) && strstr(names[i], infix)) visit(events, path);
    }
    free(names[i]);
  }
  free(names);
}

/* Writes a line per file: '+' and the path for files of the attempt, '-' for older ones. */
static int write_list(const ProgramEvents *events) {
  CoreText text = {0};
  for (size_t i = 0; i < events->older_count; i++) core_text_appendf(&text, "-%s\n", events->older[i]);
  for (size_t i = 0; i < events->count; i++) core_text_appendf(&text, "+%s\n", events->files[i].path);
  const int code = core_files_write_unsynced(events->list, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

static int read_list(ProgramEvents *events) {
  char *text, *rest;
  size_t size;
  TRY(core_files_read(events->list, 0, &text, &size));
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    if (*line == '+') add_file(events, line + 1);
    if (*line == '-') add_older(events, line + 1);
  }
  free(text);
  return CORE_OK;
}

int program_events_open(const char *directory, const char *run, const char *list, ProgramEvents **result) {
  ProgramEvents *events = core_memory_zero_allocate(1, sizeof *events);
  snprintf(events->directory, sizeof events->directory, "%s", directory);
  snprintf(events->list, sizeof events->list, "%s", list);
  snprintf(events->run, sizeof events->run, "%s", run ? run : "");
  *result = events;
  gethostname(events->host, sizeof events->host - 1);
  events->start_unix_s = core_files_exists(list) ? INFINITY : core_clock_unix_s();
  events->walk_end_s = -INFINITY;
  if (core_files_exists(list)) return read_list(events);
  if (!run) walk(events, directory, 0, add_older);
  return write_list(events);
}

static void add_if_new(ProgramEvents *events, const char *path) {
  if (!is_known(events, path)) add_file(events, path);
}

/* Adds an open file of the run if it is an event file in the directory. */
static void add_open_file(void *context, const char *path) {
  ProgramEvents *events = context;
  char directory[PATH_MAX];
  const char *name = strrchr(path, '/');
  if (!name || !strstr(name, infix) || !realpath(events->directory, directory)) return;
  const size_t length = strlen(directory);
  if (strncmp(path, directory, length) == 0 && path[length] == '/') add_if_new(events, path);
}

static void add_process(void *context, pid_t process) {
  ProgramEvents *events = context;
  for (size_t i = 0; i < events->process_count; i++)
    if (events->processes[i] == process) return;
  events->processes = core_memory_resize(events->processes, (events->process_count + 1) * sizeof *events->processes);
  events->processes[events->process_count++] = process;
}

/* Whether the name is one that TensorBoard gives to a file of a process of the run since the attempt's start:
 * events.out.tfevents.SECONDS.HOST.PROCESS.INDEX. */
static bool is_named_by_run(const ProgramEvents *events, const char *path) {
  char *end;
  const char *name = strstr(strrchr(path, '/'), infix);
  const long long seconds = name && name[strlen(infix)] == '.' ? strtoll(name + strlen(infix) + 1, &end, 10) : -1;
  const size_t length = strlen(events->host);
  if (seconds < 0 || (double)seconds + 2 < events->start_unix_s || *end != '.') return false;
  if (strncmp(end + 1, events->host, length) != 0 || end[1 + length] != '.') return false;
  const long process = strtol(end + length + 2, &end, 10);
  for (size_t i = 0; i < events->process_count && *end == '.'; i++)
    if (events->processes[i] == process) return true;
  return false;
}

static void add_named(ProgramEvents *events, const char *path) {
  if (is_named_by_run(events, path)) add_if_new(events, path);
}

/* Finds files of the run in a directory that runs share. It may contain thousands of other runs' directories, so walks
 * become rare once the run has a file. */
static void find_shared(ProgramEvents *events, bool last) {
  const double now = core_clock_s();
  program_processes_list(events->run, add_process, add_open_file, events);
  if (!last && events->count > 0 && now - events->walk_end_s < WALK_INTERVAL_S) return;
  walk(events, events->directory, 0, add_named);
  events->walk_end_s = now;
}

static int find_files(ProgramEvents *events, bool last) {
  const size_t old_count = events->count;
  if (events->run[0]) find_shared(events, last);
  else walk(events, events->directory, 0, add_if_new);
  return events->count > old_count ? write_list(events) : CORE_OK;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum { /* field numbers of TensorFlow's protocol buffers */
  EVENT_STEP = 2, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_TENSOR = 8,
  TENSOR_TYPE = 1, TENSOR_CONTENT = 4, TENSOR_FLOAT = 5, TENSOR_DOUBLE = 6, TENSOR_INT = 7, TENSOR_INT64 = 10,
  TYPE_FLOAT = 1, TYPE_DOUBLE = 2, TYPE_INT32 = 3, TYPE_INT64 = 9
};

/* Parses the bytes of a scalar tensor. */
static bool parse_content(uint64_t type, const CoreProtobufField *content, double *value) {
  float single;
  int32_t int32;
  int64_t int64;
  if (type == TYPE_FLOAT && content->size == sizeof single) {
    memcpy(&single, content->bytes, sizeof single);
    *value = single;
  } else if (type == TYPE_DOUBLE && content->size == sizeof *value) {
    memcpy(value, content->bytes, sizeof *value);
  } else if (type == TYPE_INT32 && content->size == sizeof int32) {
    memcpy(&int32, content->bytes, sizeof int32);
    *value = int32;
  } else if (type == TYPE_INT64 && content->size == sizeof int64) {
    memcpy(&int64, content->bytes, sizeof int64);
    *value = (double)int64;
  } else {
    return false;
  }
  return true;
}

/* Parses a tensor with one element. Elements are packed, or a field each. */
static bool parse_tensor(const unsigned char *next, const unsigned char *end, double *value) {
  CoreProtobufField field, content = {0};
  uint64_t type = 0, varint;
  size_t elements = 0;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number == TENSOR_TYPE) type = field.integer;
    if (field.number == TENSOR_CONTENT) content = field;
    const bool is_real = field.number == TENSOR_FLOAT || field.number == TENSOR_DOUBLE;
    const bool is_integer = field.number == TENSOR_INT || field.number == TENSOR_INT64;
    const size_t width = field.number == TENSOR_FLOAT ? 4 : 8;
    if (is_real && field.wire == CORE_PROTOBUF_LENGTH && field.size == width) {
      CoreProtobufField element = {.wire = width == 4 ? CORE_PROTOBUF_FIXED_32 : CORE_PROTOBUF_FIXED_64};
      memcpy(&element.integer, field.bytes, width);
      *value = core_protobuf_real(&element);
      elements++;
    } else if (is_real && field.wire != CORE_PROTOBUF_LENGTH) {
      *value = core_protobuf_real(&field);
      elements++;
    } else if (is_integer) {
      const unsigned char *packed = field.bytes;
      varint = field.integer;
      if (field.wire == CORE_PROTOBUF_LENGTH && !core_protobuf_next_varint(&packed, packed + field.size, &varint))
        return false;
      *value = (double)(int64_t)varint;
      elements++;
    }
  }
  return elements == 1 || (elements == 0 && content.bytes && parse_content(type, &content, value));
}

static void emit_record(EventFile *file, ProgramSink *sink) {
  if (file->record.count > 0) {
    if (sink->step_name[0]) program_record_add(&file->record, sink->step_name, strlen(sink->step_name), file->step);
    sink->on_record(sink->context, &file->record);
  }
  program_record_clear(&file->record);
}

/* Adds a scalar to the record of its step. A repeated name starts a new record. */
static void add_scalar(EventFile *file, double step, const CoreProtobufField *tag, double value, ProgramSink *sink) {
  file->record.names = &sink->names;
  const size_t name = program_names_add(&sink->names, (const char *)tag->bytes, tag->size);
  bool starts_record = step != file->step;
  for (size_t i = 0; i < file->record.count && !starts_record; i++)
    starts_record = file->record.values[i].name == name;
  if (starts_record) emit_record(file, sink);
  file->step = step;
  program_record_add(&file->record, (const char *)tag->bytes, tag->size, value);
}

static void read_value(EventFile *file, double step, const CoreProtobufField *message, ProgramSink *sink) {
  const unsigned char *next = message->bytes, *end = next + message->size;
  CoreProtobufField field, tag = {0};
  double value = 0;
  bool has_value = false;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number == VALUE_TAG && field.wire == CORE_PROTOBUF_LENGTH) tag = field;
    if (field.number == VALUE_SIMPLE && field.wire == CORE_PROTOBUF_FIXED_32) {
      value = core_protobuf_real(&field);
      has_value = true;
    } else if (field.number == VALUE_TENSOR && field.wire == CORE_PROTOBUF_LENGTH) {
      has_value = parse_tensor(field.bytes, field.bytes + field.size, &value);
    }
  }
  if (has_value && tag.size > 0) add_scalar(file, step, &tag, value, sink);
}

static void read_event(EventFile *file, const unsigned char *data, size_t size, ProgramSink *sink) {
  const unsigned char *next = data, *end = data + size;
  CoreProtobufField field, value;
  double step = 0;
  while (core_protobuf_next(&next, end, &field))
    if (field.number == EVENT_STEP) step = (double)(int64_t)field.integer;
  if (next != end) sink->damaged++;
  next = data;
  while (core_protobuf_next(&next, end, &field)) {
    if (field.number != EVENT_SUMMARY || field.wire != CORE_PROTOBUF_LENGTH) continue;
    const unsigned char *inner = field.bytes;
    while (core_protobuf_next(&inner, field.bytes + field.size, &value))
      if (value.number == SUMMARY_VALUE && value.wire == CORE_PROTOBUF_LENGTH) read_value(file, step, &value, sink);
  }
}

/* Reads the complete records among the bytes of a file, and removes them. */
static void read_records(EventFile *file, ProgramSink *sink) {
  const unsigned char *bytes = (const unsigned char *)file->bytes.data, *data;
  size_t consumed = 0, data_size, size;
  while (!file->is_lost && consumed < file->bytes.length) {
    const CoreTfrecordState state =
      core_tfrecord_next(bytes + consumed, file->bytes.length - consumed, &data, &data_size, &size);
    if (state == CORE_TFRECORD_TORN) break;
    if (state == CORE_TFRECORD_LOST) {
      core_warn("%s: damaged at byte %lld; the rest is skipped", file->path,
                (long long)(file->offset - (int64_t)(file->bytes.length - consumed)));
      file->is_lost = true;
      sink->damaged++;
      break;
    }
    if (state == CORE_TFRECORD_WHOLE) read_event(file, data, data_size, sink);
    else sink->damaged++;
    consumed += size;
  }
  if (consumed == 0) return;
  memmove(file->bytes.data, file->bytes.data + consumed, file->bytes.length - consumed);
  file->bytes.length -= consumed;
}

static int read_file(EventFile *file, ProgramSink *sink) {
  const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? CORE_OK : core_error_errno(CORE_FAIL, "cannot read %s", file->path);
  char *buffer = core_memory_allocate(READ_BYTES);
  ssize_t bytes_read;
  while (!file->is_lost && (bytes_read = pread(fd, buffer, READ_BYTES, file->offset)) > 0) {
    core_text_append_bytes(&file->bytes, buffer, (size_t)bytes_read);
    file->offset += bytes_read;
    read_records(file, sink);
  }
  free(buffer);
  close(fd);
  return CORE_OK;
}

int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink) {
  TRY(find_files(events, last));
  for (size_t i = 0; i < events->count; i++) {
    TRY(read_file(&events->files[i], sink));
    if (last) emit_record(&events->files[i], sink);
  }
  return CORE_OK;
}

size_t program_events_files(const ProgramEvents *events) { return events->count; }

void program_events_close(ProgramEvents **result) {
  ProgramEvents *events = *result;
  if (!events) return;
  for (size_t i = 0; i < events->count; i++) {
    free(events->files[i].path);
    core_text_free(&events->files[i].bytes);
    program_record_free(&events->files[i].record);
  }
  for (size_t i = 0; i < events->older_count; i++) free(events->older[i]);
  free(events->files);
  free(events->older);
  free(events->processes);
  free(events);
  *result = NULL;
}
