/* Archives, `.tar.zst`: written so that the same members give the same bytes, and unpacked without trust in their
 * names. The only user of libarchive. */
#ifndef SWEEP_BUNDLE_ARCHIVE_H
#define SWEEP_BUNDLE_ARCHIVE_H
#include "core/files.h"

enum { BUNDLE_SHA256 = 65 }; /* hex digits and NUL */

/* The SHA-256 of a file, as `sha256sum` prints it; *bytes (may be NULL) its size. CORE_FAIL: it cannot be read. */
int bundle_archive_hash(const char *path, char sha256[BUNDLE_SHA256], int64_t *bytes);

/* The same of bytes. */
void bundle_archive_hash_bytes(const void *data, size_t size, char sha256[BUNDLE_SHA256]);
/* A member's name that cannot lead out of a folder: no part is "." or "..", and it does not begin with '/'. */
bool bundle_archive_is_safe_name(const char *name);

typedef struct BundleArchive BundleArchive;

/* Names a file of the same folder that is there only while the archive is written: ".NAME.ending". */
int bundle_archive_name_temporary(const char *path, const char *ending, char temporary[CORE_PATH_MAX]);
/* Begins an archive at `path`, written as a temporary file ("part") until bundle_archive_finish: a file of that name
 * stays until then. What an interrupted process has left is overwritten. CORE_FAIL: it cannot be written, or another
 * process writes it. */
int bundle_archive_create(const char *path, BundleArchive **archive);
/* Adds a file's bytes, or these, as `name`; its folders are implied. Owner, mode and time of all members are alike. */
int bundle_archive_add_file(BundleArchive *archive, const char *name, const char *path);
int bundle_archive_add_bytes(BundleArchive *archive, const char *name, const void *data, size_t size);
/* Puts it in its place. Frees *archive in any case; `keep` false: nothing is left of it. */
int bundle_archive_finish(BundleArchive **archive, bool keep);

/* Unpacks into `folder`, which is made and must be empty, and appends the members' names to `names`, a line each.
 * CORE_USAGE: it is not empty. CORE_FAIL: no such archive, a damaged one, or one with a member that is no plain file,
 * whose name leads out of the folder, or that `is_known` refuses; what was unpacked before stays. */
int bundle_archive_unpack(const char *path, const char *folder, bool (*is_known)(const char *name), CoreText *names);

#endif
