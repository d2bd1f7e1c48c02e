/* Uses libarchive (archive.h). */
#include "sweep/bundle/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

enum { BUFFER_BYTES = 1 << 20 };
enum { MEBIBYTE = 1 << 20, EXPANSION_MAX = 100, BLOCK_BYTES = 4096 /* block of a file system */ };
static const char LEVEL[] = "12"; /* zstd level: output 10% larger than at the best level, in a tenth of the time */

struct BundleArchive {
  struct archive *writer;
  char path[CORE_PATH_MAX], partial[CORE_PATH_MAX];
  int fd;                    /* partial file, locked so that only one process writes it */
  bool is_owner;             /* this process holds the lock */
  char *buffer;              /* [BUFFER_BYTES] */
};

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int write_error(const BundleArchive *archive) {
  const char *problem = archive_error_string(archive->writer);
  return core_error(CORE_FAIL, "cannot write %s: %s", archive->path, problem ? problem : "out of memory");
}

int bundle_archive_name_temporary(const char *path, const char *extension, char temporary[CORE_PATH_MAX]) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return core_files_path(temporary, "%.*s.%s.%s", (int)(name - path), path, name, extension);
}

/* Whether the open file still has its name: the last holder of the lock may have renamed or removed it. */
static bool has_name(int fd, const char *path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/* Opens and locks the partial file, and truncates what a killed process has left. Uses an open file description lock,
 * which closing another descriptor does not release. Without support for locks there is none. */
static int open_partial(BundleArchive *archive) {
  do {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (archive->fd >= 0) close(archive->fd);
    const int code = core_files_open(archive->partial, CORE_FILES_UPDATE, &archive->fd);
    if (code != CORE_OK) return core_error_context(code, "%s", archive->path);
    if (fcntl(archive->fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
      return core_error(CORE_FAIL, "%s: another process is writing it; wait for it, or use another --output",
                        archive->path);
  } while (!has_name(archive->fd, archive->partial));
  archive->is_owner = true;
  if (ftruncate(archive->fd, 0) < 0) return core_error_errno(CORE_FAIL, "cannot write %s", archive->partial);
  return CORE_OK;
}

/* Opens the partial file for libarchive's writer. */
static int open_writer(BundleArchive *archive) {
  struct archive *writer = archive->writer;
  TRY(open_partial(archive));
  if (!writer || archive_write_set_format_pax_restricted(writer) != ARCHIVE_OK ||
      archive_write_add_filter_zstd(writer) != ARCHIVE_OK ||
      archive_write_set_filter_option(writer, "zstd", "compression-level", LEVEL) != ARCHIVE_OK ||
      archive_write_open_fd(writer, archive->fd) != ARCHIVE_OK)
    return write_error(archive);
  return CORE_OK;
}

int bundle_archive_create(const char *path, BundleArchive **out) {
  BundleArchive *archive = core_memory_zero_allocate(1, sizeof *archive);
  *out = archive;
  archive->fd = -1;
  int code = core_files_path(archive->path, "%s", path);
  if (code == CORE_OK) code = bundle_archive_name_temporary(path, "part", archive->partial);
  archive->buffer = core_memory_allocate(BUFFER_BYTES);
  archive->writer = archive_write_new();
  if (code == CORE_OK) code = open_writer(archive);
  if (code != CORE_OK) bundle_archive_finish(out, false);
  return code;
}

static int begin_member(BundleArchive *archive, const char *name, int64_t size) {
  struct archive_entry *entry = archive_entry_new();
  archive_entry_set_pathname(entry, name);
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_mtime(entry, 0, 0);
  archive_entry_set_size(entry, size);
  const int status = archive_write_header(archive->writer, entry);
  archive_entry_free(entry);
  return status == ARCHIVE_OK ? CORE_OK : write_error(archive);
}

int bundle_archive_add_bytes(BundleArchive *archive, const char *name, const void *data, size_t size) {
  TRY(begin_member(archive, name, (int64_t)size));
  return archive_write_data(archive->writer, data, size) == (la_ssize_t)size ? CORE_OK : write_error(archive);
}

static int copy_file(BundleArchive *archive, int fd, const char *path, int64_t size) {
  ssize_t length;
  while ((length = read(fd, archive->buffer, BUFFER_BYTES)) > 0) {
    size -= length;
    if (size < 0 || archive_write_data(archive->writer, archive->buffer, (size_t)length) != length)
      return size < 0 ? core_error(CORE_FAIL, "%s grew while it was read", path) : write_error(archive);
  }
  if (length < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
  return size == 0 ? CORE_OK : core_error(CORE_FAIL, "%s shrank while it was read", path);
}

int bundle_archive_add_file(BundleArchive *archive, const char *name, const char *path) {
  struct stat status;
  int fd;
  TRY(core_files_open_reading(path, &fd));
  if (fstat(fd, &status) != 0) {
    close(fd);
    return core_error_errno(CORE_FAIL, "cannot read %s", path);
  }
  int code = begin_member(archive, name, status.st_size);
  if (code == CORE_OK) code = copy_file(archive, fd, path, status.st_size);
  close(fd);
  return code;
}

/* Syncs the archive to disk and renames it to its final name. */
static int publish(BundleArchive *archive) {
  if (archive_write_close(archive->writer) != ARCHIVE_OK) return write_error(archive);
  if (fsync(archive->fd) < 0) return core_error_errno(CORE_FAIL, "cannot write %s", archive->path);
  if (rename(archive->partial, archive->path) != 0)
    return core_error_errno(CORE_FAIL, "cannot rename the archive to %s", archive->path);
  return CORE_OK;
}

int bundle_archive_finish(BundleArchive **out, bool keep) {
  BundleArchive *archive = *out;
  if (!archive) return CORE_OK;
  const int code = keep ? publish(archive) : CORE_OK;
  if (archive->writer) archive_write_free(archive->writer);
  if (archive->is_owner && (!keep || code != CORE_OK)) unlink(archive->partial);
  if (archive->fd >= 0) close(archive->fd); /* releases the lock */
  free(archive->buffer);
  free(archive);
  *out = NULL;
  return code;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

static int read_error(struct archive *reader, const char *path) {
  const char *problem = archive_error_string(reader);
  return core_error(CORE_FAIL, "cannot unpack %s: %s", path, problem ? problem : "it is damaged");
}

bool bundle_archive_is_safe_name(const char *name) {
  if (!*name || *name == '/') return false;
  for (const char *piece = name; piece; piece = strchr(piece, '/')) {
    if (*piece == '/') piece++;
    const size_t length = strcspn(piece, "/");
    if (length == 0 || (length == 1 && piece[0] == '.') || (length == 2 && piece[0] == '.' && piece[1] == '.'))
      return false;
  }
  return true;
}

static int make_parent_directory(char *path) {
  char *slash = strrchr(path, '/');
  *slash = '\0';
  const int code = core_files_make_directories(path);
  *slash = '/';
  return code;
}

/* An archive that is being read. */
typedef struct Unpacking {
  struct archive *reader;
  const char *path, *directory;
  bool (*is_known)(const char *name);
  int64_t bytes, bytes_max; /* size of all members until now, and its limit */
  CoreText *names;
} Unpacking;

/* Selects the limit of the contents' size. A few megabytes can expand to a full disk; what sweep bundle writes shrinks
 * to a tenth or less rarely. */
static int64_t select_limit(const char *path, int64_t bytes_max) {
  struct stat status;
  if (bytes_max > 0) return bytes_max;
  return 1024 * MEBIBYTE + (stat(path, &status) == 0 ? EXPANSION_MAX * (int64_t)status.st_size : 0);
}

/* Counts a member before it is written; also an empty one takes room. */
static int count_bytes(Unpacking *unpacking, struct archive_entry *entry) {
  const int64_t size = archive_entry_size(entry);
  if (size >= 0 && size <= unpacking->bytes_max - unpacking->bytes - BLOCK_BYTES) {
    unpacking->bytes += size + BLOCK_BYTES;
    return CORE_OK;
  }
  return core_error(CORE_FAIL, "%s: its contents are larger than %lld MiB; if you trust it, allow more with --max-size "
                    "N (in GiB)", unpacking->path, (long long)(unpacking->bytes_max / MEBIBYTE));
}

static int unpack_member(Unpacking *unpacking, struct archive_entry *entry) {
  const char *path = unpacking->path;
  const char *name = archive_entry_pathname(entry);
  char target[CORE_PATH_MAX];
  int fd;

  TRY(count_bytes(unpacking, entry));
  if (archive_entry_filetype(entry) == AE_IFDIR) return CORE_OK; /* created with its files */
  if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
      !bundle_archive_is_safe_name(name))
    return core_error(CORE_FAIL, "%s: member %.200s is not a regular file inside the directory; it and the rest were "
                      "skipped", path, name ? name : "without a name");
  if (!unpacking->is_known(name))
    return core_error(CORE_FAIL, "%s: sweep bundle does not write a member %.200s; it and the rest were skipped: do "
                      "not trust the archive", path, name);

  core_text_appendf(unpacking->names, "%s\n", name);
  TRY(core_files_path(target, "%s/%s", unpacking->directory, name));
  TRY(make_parent_directory(target));
  TRY(core_files_open(target, CORE_FILES_NEW, &fd));

  int code = archive_read_data_into_fd(unpacking->reader, fd) == ARCHIVE_OK ? CORE_OK
                                                                           : read_error(unpacking->reader, path);
  if (close(fd) != 0 && code == CORE_OK) code = core_error_errno(CORE_FAIL, "cannot write %s", target);
  return code;
}

static int unpack_all(Unpacking *unpacking) {
  struct archive *reader = unpacking->reader;
  const char *path = unpacking->path;
  struct archive_entry *entry;
  int status;
  if (archive_read_support_filter_zstd(reader) != ARCHIVE_OK || archive_read_support_format_tar(reader) != ARCHIVE_OK ||
      archive_read_open_filename(reader, path, BUFFER_BYTES) != ARCHIVE_OK)
    return read_error(reader, path);
  while ((status = archive_read_next_header(reader, &entry)) == ARCHIVE_OK)
    TRY(unpack_member(unpacking, entry));
  return status == ARCHIVE_EOF ? CORE_OK : read_error(reader, path);
}

static int check_empty(const char *directory) {
  char **names;
  size_t count;
  TRY(core_files_make_directories(directory));
  TRY(core_files_list(directory, &names, &count));
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return count == 0 ? CORE_OK : core_error(CORE_USAGE, "%s is not empty; use an empty or new directory", directory);
}

int bundle_archive_unpack(const char *path, const char *directory, bool (*is_known)(const char *name),
                          int64_t bytes_max, CoreText *names) {
  TRY(check_empty(directory));
  Unpacking unpacking = {.reader = archive_read_new(), .path = path, .directory = directory, .is_known = is_known,
                         .bytes_max = select_limit(path, bytes_max), .names = names};
  const int code = unpacking.reader ? unpack_all(&unpacking) : core_error(CORE_FAIL, "out of memory");
  if (unpacking.reader) archive_read_free(unpacking.reader);
  return code;
}
