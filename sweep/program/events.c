/* Finds the event files of an attempt, and reads their records (events.h). */
#include "sweep/program/events.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/protobuf.h"
#include "sweep/program/file.h"
#include "sweep/supervise/processes.h"

enum { DEPTH_MAX = 8, WALK_INTERVAL_S = 10 };
static const char infix[] = "tfevents"; /* in the name of every event file */

typedef struct EventFile {
  ProgramFile file;
  size_t folder;                /* bytes of its path before the last slash */
  dev_t device;
  ino_t inode;                  /* when it was found */
  CoreText bytes;               /* start of an incomplete record */
  bool is_lost;                 /* damaged: nothing that follows can be read */
  ProgramSeries series;
  ProgramRecord record;         /* scalars of `step` that were read last */
  double step;
} EventFile;

/* Tag of a scalar. */
typedef struct EventTag {
  size_t file;                  /* first file that has it */
  bool is_split;                /* files of several folders have it */
} EventTag;

struct ProgramEvents {
  char directory[CORE_PATH_MAX], list[CORE_PATH_MAX], run[64];
  EventFile *files;             /* [count] */
  size_t count, capacity;
  ProgramStarts starts;         /* files at the attempt's start, and then its own */
  ProgramNames tags, split_names; /* names of split tags with their folders */
  EventTag *tag;                /* [tags.count] */
  size_t tag_capacity;
  bool is_renamed;              /* names have changed: all files are to be read again */
  size_t common;                /* bytes of the folder that contains the folders of all files */
  pid_t *processes;             /* [process_count] all processes of the run that were seen */
  size_t process_count;
  char host[256];
  double start_unix_s;          /* start of the attempt; INFINITY: an earlier attempt, whose files are all listed */
  double walk_end_s;            /* last walk through the shared directory, monotonic */
  ProgramSink *sink;            /* during a read */
  EventFile *file;              /* that is read */
};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool has_path(const ProgramEvents *events, const char *path) {
  for (size_t i = 0; i < events->count; i++)
    if (strcmp(events->files[i].file.path, path) == 0) return true;
  return false;
}

/* Whether the file is known by another path. */
static bool has_inode(const ProgramEvents *events, const struct stat *status) {
  for (size_t i = 0; i < events->count; i++)
    if (events->files[i].inode == status->st_ino && events->files[i].device == status->st_dev) return true;
  return false;
}

static bool share_folder(const EventFile *a, const EventFile *b) {
  return a->folder == b->folder && strncmp(a->file.path, b->file.path, a->folder) == 0;
}

/* Returns the length of the common part of two folders, in whole names. */
static size_t common_folder(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t common = 0;
  for (size_t i = 0; i <= a_length && i <= b_length; i++) {
    const char in_a = i < a_length ? a[i] : '/', in_b = i < b_length ? b[i] : '/';
    if (in_a != in_b) break;
    if (in_a == '/') common = i;
  }
  return common;
}

/* Adds a file of the attempt. What it had at the start belongs to earlier ones. */
static void add_file(ProgramEvents *events, const char *path) {
  struct stat status;
  if (has_path(events, path) || stat(path, &status) != 0) return;
  if (!S_ISREG(status.st_mode) || has_inode(events, &status)) return;

  const struct ProgramStartEntry *entry = program_starts_find(&events->starts, path);
  if (events->count == events->capacity) {
    events->capacity = events->capacity ? 2 * events->capacity : 16;
    events->files = core_memory_resize(events->files, events->capacity * sizeof *events->files);
  }
  EventFile *file = &events->files[events->count++];
  *file = (EventFile){.device = status.st_dev, .inode = status.st_ino, .step = NAN};
  program_file_init(&file->file, path, entry && !entry->is_own ? &entry->prefix : NULL);
  file->folder = (size_t)(strrchr(path, '/') - path);

  const size_t common = events->count == 1 ? file->folder
    : common_folder(events->files->file.path, events->common, path, file->folder);
  if (common != events->common && events->count > 1) {
    for (size_t i = 0; i < events->split_names.count; i++)
      events->sink->on_renamed(events->sink->context, events->split_names.items[i]);
    events->is_renamed |= events->split_names.count > 0;
  }
  events->common = common;
}

