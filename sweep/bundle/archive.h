/* Reads and writes `.tar.zst` archives. Equal members give equal bytes, and member names are not trusted. The only
 * user of libarchive. */
#ifndef SWEEP_BUNDLE_ARCHIVE_H
#define SWEEP_BUNDLE_ARCHIVE_H
#include "core/files.h"

/* Whether a member with this name stays inside its directory: no part is "." or "..", and it does not start with
 * '/'. */
bool bundle_archive_is_safe_name(const char *name);

typedef struct BundleArchive BundleArchive;

/* Returns the name of a temporary file in the same directory: ".NAME.extension". */
int bundle_archive_name_temporary(const char *path, const char *extension, char temporary[CORE_PATH_MAX]);
/* Creates an archive, as a temporary file ("part") that bundle_archive_finish renames to `path`. Overwrites what an
 * interrupted process has left. CORE_FAIL: it cannot be written, or another process is writing it. */
int bundle_archive_create(const char *path, BundleArchive **archive);
/* Add a file, or bytes, as member `name`; its directories are implied. All members have the same owner, mode and
 * time. */
int bundle_archive_add_file(BundleArchive *archive, const char *name, const char *path);
int bundle_archive_add_bytes(BundleArchive *archive, const char *name, const void *data, size_t size);
/* Completes the archive, or with keep = false deletes it. Frees *archive in any case. */
int bundle_archive_finish(BundleArchive **archive, bool keep);

/* Unpacks into a directory, which is created and must be empty, and appends the members' names to `names`, a line each.
 * CORE_USAGE: it is not empty. CORE_FAIL: the archive is absent or damaged, or has a member that is not a regular file,
 * has an unsafe name, that `is_known` rejects, or with which the contents have more than bytes_max (0: 100 times the
 * archive's size and 1 GiB); members unpacked before stay. */
int bundle_archive_unpack(const char *path, const char *directory, bool (*is_known)(const char *name),
                          int64_t bytes_max, CoreText *names);

#endif
