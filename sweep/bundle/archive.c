/* Through libarchive and libsodium (archive.h). */
#include "sweep/bundle/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

enum { PIECE = 1 << 20 };
static const char LEVEL[] = "12"; /* of zstd: a tenth larger than the best, and ten times as fast */

struct BundleArchive {
  struct archive *writer;
  char path[CORE_PATH_MAX], partial[CORE_PATH_MAX];
  int fd;                    /* the partial file, locked: one process writes it */
  bool owned;                /* the lock is ours, and so is the partial file */
  char *piece;               /* [PIECE] */
};

/* ---- sums -------------------------------------------------------------------------------------------------------- */

void bundle_archive_hash_bytes(const void *data, size_t size, char sha256[BUNDLE_SHA256]) {
  unsigned char sum[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(sum, data, (unsigned long long)size);
  sodium_bin2hex(sha256, BUNDLE_SHA256, sum, sizeof sum);
}

int bundle_archive_hash(const char *path, char sha256[BUNDLE_SHA256], int64_t *bytes) {
  unsigned char sum[crypto_hash_sha256_BYTES];
  crypto_hash_sha256_state state;
  char *piece = core_memory_allocate(PIECE);
  int64_t total = 0;
  ssize_t got = 0;
  int fd;
  const int opened = core_files_open_reading(path, &fd);
  if (opened != CORE_OK) {
    free(piece);
    return opened;
  }
  crypto_hash_sha256_init(&state);
  while ((got = read(fd, piece, PIECE)) > 0) {
    crypto_hash_sha256_update(&state, (unsigned char *)piece, (unsigned long long)got);
    total += got;
  }
  const int code = got < 0 ? core_error_errno(CORE_FAIL, "cannot read %s", path) : CORE_OK;
  close(fd);
  free(piece);
  crypto_hash_sha256_final(&state, sum);
  sodium_bin2hex(sha256, BUNDLE_SHA256, sum, sizeof sum);
  if (bytes) *bytes = total;
  return code;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int write_error(const BundleArchive *archive) {
  const char *what = archive_error_string(archive->writer);
  return core_error(CORE_FAIL, "cannot write %s: %s", archive->path, what ? what : "out of memory");
}

int bundle_archive_name_temporary(const char *path, const char *ending, char temporary[CORE_PATH_MAX]) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return core_files_path(temporary, "%.*s.%s.%s", (int)(name - path), path, name, ending);
}

/* Whether the opened file still has its name: who held the lock may have renamed or removed it since. */
static bool has_name(int fd, const char *path) {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

/* Opens and locks the partial file. What a process that was killed has left of it is overwritten. The lock is of the
 * open file, so that reading another one does not end it; where locks do not exist, there is none. */
static int open_partial(BundleArchive *archive) {
  do {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (archive->fd >= 0) close(archive->fd);
    const int code = core_files_open(archive->partial, CORE_FILES_UPDATE, &archive->fd);
    if (code != CORE_OK) return core_error_context(code, "%s", archive->path);
    if (fcntl(archive->fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
      return core_error(CORE_FAIL, "%s is being written by another process; wait for it, or name another --output",
                        archive->path);
  } while (!has_name(archive->fd, archive->partial));
  archive->owned = true;
  if (ftruncate(archive->fd, 0) < 0) return core_error_errno(CORE_FAIL, "cannot write %s", archive->partial);
  return CORE_OK;
}

static int begin(BundleArchive *archive) {
  struct archive *writer = archive->writer;
  TRY(open_partial(archive));
  if (!writer || archive_write_set_format_pax_restricted(writer) != ARCHIVE_OK ||
      archive_write_add_filter_zstd(writer) != ARCHIVE_OK ||
      archive_write_set_filter_option(writer, "zstd", "compression-level", LEVEL) != ARCHIVE_OK ||
      archive_write_open_fd(writer, archive->fd) != ARCHIVE_OK)
    return write_error(archive);
  return CORE_OK;
}

int bundle_archive_create(const char *path, BundleArchive **made) {
  BundleArchive *archive = *made = core_memory_zero_allocate(1, sizeof *archive);
  archive->fd = -1;
  int code = core_files_path(archive->path, "%s", path);
  if (code == CORE_OK) code = bundle_archive_name_temporary(path, "part", archive->partial);
  archive->piece = core_memory_allocate(PIECE);
  archive->writer = archive_write_new();
  if (code == CORE_OK) code = begin(archive);
  if (code != CORE_OK) bundle_archive_finish(made, false);
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
  ssize_t got;
  while ((got = read(fd, archive->piece, PIECE)) > 0) {
    size -= got;
    if (size < 0 || archive_write_data(archive->writer, archive->piece, (size_t)got) != got)
      return size < 0 ? core_error(CORE_FAIL, "%s grew while it was read", path) : write_error(archive);
  }
  if (got < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
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

/* Brings the archive to disk under its name. */
static int put_in_place(BundleArchive *archive) {
  if (archive_write_close(archive->writer) != ARCHIVE_OK) return write_error(archive);
  if (fsync(archive->fd) < 0) return core_error_errno(CORE_FAIL, "cannot write %s", archive->path);
  if (rename(archive->partial, archive->path) != 0)
    return core_error_errno(CORE_FAIL, "cannot name the archive %s", archive->path);
  return CORE_OK;
}

int bundle_archive_finish(BundleArchive **given, bool keep) {
  BundleArchive *archive = *given;
  if (!archive) return CORE_OK;
  const int code = keep ? put_in_place(archive) : CORE_OK;
  if (archive->writer) archive_write_free(archive->writer);
  if (archive->owned && (!keep || code != CORE_OK)) unlink(archive->partial);
  if (archive->fd >= 0) close(archive->fd); /* only now: it ends the lock */
  free(archive->piece);
  free(archive);
  *given = NULL;
  return code;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

static int read_error(struct archive *reader, const char *path) {
  const char *what = archive_error_string(reader);
  return core_error(CORE_FAIL, "cannot unpack %s: %s", path, what ? what : "it is damaged");
}

bool bundle_archive_is_safe_name(const char *name) {
  if (!*name || *name == '/') return false;
  for (const char *part = name; part; part = strchr(part, '/')) {
    if (*part == '/') part++;
    const size_t length = strcspn(part, "/");
    if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.'))
      return false;
  }
  return true;
}

static int make_folder_of(char *path) {
  char *slash = strrchr(path, '/');
  *slash = '\0';
  const int code = core_files_make_directories(path);
  *slash = '/';
  return code;
}

/* An archive that is read. */
typedef struct Unpacking {
  struct archive *reader;
  const char *path, *folder;
  bool (*is_known)(const char *name);
  CoreText *names;
} Unpacking;

static int unpack_member(const Unpacking *unpacking, struct archive_entry *entry) {
  const char *path = unpacking->path;
  const char *name = archive_entry_pathname(entry);
  char target[CORE_PATH_MAX];
  int fd;
  if (archive_entry_filetype(entry) == AE_IFDIR) return CORE_OK; /* those of its files are made with them */
  if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
      !bundle_archive_is_safe_name(name))
    return core_error(CORE_FAIL, "%s: its member %.200s is no plain file inside of it; it and the rest are left out",
                      path, name ? name : "without a name");
  if (!unpacking->is_known(name))
    return core_error(CORE_FAIL, "%s: sweep bundle writes no member %.200s; it and the rest are left out, and nothing "
                      "of the archive should be relied on", path, name);
  core_text_appendf(unpacking->names, "%s\n", name);
  TRY(core_files_path(target, "%s/%s", unpacking->folder, name));
  TRY(make_folder_of(target));
  TRY(core_files_open(target, CORE_FILES_NEW, &fd));
  int code = archive_read_data_into_fd(unpacking->reader, fd) == ARCHIVE_OK ? CORE_OK
                                                                           : read_error(unpacking->reader, path);
  if (close(fd) != 0 && code == CORE_OK) code = core_error_errno(CORE_FAIL, "cannot write %s", target);
  return code;
}

static int unpack_all(const Unpacking *unpacking) {
  struct archive *reader = unpacking->reader;
  const char *path = unpacking->path;
  struct archive_entry *entry;
  int status;
  if (archive_read_support_filter_zstd(reader) != ARCHIVE_OK || archive_read_support_format_tar(reader) != ARCHIVE_OK ||
      archive_read_open_filename(reader, path, PIECE) != ARCHIVE_OK)
    return read_error(reader, path);
  while ((status = archive_read_next_header(reader, &entry)) == ARCHIVE_OK)
    TRY(unpack_member(unpacking, entry));
  return status == ARCHIVE_EOF ? CORE_OK : read_error(reader, path);
}

static int check_empty(const char *folder) {
  char **names;
  size_t count;
  TRY(core_files_make_directories(folder));
  TRY(core_files_list(folder, &names, &count));
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return count == 0 ? CORE_OK : core_error(CORE_USAGE, "%s is not empty; name a folder that is, or a new one", folder);
}

int bundle_archive_unpack(const char *path, const char *folder, bool (*is_known)(const char *name), CoreText *names) {
  TRY(check_empty(folder));
  const Unpacking unpacking = {archive_read_new(), path, folder, is_known, names};
  const int code = unpacking.reader ? unpack_all(&unpacking) : core_error(CORE_FAIL, "out of memory");
  if (unpacking.reader) archive_read_free(unpacking.reader);
  return code;
}