typedef void (*VisitFile)(ProgramEvents *events, const char *path);

/* Folders of a walk, which may be reached by several links. */
typedef struct Walk { VisitFile visit; struct stat *folders; size_t count; } Walk;

static bool is_visited(Walk *walk, const struct stat *status) {
  for (size_t i = 0; i < walk->count; i++)
    if (walk->folders[i].st_ino == status->st_ino && walk->folders[i].st_dev == status->st_dev) return true;
  walk->folders = core_memory_resize(walk->folders, (walk->count + 1) * sizeof *walk->folders);
  walk->folders[walk->count++] = *status;
  return false;
}

/* Reads the status of a file, or of what a link leads to that this user or root made: files behind links of others are
 * not opened (core_files_guard), nor are their names listed. */
static bool read_status(const char *path, struct stat *status) {
  if (lstat(path, status) != 0) return false;
  if (!S_ISLNK(status->st_mode)) return true;
  return (status->st_uid == geteuid() || status->st_uid == 0) && stat(path, status) == 0;
}

static void walk_folder(ProgramEvents *events, const char *directory, int depth, Walk *walk) {
  char **names, path[CORE_PATH_MAX];
  size_t count;
  struct stat status;
  if (depth > DEPTH_MAX || stat(directory, &status) != 0 || is_visited(walk, &status)) return;
  if (core_files_list(directory, &names, &count) != CORE_OK) {
    core_error_clear();
    return;
  }

  for (size_t i = 0; i < count; i++) {
    if (core_files_path(path, "%s/%s", directory, names[i]) == CORE_OK && read_status(path, &status)) {
      if (S_ISDIR(status.st_mode)) walk_folder(events, path, depth + 1, walk);
      else if (S_ISREG(status.st_mode) && strstr(names[i], infix)) walk->visit(events, path);
    }
    free(names[i]);
  }

  free(names);
}

/* Calls `visit` with each event file below the directory, sorted by name. */
static void walk_files(ProgramEvents *events, VisitFile visit) {
  Walk walk = {.visit = visit};
  walk_folder(events, events->directory, 0, &walk);
  free(walk.folders);
}

static void add_start(ProgramEvents *events, const char *path) { program_starts_add(&events->starts, path, false); }

/* Whether a path is that of an event file below the directory. */
static bool is_event_file(const ProgramEvents *events, const char *path) {
  const size_t length = strlen(events->directory);
  const char *name = strrchr(path, '/');
  return name && strstr(name, infix) && strncmp(path, events->directory, length) == 0 && path[length] == '/' &&
         !strstr(path, "/../");
}

int program_events_open(const char *directory, const char *run, const char *list, ProgramEvents **result) {
  ProgramEvents *events = core_memory_zero_allocate(1, sizeof *events);
  const bool is_new = !program_starts_read(list, &events->starts);
  snprintf(events->directory, sizeof events->directory, "%s", directory);
  snprintf(events->list, sizeof events->list, "%s", list);
  snprintf(events->run, sizeof events->run, "%s", run ? run : "");
  *result = events;
  gethostname(events->host, sizeof events->host - 1);
  events->start_unix_s = is_new ? core_clock_unix_s() : INFINITY;
  events->walk_end_s = -INFINITY;

  if (!is_new) {
    for (size_t i = 0; i < events->starts.count; i++)
      if (events->starts.items[i].is_own && is_event_file(events, events->starts.items[i].path))
        add_file(events, events->starts.items[i].path);
    return CORE_OK;
  }
  if (!run) walk_files(events, add_start);
  return program_starts_write(list, &events->starts);
}

/* Adds an open file of the run if it is an event file in the directory, under the name that the user gave the
 * directory. */
static void add_open_file(void *context, const char *path) {
  ProgramEvents *events = context;
  char directory[PATH_MAX], own[CORE_PATH_MAX];
  const char *name = strrchr(path, '/');
  if (!name || !strstr(name, infix) || !realpath(events->directory, directory)) return;
  const size_t length = strlen(directory);
  if (strncmp(path, directory, length) != 0 || path[length] != '/') return;
  if (core_files_path(own, "%s%s", events->directory, path + length) == CORE_OK) add_file(events, own);
}

