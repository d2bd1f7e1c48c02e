/* Event files: which are the run's, and scalars of their events (events.h; tensorflow/core/util/event.proto). */
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

enum { DEPTH_MAX = 8, READ_BYTES = 1 << 20, WALK_EVERY_S = 10 };
static const char mark[] = "tfevents";

typedef struct EventFile {
  char *path;
  int64_t offset;
  CoreText bytes;               /* beginning of a record that has no end yet */
  bool is_lost;                 /* nothing behind `offset` can be read */
  double step;                  /* step of `record`, which grows until the step changes */
  ProgramRecord record;
} EventFile;

struct ProgramEvents {
  char folder[CORE_PATH_MAX], list[CORE_PATH_MAX], run[64];
  EventFile *files;
  size_t count;
  char **older;                 /* files that were there before the attempt began */
  size_t older_count;
  pid_t *processes;             /* processes of the run so far */
  size_t process_count;
  char host[256];
  double began_unix_s;          /* beginning of the attempt; INFINITY: an earlier one, whose files are all listed */
  double walked_s;              /* last walk through the shared directory */
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

/* Calls `visit` with each event file below a directory, by name. Links are not followed. */
static void walk(ProgramEvents *events, const char *folder, int depth, VisitFile visit) {
  char **names, path[CORE_PATH_MAX];
  size_t count;
  struct stat status;
  if (depth > DEPTH_MAX || core_files_list(folder, &names, &count) != CORE_OK) {
    core_error_clear();
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (core_files_path(path, "%s/%s", folder, names[i]) == CORE_OK && lstat(path, &status) == 0) {
      if (S_ISDIR(status.st_mode)) walk(events, path, depth + 1, visit);
      else if (S_ISREG(status.st_mode) && strstr(names[i], mark)) visit(events, path);
    }
    free(names[i]);
  }
  free(names);
}

/* A line a file: those of the attempt begin with '+', those that were there before with '-'. */
static int write_list(const ProgramEvents *events) {
  CoreText text = {0};
  for (size_t i = 0; i < events->older_count; i++) core_text_appendf(&text, "-%s\n", events->older[i]);
  for (size_t i = 0; i < events->count; i++) core_text_appendf(&text, "+%s\n", events->files[i].path);
  const int code = core_files_replace(events->list, core_text_string(&text), text.length);
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

int program_events_open(const char *folder, const char *run, const char *list, ProgramEvents **result) {
  ProgramEvents *events = core_memory_zero_allocate(1, sizeof *events);
  snprintf(events->folder, sizeof events->folder, "%s", folder);
  snprintf(events->list, sizeof events->list, "%s", list);
  snprintf(events->run, sizeof events->run, "%s", run ? run : "");
  *result = events;
  gethostname(events->host, sizeof events->host - 1);
  events->began_unix_s = core_files_exists(list) ? INFINITY : core_clock_unix_s();
  events->walked_s = -INFINITY;
  if (core_files_exists(list)) return read_list(events);
  if (!run) walk(events, folder, 0, add_older);
  return write_list(events);
}

static void add_new(ProgramEvents *events, const char *path) {
  if (!is_known(events, path)) add_file(events, path);
}

/* One of the run's open files. */
static void look_at_open(void *context, const char *path) {
  ProgramEvents *events = context;
  char folder[PATH_MAX];
  const char *name = strrchr(path, '/');
  if (!name || !strstr(name, mark) || !realpath(events->folder, folder)) return;
  const size_t length = strlen(folder);
  if (strncmp(path, folder, length) == 0 && path[length] == '/') add_new(events, path);
}

static void add_process(void *context, pid_t process) {
  ProgramEvents *events = context;
  for (size_t i = 0; i < events->process_count; i++)
    if (events->processes[i] == process) return;
  events->processes = core_memory_resize(events->processes, (events->process_count + 1) * sizeof *events->processes);
  events->processes[events->process_count++] = process;
}

/* Whether the file is named as TensorBoard names those of a process of the run, since the attempt began:
 * events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER. */
static bool is_named_by_run(const ProgramEvents *events, const char *path) {
  char *end;
  const char *name = strstr(strrchr(path, '/'), mark);
  const long long seconds = name && name[strlen(mark)] == '.' ? strtoll(name + strlen(mark) + 1, &end, 10) : -1;
  const size_t length = strlen(events->host);
  if (seconds < 0 || (double)seconds + 2 < events->began_unix_s || *end != '.') return false;
  if (strncmp(end + 1, events->host, length) != 0 || end[1 + length] != '.') return false;
  const long process = strtol(end + length + 2, &end, 10);
  for (size_t i = 0; i < events->process_count && *end == '.'; i++)
    if (events->processes[i] == process) return true;
  return false;
}

static void add_named(ProgramEvents *events, const char *path) {
  if (is_named_by_run(events, path)) add_new(events, path);
}

/* Finds files of the run in a directory that runs share. It may hold thousands of directories of other runs, so the
 * walk becomes rare once the run has a file. */
static void find_shared(ProgramEvents *events, bool last) {
  const double now = core_clock_s();
  program_processes_list(events->run, add_process, look_at_open, events);
  if (!last && events->count > 0 && now - events->walked_s < WALK_EVERY_S) return;
  walk(events, events->folder, 0, add_named);
  events->walked_s = now;
}

static int find_files(ProgramEvents *events, bool last) {
  const size_t before = events->count;
  if (events->run[0]) find_shared(events, last);
  else walk(events, events->folder, 0, add_new);
  return events->count > before ? write_list(events) : CORE_OK;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum { /* field numbers of tensorflow's protocol buffers */
  EVENT_STEP = 2, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, VALUE_TENSOR = 8,
  TENSOR_TYPE = 1, TENSOR_CONTENT = 4, TENSOR_FLOAT = 5, TENSOR_DOUBLE = 6, TENSOR_INT = 7, TENSOR_INT64 = 10,
  TYPE_FLOAT = 1, TYPE_DOUBLE = 2, TYPE_INT32 = 3, TYPE_INT64 = 9
};

static bool number_of_content(uint64_t type, const CoreProtobufField *content, double *value) {
  float single;
  int32_t whole;
  int64_t wide;
  if (type == TYPE_FLOAT && content->size == sizeof single) {
    memcpy(&single, content->bytes, sizeof single);
    *value = single;
  } else if (type == TYPE_DOUBLE && content->size == sizeof *value) {
    memcpy(value, content->bytes, sizeof *value);
  } else if (type == TYPE_INT32 && content->size == sizeof whole) {
    memcpy(&whole, content->bytes, sizeof whole);
    *value = whole;
  } else if (type == TYPE_INT64 && content->size == sizeof wide) {
    memcpy(&wide, content->bytes, sizeof wide);
    *value = (double)wide;
  } else {
    return false;
  }
  return true;
}

/* A tensor with one number. Lists of numbers are packed, or one field each. */
static bool number_of_tensor(const unsigned char *at, const unsigned char *end, double *value) {
  CoreProtobufField field, content = {0};
  uint64_t type = 0, whole;
  size_t numbers = 0;
  while (core_protobuf_next(&at, end, &field)) {
    if (field.number == TENSOR_TYPE) type = field.integer;
    if (field.number == TENSOR_CONTENT) content = field;
    const bool is_real = field.number == TENSOR_FLOAT || field.number == TENSOR_DOUBLE;
    const bool is_whole = field.number == TENSOR_INT || field.number == TENSOR_INT64;
    const size_t width = field.number == TENSOR_FLOAT ? 4 : 8;
    if (is_real && field.wire == CORE_PROTOBUF_LENGTH && field.size == width) {
      CoreProtobufField one = {.wire = width == 4 ? CORE_PROTOBUF_FIXED_32 : CORE_PROTOBUF_FIXED_64};
      memcpy(&one.integer, field.bytes, width);
      *value = core_protobuf_real(&one);
      numbers++;
    } else if (is_real && field.wire != CORE_PROTOBUF_LENGTH) {
      *value = core_protobuf_real(&field);
      numbers++;
    } else if (is_whole) {
      const unsigned char *c = field.bytes;
      if (field.wire == CORE_PROTOBUF_LENGTH && !core_protobuf_next_varint(&c, c + field.size, &whole)) return false;
      *value = (double)(int64_t)(field.wire == CORE_PROTOBUF_LENGTH ? whole : field.integer);
      numbers++;
    }
  }
  return numbers == 1 || (numbers == 0 && content.bytes && number_of_content(type, &content, value));
}

static void hand_over(EventFile *file, ProgramSink *sink) {
  if (file->record.count > 0) {
    if (sink->step_name[0]) program_record_add(&file->record, sink->step_name, strlen(sink->step_name), file->step);
    sink->take(sink->context, &file->record);
  }
  program_record_clear(&file->record);
}

/* Scalars of one step are one record, until a name comes twice. */
static void add_scalar(EventFile *file, double step, const CoreProtobufField *tag, double value, ProgramSink *sink) {
  file->record.names = &sink->names;
  const size_t name = program_names_add(&sink->names, (const char *)tag->bytes, tag->size);
  bool is_there = step != file->step;
  for (size_t i = 0; i < file->record.count && !is_there; i++) is_there = file->record.values[i].name == name;
  if (is_there) hand_over(file, sink);
  file->step = step;
  program_record_add(&file->record, (const char *)tag->bytes, tag->size, value);
}

static void take_value(EventFile *file, double step, const CoreProtobufField *message, ProgramSink *sink) {
  const unsigned char *at = message->bytes, *end = at + message->size;
  CoreProtobufField field, tag = {0};
  double value = 0;
  bool has_value = false;
  while (core_protobuf_next(&at, end, &field)) {
    if (field.number == VALUE_TAG && field.wire == CORE_PROTOBUF_LENGTH) tag = field;
    if (field.number == VALUE_SIMPLE && field.wire == CORE_PROTOBUF_FIXED_32) {
      value = core_protobuf_real(&field);
      has_value = true;
    } else if (field.number == VALUE_TENSOR && field.wire == CORE_PROTOBUF_LENGTH) {
      has_value = number_of_tensor(field.bytes, field.bytes + field.size, &value);
    }
  }
  if (has_value && tag.size > 0) add_scalar(file, step, &tag, value, sink);
}

static void take_event(EventFile *file, const unsigned char *data, size_t size, ProgramSink *sink) {
  const unsigned char *at = data, *end = data + size;
  CoreProtobufField field, value;
  double step = 0;
  while (core_protobuf_next(&at, end, &field))
    if (field.number == EVENT_STEP) step = (double)(int64_t)field.integer;
  if (at != end) sink->damaged++;
  for (at = data; core_protobuf_next(&at, end, &field);) {
    if (field.number != EVENT_SUMMARY || field.wire != CORE_PROTOBUF_LENGTH) continue;
    const unsigned char *inner = field.bytes;
    while (core_protobuf_next(&inner, field.bytes + field.size, &value))
      if (value.number == SUMMARY_VALUE && value.wire == CORE_PROTOBUF_LENGTH) take_value(file, step, &value, sink);
  }
}

/* Whole records at the beginning of what was read. */
static void take_records(EventFile *file, ProgramSink *sink) {
  const unsigned char *bytes = (const unsigned char *)file->bytes.data, *data;
  size_t at = 0, data_size, size;
  while (!file->is_lost && at < file->bytes.length) {
    const CoreTfrecordState state = core_tfrecord_next(bytes + at, file->bytes.length - at, &data, &data_size, &size);
    if (state == CORE_TFRECORD_TORN) break;
    if (state == CORE_TFRECORD_LOST) {
      core_warn("%s: damaged at byte %lld; nothing behind it is read", file->path,
                (long long)(file->offset - (int64_t)(file->bytes.length - at)));
      file->is_lost = true;
      sink->damaged++;
      break;
    }
    if (state == CORE_TFRECORD_WHOLE) take_event(file, data, data_size, sink);
    else sink->damaged++;
    at += size;
  }
  if (at == 0) return;
  memmove(file->bytes.data, file->bytes.data + at, file->bytes.length - at);
  file->bytes.length -= at;
}

static int read_file(EventFile *file, ProgramSink *sink) {
  const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? CORE_OK : core_error_errno(CORE_FAIL, "cannot read %s", file->path);
  char *buffer = core_memory_allocate(READ_BYTES);
  ssize_t got;
  while (!file->is_lost && (got = pread(fd, buffer, READ_BYTES, file->offset)) > 0) {
    core_text_append_bytes(&file->bytes, buffer, (size_t)got);
    file->offset += got;
    take_records(file, sink);
  }
  free(buffer);
  close(fd);
  return CORE_OK;
}

int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink) {
  TRY(find_files(events, last));
  for (size_t i = 0; i < events->count; i++) {
    TRY(read_file(&events->files[i], sink));
    if (last) hand_over(&events->files[i], sink);
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
