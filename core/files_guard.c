/* Opens files in directories that other users may write: those written in place (locks, logs, temporaries) and all that
 * are read. A link by another user could otherwise make us overwrite or disclose any of our files. So only regular
 * files with one name are opened, and directories below the workspace are entered one component at a time, with a check
 * of each link. Nothing here blocks. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/files_internal.h"

enum { OWNER_BYTES = 64, LINKS_MAX = 40 };

static struct { char root[CORE_PATH_MAX]; size_t length; uid_t owner; } guard;

void core_files_guard(const char *root) {
  struct stat status;
  if (strcmp(guard.root, root) == 0 || stat(root, &status) < 0) return;
  snprintf(guard.root, sizeof guard.root, "%s", root);
  guard.length = strlen(guard.root);
  guard.owner = status.st_uid;
}

bool core_files_is_guarded(const char *path) {
  return guard.length > 1 && strncmp(path, guard.root, guard.length) == 0 &&
         (path[guard.length] == '/' || path[guard.length] == '\0');
}

/* Returns "ada", or "user 1234" if the name is unknown. */
static const char *owner_name(uid_t uid, char name[OWNER_BYTES]) {
  const struct passwd *user = getpwuid(uid);
  if (user) snprintf(name, OWNER_BYTES, "%s", user->pw_name);
  else snprintf(name, OWNER_BYTES, "user %ld", (long)uid);
  return name;
}

/* ---- directories ------------------------------------------------------------------------------------------------ */

/* Whether a link of this owner may be followed: one's own and root's. */
static bool is_trusted_owner(uid_t owner) { return owner == geteuid() || owner == 0; }

/* Whether a component is the workspace's runs/ or sweeps/, which its owner may put on another disk by a link. */
static bool may_be_elsewhere(const char *name, int depth) {
  return depth == 0 && (strcmp(name, "runs") == 0 || strcmp(name, "sweeps") == 0);
}

/* The resolution of a path, one component after the other. */
typedef struct Walk {
  const char *operation, *path; /* for messages: "cannot read", and what was asked for */
  bool create;                  /* creates missing directories */
  bool is_owners_place;         /* the components are of a link that the workspace's owner may make */
  int links;                    /* number of links followed so far */
} Walk;

static int enter_target(int parent, const char *target, Walk *walk);

/* Reads the target of a link if its owner is trusted, or is the workspace's owner and may have it there. Reads the very
 * link that was checked, by its descriptor. Returns -1 with errno; 0: the message is set. */
static int read_link(int link, const char *name, Walk *walk, char target[CORE_PATH_MAX]) {
  struct stat status;
  char owner[OWNER_BYTES];
  if (fstat(link, &status) < 0) return -1;
  if (walk->links++ >= LINKS_MAX) {
    errno = ELOOP;
    return -1;
  }

  if (!is_trusted_owner(status.st_uid) && !(walk->is_owners_place && status.st_uid == guard.owner)) {
    core_error(CORE_FAIL,
               "%s %s: its component '%s' is a symbolic link of %s, who could redirect it to any of your files; name "
               "the place where it leads, or remove the link, and run this again",
               walk->operation, walk->path, name, owner_name(status.st_uid, owner));
    errno = 0;
    return -1;
  }

  const ssize_t length = readlinkat(link, "", target, CORE_PATH_MAX - 1);
  if (length < 0) return -1;
  target[length] = '\0';
  return 0;
}

/* Opens the directory `name` in `parent`. Returns -1 with errno; 0: the message is set. */
static int step(int parent, const char *name, Walk *walk) {
  struct stat status;
  char target[CORE_PATH_MAX];
  if (walk->create && mkdirat(parent, name, 0777) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
    return -1;
  const int create_errno = errno;
  int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (walk->create && errno == ENOENT) errno = create_errno;
    return -1;
  }

  if (fstat(fd, &status) == 0 && S_ISLNK(status.st_mode)) {
    const int behind = read_link(fd, name, walk, target) == 0 ? enter_target(parent, target, walk) : -1;
    const int number = errno;
    close(fd);
    errno = number;
    return behind;
  }

  if (S_ISDIR(status.st_mode)) return fd;
  close(fd);
  errno = ENOTDIR;
  return -1;
}

/* Opens a directory below *fd, which it replaces; -1 with errno. Components directly below the workspace may be links
 * of its owner (may_be_elsewhere). */