void program_events_add_process(ProgramEvents *events, pid_t process) {
  for (size_t i = 0; i < events->process_count; i++)
    if (events->processes[i] == process) return;
  events->processes = core_memory_resize(events->processes, (events->process_count + 1) * sizeof *events->processes);
  events->processes[events->process_count++] = process;
}

static void add_process(void *context, pid_t process) { program_events_add_process(context, process); }

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
  if (is_named_by_run(events, path)) add_file(events, path);
}

/* Finds files of the run in a directory that runs share. It may contain thousands of other runs' directories, so walks
 * become rare once the run has a file. */
static void find_shared(ProgramEvents *events, bool last) {
  const double now = core_clock_s();
  sweep_processes_list(events->run, add_process, add_open_file, events);
  if (!last && events->count > 0 && now - events->walk_end_s < WALK_INTERVAL_S) return;
  walk_files(events, add_named);
  events->walk_end_s = now;
}

static int find_files(ProgramEvents *events, bool last) {
  const size_t old_count = events->count;
  if (events->run[0]) find_shared(events, last);
  else walk_files(events, add_file);
  if (events->count == old_count) return CORE_OK;

  for (size_t i = old_count; i < events->count; i++)
    if (!program_starts_find(&events->starts, events->files[i].file.path))
      program_starts_add(&events->starts, events->files[i].file.path, true);
  return program_starts_write(events->list, &events->starts);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Notes that a file has a tag. A tag that appears in a second folder gets other names from here on. */
static EventTag *note_tag(ProgramEvents *events, size_t index) {
  const size_t file = (size_t)(events->file - events->files);
  if (index >= events->tag_capacity) {
    const size_t capacity = 2 * index + 64;
    events->tag = core_memory_resize(events->tag, capacity * sizeof *events->tag);
    for (size_t i = events->tag_capacity; i < capacity; i++) events->tag[i] = (EventTag){.file = SIZE_MAX};
    events->tag_capacity = capacity;
  }
  EventTag *tag = &events->tag[index];
  if (tag->file == SIZE_MAX) tag->file = file;

  if (tag->is_split || share_folder(&events->files[tag->file], events->file)) return tag;

  tag->is_split = true;
  events->is_renamed = true;
  events->sink->on_renamed(events->sink->context, events->tags.items[index]);
  return tag;
}

/* Whether a folder is named by the time in seconds, as that of TensorBoard's hyperparameters: 1718900000.52. */
static bool is_time(const char *name, size_t length) {
  const size_t digits = strspn(name, "0123456789");
  return digits >= 9 && digits < length && name[digits] == '.' &&
         strspn(name + digits + 1, "0123456789") >= length - digits - 1;
}

/* Returns the number of folders named by the time in which files before this one lie. */
static size_t count_times(const ProgramEvents *events) {
  size_t count = 0;
  for (const EventFile *file = events->files; file < events->file; file++) {
    const char *end = file->file.path + file->folder, *name = end;
    while (name > file->file.path && name[-1] != '/') name--;
    count += !share_folder(file, events->file) && is_time(name, (size_t)(end - name));
  }
  return count;
}

/* Writes the folder of a file relative to the common one, with a slash. Folders of hyperparameters are hparams,
 * hparams2, ... */
static void write_folder(const ProgramEvents *events, CoreText *name) {
  const EventFile *file = events->file;
  const char *end = file->file.path + file->folder, *c = file->file.path + events->common;
  while (c < end) {
    c += *c == '/';
    size_t length = 0;
    while (c + length < end && c[length] != '/') length++;
    const size_t times = is_time(c, length) ? count_times(events) : 0;
    if (!is_time(c, length)) core_text_append_bytes(name, c, length);
    else if (times == 0) core_text_append(name, "hparams");
    else core_text_appendf(name, "hparams%zu", times + 1);
    core_text_append(name, "/");
    c += length;
  }
}

/* Writes the name of a tag in the current file. */
static void write_name(ProgramEvents *events, const char *tag, size_t length, CoreText *name) {
  const size_t index = program_names_add(&events->tags, tag, length);
  const bool is_split = index != SIZE_MAX && note_tag(events, index)->is_split;
  if (is_split) write_folder(events, name);
  core_text_append_bytes(name, tag, length);
  if (is_split) program_names_add(&events->split_names, name->data, name->length);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void emit_record(ProgramEvents *events) {
  EventFile *file = events->file;
  ProgramSink *sink = events->sink;
  if (file->record.count > 0) {
    if (sink->step_name[0]) program_record_add(&file->record, sink->step_name, strlen(sink->step_name), file->step);
    sink->on_record(sink->context, &file->series, &file->record);
  }
  program_record_clear(&file->record);
}

/* Adds a scalar to the record of its step. A repeated name starts a new record. */
static void add_scalar(void *context, double step, const char *tag, size_t length, double value) {
  ProgramEvents *events = context;
  EventFile *file = events->file;
  CoreText text = {0};
  write_name(events, tag, length, &text);
  file->record.names = &events->sink->names;
  const size_t name = program_names_add(&events->sink->names, text.data, text.length);

  bool starts_record = step != file->step;
  for (size_t i = 0; i < file->record.count && !starts_record; i++)
    starts_record = file->record.values[i].name == name;
  if (starts_record) emit_record(events);
  file->step = step;
  program_record_add(&file->record, text.data, text.length, value);
  core_text_free(&text);
}

/* Reads the complete records among the bytes of a file, and removes them. */
static void read_records(ProgramEvents *events) {
  EventFile *file = events->file;
  ProgramSink *sink = events->sink;
  const unsigned char *bytes = (const unsigned char *)file->bytes.data, *data;
  size_t consumed = 0, data_size, size;

  while (!file->is_lost && consumed < file->bytes.length) {
    const CoreTfrecordState state =
      core_tfrecord_next(bytes + consumed, file->bytes.length - consumed, &data, &data_size, &size);
    if (state == CORE_TFRECORD_TORN) break;
    if (state == CORE_TFRECORD_LOST) {
      core_warn("%s: damaged; what follows byte %lld of its last part is skipped", file->file.path,
                (long long)consumed);
      file->is_lost = true;
      sink->damaged++;
      break;
    }
    const bool is_whole = state == CORE_TFRECORD_WHOLE && program_event_scalars(data, data_size, add_scalar, events);
    sink->damaged += !is_whole;
    consumed += size;
  }

  if (consumed == 0) return;
  memmove(file->bytes.data, file->bytes.data + consumed, file->bytes.length - consumed);
  file->bytes.length -= consumed;
}

static void restart_file(void *context) {
  EventFile *file = ((ProgramEvents *)context)->file;
  file->is_lost = false;
  file->step = NAN;
  core_text_clear(&file->bytes);
  program_record_clear(&file->record);
  program_series_restart(&file->series);
}

static void read_bytes(void *context, const char *bytes, size_t count) {
  ProgramEvents *events = context;
  if (events->file->is_lost) return;
  core_text_append_bytes(&events->file->bytes, bytes, count);
  read_records(events);
}

static int read_file(ProgramEvents *events, EventFile *file) {
  const ProgramReader reader = {.on_restart = restart_file, .on_bytes = read_bytes, .context = events};
  events->file = file;
  const int code = program_file_read(&file->file, &reader);
  emit_record(events);
  program_file_close(&file->file); /* a run may have thousands */
  return code;
}

int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink) {
  events->sink = sink;
  TRY(find_files(events, last));
  do {
    if (events->is_renamed)
      for (size_t i = 0; i < events->count; i++) program_file_forget(&events->files[i].file);
    events->is_renamed = false;
    for (size_t i = 0; i < events->count; i++) TRY(read_file(events, &events->files[i]));
  } while (events->is_renamed);
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

size_t program_events_files(const ProgramEvents *events) { return events->count; }

void program_events_close(ProgramEvents **result) {
  ProgramEvents *events = *result;
  if (!events) return;
  for (size_t i = 0; i < events->count; i++) {
    program_file_close(&events->files[i].file);
    core_text_free(&events->files[i].bytes);
    program_record_free(&events->files[i].record);
    program_series_free(&events->files[i].series);
  }

  program_starts_free(&events->starts);
  program_names_free(&events->tags);
  program_names_free(&events->split_names);

  free(events->files);
  free(events->tag);
  free(events->processes);
  free(events);
  *result = NULL;
}
