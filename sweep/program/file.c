/* Reads growing files (file.h). A file is known by the CRCs of the first and the last bytes that were read: if they
 * have changed, it was rewritten, and is read from its beginning. */
#include "sweep/program/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/protobuf.h"

enum { BUFFER_BYTES = 1 << 16, IDENTITY_BYTES = 4096 };

void program_file_init(ProgramFile *file, const char *path, const ProgramPrefix *start) {
  *file = (ProgramFile){.fd = -1, .start = start ? *start : (ProgramPrefix){0}};
  snprintf(file->path, sizeof file->path, "%s", path);
}

void program_file_close(ProgramFile *file) {
  if (file->fd >= 0) close(file->fd);
  file->fd = -1;
}

static int64_t changed_ns(const struct stat *status) {
  return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

/* Computes the identity of the first `size` bytes; size 0: they cannot be read. */
static ProgramPrefix identify(int fd, int64_t size) {
  char bytes[IDENTITY_BYTES];
  const size_t count = size < IDENTITY_BYTES ? (size_t)size : IDENTITY_BYTES;
  ProgramPrefix prefix = {.size = size};
  struct stat status;
  if (fstat(fd, &status) == 0) prefix.inode = status.st_ino;
  if (pread(fd, bytes, count, 0) != (ssize_t)count) return (ProgramPrefix){0};
  prefix.head = core_crc32c(bytes, count);
  if (pread(fd, bytes, count, size - (int64_t)count) != (ssize_t)count) return (ProgramPrefix){0};
  prefix.tail = core_crc32c(bytes, count);
  return prefix;
}

bool program_prefix_equals(const ProgramPrefix *a, const ProgramPrefix *b) {
  return a->size == b->size && a->head == b->head && a->tail == b->tail;
}

static bool has_prefix(int fd, const ProgramPrefix *prefix) {
  const ProgramPrefix found = identify(fd, prefix->size);
  return program_prefix_equals(&found, prefix);
}

static int open_file(const char *path, int *fd) {
  *fd = -1;
  if (!core_files_exists(path)) return CORE_OK;
  return core_files_open_checked(path, fd);
}

ProgramPrefix program_file_prefix(const char *path) {
  struct stat status;
  int fd;
  ProgramPrefix prefix = {0};
  if (open_file(path, &fd) != CORE_OK) core_error_clear();
  if (fd < 0) return prefix;
  if (fstat(fd, &status) == 0) prefix = identify(fd, status.st_size);
  close(fd);
  return prefix;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Passes the bytes from `offset` to `end` on. *offset: the end of what was read. */
static int pass_bytes(const ProgramFile *file, int64_t *offset, int64_t end,
                      void (*on_bytes)(void *context, const char *bytes, size_t count), void *context) {
  static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
  char *buffer = core_memory_allocate(BUFFER_BYTES);
  ssize_t count = 1;

  while (count != 0 && *offset < end) {
    const size_t wanted = end - *offset < BUFFER_BYTES ? (size_t)(end - *offset) : BUFFER_BYTES;
    count = pread(file->fd, buffer, wanted, *offset);
    if (count < 0 && errno != EINTR) break;
    if (count <= 0) continue;
    const size_t skipped = *offset == 0 && count >= 3 && memcmp(buffer, mark, 3) == 0 ? 3 : 0;
    *offset += count;
    on_bytes(context, buffer + skipped, (size_t)count - skipped);
  }
  free(buffer);
  return count < 0 ? core_error_errno(CORE_FAIL, "cannot read %s", file->path) : CORE_OK;
}

/* Reads what follows the bytes that were seen. */
static int read_rest(ProgramFile *file, const ProgramReader *reader) {
  int64_t offset = file->seen.size;
  const int code = pass_bytes(file, &offset, INT64_MAX, reader->on_bytes, reader->context);
  if (offset > file->seen.size) file->seen = identify(file->fd, offset);
  file->seen.size = offset;
  return code;
}

/* Begins to read an opened file: after what earlier attempts left in it, or from its beginning. */
static int begin(ProgramFile *file, const struct stat *status, const ProgramReader *reader) {
  /* Equal bytes are not enough: an attempt that starts over may have rotated the file and written the same again. */
  const bool has_start = file->inode == 0 && file->start.size > 0 && file->start.inode == status->st_ino &&
                         status->st_size >= file->start.size && has_prefix(file->fd, &file->start);
  int64_t offset = 0;
  file->device = status->st_dev;
  file->inode = status->st_ino;
  file->seen = has_start ? file->start : (ProgramPrefix){0};

  reader->on_restart(reader->context);
  if (!has_start || !reader->on_earlier) return CORE_OK;
  TRY(pass_bytes(file, &offset, file->start.size, reader->on_earlier, reader->context));
  reader->on_earlier(reader->context, NULL, 0);
  return CORE_OK;
}

/* Reads what a file that was rotated away still has, and forgets it. */
static int end_rotated(ProgramFile *file, const ProgramReader *reader) {
  const bool is_intact = has_prefix(file->fd, &file->seen);
  const int code = is_intact ? read_rest(file, reader) : CORE_OK;
  file->rotated = file->seen;
  program_file_close(file);
  return code;
}

/* Whether nothing has happened to the file for seconds, so that its time would tell of a change. */
static bool is_settled(const ProgramFile *file, const struct stat *status) {
  return file->settled_ns != 0 && file->settled_ns == changed_ns(status) && status->st_ino == file->inode &&
         status->st_size == file->seen.size;
}

static void note_settled(ProgramFile *file, const struct stat *status) {
  enum { SETTLED_S = 3 };
  const bool is_old = core_clock_unix_s() - 1e-9 * (double)changed_ns(status) > SETTLED_S;
  file->settled_ns = is_old ? changed_ns(status) : 0;
}

int program_file_read(ProgramFile *file, const ProgramReader *reader) {
  struct stat status, opened;
  if (stat(file->path, &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return file->fd >= 0 ? read_rest(file, reader) : CORE_OK;
    return core_error_errno(CORE_FAIL, "cannot read %s", file->path);
  }
  if (is_settled(file, &status)) return CORE_OK;

  const bool is_replaced = file->fd >= 0 && (status.st_ino != file->inode || status.st_dev != file->device);
  if (is_replaced) TRY(end_rotated(file, reader));
  if (file->fd < 0) TRY(open_file(file->path, &file->fd));
  if (file->fd < 0) return CORE_OK;
  if (fstat(file->fd, &opened) != 0) return core_error_errno(CORE_FAIL, "cannot read %s", file->path);

  const bool is_other = opened.st_ino != file->inode || opened.st_dev != file->device;
  const bool is_rewritten = opened.st_size < file->seen.size || !has_prefix(file->fd, &file->seen);
  if (is_other || is_rewritten) TRY(begin(file, &opened, reader));
  note_settled(file, &opened);
  return opened.st_size > file->seen.size ? read_rest(file, reader) : CORE_OK;
}

int program_file_read_lines(ProgramFile *file, const ProgramReader *reader, ProgramTail *tail, ProgramOnLine on_line,
                            bool ends, int64_t *damaged) {
  const int64_t skipped = tail->skipped;
  const int code = program_file_read(file, reader);
  if (code == CORE_OK && ends) program_tail_end(tail, on_line, reader->context);
  *damaged += tail->skipped - skipped;
  return code;
}

void program_file_forget(ProgramFile *file) {
  program_file_close(file);
  file->inode = 0;
  file->settled_ns = 0;
  file->seen = (ProgramPrefix){0};
}

/* ---- rotated files ----------------------------------------------------------------------------------------------- */

typedef struct Rotated { char *path; double time_s; } Rotated;

static int compare_rotated(const void *a, const void *b) {
  const Rotated *x = a, *y = b;
  if (x->time_s != y->time_s) return x->time_s < y->time_s ? -1 : 1;
  return strcmp(x->path, y->path);
}

/* Whether a name is `base` and a number or date: metrics.csv.1, metrics.csv.2026-01-31_12. Names without an extension
 * of letters are not rotated: run_0.1.5 may be the log of another run than run_0.1. */
static bool is_rotated_name(const char *name, const char *base) {
  const size_t length = strlen(base);
  const char *extension = strrchr(base, '.');
  if (!extension || !isalpha((unsigned char)extension[1])) return false;
  if (strncmp(name, base, length) != 0 || name[length] != '.' || !name[length + 1]) return false;
  return strspn(name + length + 1, "0123456789-_:.T") == strlen(name + length + 1);
}

int program_file_list_rotated(const char *path, char ***paths, size_t *count) {
  char directory[CORE_PATH_MAX], **names;
  const char *slash = strrchr(path, '/');
  size_t name_count;
  struct stat status;
  *paths = NULL;
  *count = 0;
  TRY(core_files_path(directory, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : "."));
  if (!core_files_exists(directory)) return CORE_OK;
  TRY(core_files_list(directory, &names, &name_count));

  Rotated *rotated = core_memory_allocate((name_count + 1) * sizeof *rotated);
  for (size_t i = 0; i < name_count; i++) {
    char other[CORE_PATH_MAX];
    const bool is_rotated = is_rotated_name(names[i], slash ? slash + 1 : path) &&
                            core_files_path(other, "%s/%s", directory, names[i]) == CORE_OK &&
                            stat(other, &status) == 0 && S_ISREG(status.st_mode);
    if (is_rotated)
      rotated[(*count)++] = (Rotated){core_text_duplicate(other), (double)status.st_mtim.tv_sec +
                                                                   1e-9 * (double)status.st_mtim.tv_nsec};
    free(names[i]);
  }
  free(names);

  qsort(rotated, *count, sizeof *rotated, compare_rotated);
  *paths = core_memory_allocate((*count + 1) * sizeof **paths);
  for (size_t i = 0; i < *count; i++) (*paths)[i] = rotated[i].path;
  free(rotated);
  return CORE_OK;
}

/* ---- the start of an attempt ------------------------------------------------------------------------------------- */

static void add_entry(ProgramStarts *starts, const struct ProgramStartEntry *entry) {
  starts->items = core_memory_resize(starts->items, (starts->count + 1) * sizeof *starts->items);
  starts->items[starts->count++] = *entry;
}

void program_starts_add(ProgramStarts *starts, const char *path, bool is_own) {
  struct ProgramStartEntry entry = {.path = core_text_duplicate(path), .is_own = is_own};
  struct stat status;
  if (!is_own && stat(path, &status) == 0) {
    entry.changed_ns = changed_ns(&status);
    entry.prefix = program_file_prefix(path);
  }
  add_entry(starts, &entry);
}

const struct ProgramStartEntry *program_starts_find(const ProgramStarts *starts, const char *path) {
  for (size_t i = 0; i < starts->count; i++)
    if (strcmp(starts->items[i].path, path) == 0) return &starts->items[i];
  return NULL;
}

ProgramPrefix program_starts_match(const ProgramStarts *starts, const char *path, const char *rotated) {
  ProgramPrefix found = {0};
  struct stat status;
  int fd;
  if (open_file(rotated, &fd) != CORE_OK) core_error_clear();
  for (size_t i = 0; i < starts->count && fd >= 0 && fstat(fd, &status) == 0; i++) {
    const struct ProgramStartEntry *entry = &starts->items[i];
    const bool is_same = entry->prefix.inode == status.st_ino && has_prefix(fd, &entry->prefix);
    const bool is_unchanged = entry->changed_ns == changed_ns(&status);
    if (is_same && (is_unchanged || strcmp(entry->path, path) == 0)) found = entry->prefix;
  }
  if (fd >= 0) close(fd);
  return found;
}

/* Adds a line: '+' for own files, '-' for others, size, two CRCs, inode, time and path. */
static void read_line(ProgramStarts *starts, const char *line) {
  struct ProgramStartEntry entry = {.is_own = *line == '+'};
  long long size, changed;
  unsigned long long inode;
  int end = 0;
  const int fields = sscanf(line + 1, " %lld %8x %8x %llu %lld %n", &size, &entry.prefix.head, &entry.prefix.tail,
                            &inode, &changed, &end);
  if (fields != 5 || size < 0 || end == 0 || !line[1 + end]) return;
  entry.prefix.size = size;
  entry.prefix.inode = inode;
  entry.changed_ns = changed;
  entry.path = core_text_duplicate(line + 1 + end);
  add_entry(starts, &entry);
}

/* Reads a file through the descriptor whose owner was checked. */
static int read_own(const char *path, char **text) {
  char opened[64];
  struct stat status;
  size_t size;
  int fd;
  TRY(core_files_open_checked(path, &fd));
  snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
  const bool is_own = fstat(fd, &status) == 0 && core_files_is_own(&status);
  const int code = is_own ? core_files_read(opened, 0, text, &size)
                          : core_error(CORE_FAIL, "%s: ignored, since others can have written it", path);
  close(fd);
  return code;
}

bool program_starts_read(const char *list, ProgramStarts *starts) {
  char *text, *rest;

  *starts = (ProgramStarts){0};
  if (!core_files_exists(list)) return false;
  if (read_own(list, &text) != CORE_OK) {
    core_warn("%s", core_error_message());
    core_error_clear();
    return false;
  }
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    if (*line == '+' || *line == '-') read_line(starts, line);
  free(text);
  return true;
}

int program_starts_write(const char *list, const ProgramStarts *starts) {
  CoreText text = {0};
  for (size_t i = 0; i < starts->count; i++) {
    const struct ProgramStartEntry *entry = &starts->items[i];
    if (strchr(entry->path, '\n')) continue;
    core_text_appendf(&text, "%c %lld %08x %08x %llu %lld %s\n", entry->is_own ? '+' : '-',
                      (long long)entry->prefix.size, entry->prefix.head, entry->prefix.tail,
                      (unsigned long long)entry->prefix.inode, (long long)entry->changed_ns, entry->path);
  }
  const int code = core_files_write_own(list, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

void program_starts_free(ProgramStarts *starts) {
  for (size_t i = 0; i < starts->count; i++) free(starts->items[i].path);
  free(starts->items);
  *starts = (ProgramStarts){0};
}