static void descend(int *fd, const char *directory, bool is_below_workspace, Walk *walk) {
  char rest[CORE_PATH_MAX], *save = NULL;
  snprintf(rest, sizeof rest, "%s", directory);
  int depth = 0;

  for (char *name = strtok_r(rest, "/", &save); name && *fd >= 0; name = strtok_r(NULL, "/", &save)) {
    if (is_below_workspace) walk->is_owners_place = may_be_elsewhere(name, depth++);
    const int next = step(*fd, name, walk), number = errno;
    close(*fd);
    *fd = next;
    errno = number;
  }
}

/* Opens the directory to which a link in `parent` leads, by the same rules. */
static int enter_target(int parent, const char *target, Walk *walk) {
  Walk inner = *walk;
  int fd = openat(parent, *target == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  inner.create = false;
  descend(&fd, target, false, &inner);
  walk->links = inner.links;
  return fd;
}

/* Sets the message of a failed walk if it has none. */
static int walked(int fd, const Walk *walk) {
  if (fd >= 0) return CORE_OK;
  const int number = errno;
  if (number) core_error_errno(CORE_FAIL, "%s %s", walk->operation, walk->path);
  errno = number;
  return CORE_FAIL;
}

int core_files_enter(const char *directory, bool create, const char *operation, const char *path, int *fd) {
  Walk walk = {.operation = operation, .path = path, .create = create};
  const bool is_guarded = core_files_is_guarded(directory);
  *fd = open(is_guarded ? guard.root : directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (is_guarded) descend(fd, directory + guard.length, true, &walk);
  return walked(*fd, &walk);
}

int core_files_parent(const char *path, char directory[CORE_PATH_MAX], const char **name) {
  const char *slash = strrchr(path, '/');
  if (name) *name = slash ? slash + 1 : path;
  if (!slash) return core_files_path(directory, ".");
  if (slash == path) return core_files_path(directory, "/");
  return core_files_path(directory, "%.*s", (int)(slash - path), path);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static const char *kind_name(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

static int refuse_kind(const char *path, const struct stat *status) {
  char owner[OWNER_BYTES];
  return core_error(CORE_FAIL,
                    "%s is %s of %s, not a regular file, and is not written; check it (ls -l), "
                    "remove it, and run this again",
                    path, kind_name(status->st_mode), owner_name(status->st_uid, owner));
}

/* Checks that the opened file may be written. In a group-writable directory it may belong to another member of the
 * group; in a world-writable one, whose users are unknown, it may not. */
static int check_opened(int folder, int fd, const char *path) {
  struct stat status, directory;
  char owner[OWNER_BYTES];
  if (fstat(fd, &status) < 0 || fstat(folder, &directory) < 0)
    return core_error_errno(CORE_FAIL, "cannot open %s", path);
  if (!S_ISREG(status.st_mode)) return refuse_kind(path, &status);

  if (status.st_nlink > 1)
    return core_error(CORE_FAIL,
                      "%s has %lu names (hard links), so that writing it would change another file too; replace "
                      "it by a copy (cp, then mv) or remove it, and run this again",
                      path, (unsigned long)status.st_nlink);

  if ((directory.st_mode & S_IWOTH) && status.st_uid != geteuid() && status.st_uid != 0 &&
      status.st_uid != directory.st_uid)
    return core_error(CORE_FAIL,
                      "%s belongs to %s in a world-writable directory, and is not written; remove it, or "
                      "make the directory not world-writable (chmod o-w)",
                      path, owner_name(status.st_uid, owner));
  return CORE_OK;
}

int core_files_open(const char *path, CoreFilesMode mode, int *fd) {
  static const int flags[] = {[CORE_FILES_APPEND] = O_RDWR | O_CREAT | O_APPEND, [CORE_FILES_UPDATE] = O_RDWR | O_CREAT,
                              [CORE_FILES_NEW] = O_WRONLY | O_CREAT | O_EXCL};
  char parent[CORE_PATH_MAX];
  const char *name;
  struct stat status;
  int folder;

  *fd = -1;
  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot write", path, &folder));
  if (mode == CORE_FILES_NEW) unlinkat(folder, name, 0);

  int file = openat(folder, name, flags[mode] | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), code;
  if (file >= 0) {
    code = check_opened(folder, file, path);
  } else {
    const int number = errno;
    const bool is_special = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode);
    errno = number;
    code = is_special ? refuse_kind(path, &status) : core_error_errno(CORE_FAIL, "cannot write %s", path);
  }

  close(folder);
  if (code == CORE_OK) *fd = file;
  else if (file >= 0) close(file);
  return code;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int refuse_reading(const char *path, const struct stat *status) {
  char owner[OWNER_BYTES];
  return core_error(CORE_FAIL,
                    "cannot read %s: it is not a regular file but %s of %s; check it (ls -l), and "
                    "move it away",
                    path, kind_name(status->st_mode), owner_name(status->st_uid, owner));
}

static int refuse_unguarded(const char *path, const struct stat *status) {
  return core_error(CORE_FAIL, "cannot read %s: it is not a regular file but %s; check it (ls -l), and move it away",
                    path, kind_name(status->st_mode));
}

static int check_readable(int folder, int fd, const char *path) {
  struct stat status, directory;
  if (fstat(fd, &status) < 0 || fstat(folder, &directory) < 0)
    return core_error_errno(CORE_FAIL, "cannot read %s", path);
  if (!S_ISREG(status.st_mode)) return refuse_reading(path, &status);
  if (status.st_nlink > 1 && (directory.st_mode & (S_IWGRP | S_IWOTH)))
    return core_error(CORE_FAIL,
                      "cannot read %s: it has %lu names (hard links), in a directory that others may write, and "
                      "may be another file; replace it by a copy (cp, then mv)",
                      path, (unsigned long)status.st_nlink);
  return CORE_OK;
}

static int open_behind(int folder, const char *name, Walk *walk, int *fd);

/* Opens the regular file `name` in `folder`, or the one to which a link leads. */
static int open_in(int folder, const char *name, Walk *walk, int *fd) {
  struct stat status;
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file >= 0) {
    const int code = check_readable(folder, file, walk->path);
    if (code == CORE_OK) *fd = file;
    else close(file);
    return code;
  }

  const int number = errno;
  const bool is_special = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode);
  if (is_special && S_ISLNK(status.st_mode) && is_trusted_owner(status.st_uid))
    return open_behind(folder, name, walk, fd);
  errno = number;
  return is_special ? refuse_reading(walk->path, &status) : core_error_errno(CORE_FAIL, "cannot read %s", walk->path);
}

/* Opens the file to which a link leads, whose components are checked in the same way. */
static int open_behind(int folder, const char *name, Walk *walk, int *fd) {
  char target[CORE_PATH_MAX], parent[CORE_PATH_MAX];
  const int link = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) return walked(-1, walk);
  const int is_read = read_link(link, name, walk, target), number = errno;
  close(link);
  errno = number;
  if (is_read < 0) return walked(-1, walk);

  TRY(core_files_parent(target, parent, &name));
  const int behind = enter_target(folder, parent, walk);
  TRY(walked(behind, walk));
  const int code = open_in(behind, name, walk, fd), reason = errno;
  close(behind);
  errno = reason;
  return code;
}

int core_files_open_checked(const char *path, int *fd) {
  Walk walk = {.operation = "cannot read", .path = path};
  char parent[CORE_PATH_MAX];
  const char *name;
  int folder;

  *fd = -1;
  TRY(core_files_parent(path, parent, &name));
  if (core_files_is_guarded(path)) {
    TRY(core_files_enter(parent, false, walk.operation, path, &folder));
  } else {
    folder = enter_target(AT_FDCWD, parent, &walk);
    TRY(walked(folder, &walk));
  }

  const int code = open_in(folder, name, &walk, fd), number = errno;
  close(folder);
  errno = number;
  return code;
}

/* Opens a file outside of the workspace, where links are followed. */
static int open_unguarded(const char *path, int *fd) {
  struct stat status;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
  int code = CORE_OK;
  if (fstat(file, &status) < 0) code = core_error_errno(CORE_FAIL, "cannot read %s", path);
  else if (!S_ISREG(status.st_mode)) code = refuse_unguarded(path, &status);
  if (code == CORE_OK) *fd = file;
  else close(file);
  return code;
}

int core_files_open_reading(const char *path, int *fd) {
  *fd = -1;
  return core_files_is_guarded(path) ? core_files_open_checked(path, fd) : open_unguarded(path, fd);
}

int core_files_check_reading(const char *path) {
  char parent[CORE_PATH_MAX];
  const char *name;
  struct stat status;
  int folder, code = CORE_OK;

  if (!core_files_is_guarded(path)) {
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) return CORE_OK;
    return refuse_unguarded(path, &status);
  }

  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot read", path, &folder));
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    const bool is_followed = S_ISLNK(status.st_mode) && is_trusted_owner(status.st_uid);
    const int fd = openat(folder, name, O_PATH | O_CLOEXEC | (is_followed ? 0 : O_NOFOLLOW));
    if (fd >= 0) code = check_readable(folder, fd, path);
    if (fd >= 0) close(fd);
  }

  close(folder);
  return code;
}
