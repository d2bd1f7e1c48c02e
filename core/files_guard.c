/* Files in folders that other people may write too: those that are written in place (locks, logs, what is being written
 * before it gets its name), and all that is read. Whoever may put a link there could otherwise have us overwrite any
 * file of ours. So such a file is opened only when it is a plain file with one name, and folders below the workspace
 * are entered step by step, each link looked at before it is followed. Nothing here waits. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/files_internal.h"

enum { OWNER_BYTES = 64 };

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

/* "ada", else "user 1234". */
static const char *name_owner(uid_t uid, char name[OWNER_BYTES]) {
  const struct passwd *user = getpwuid(uid);
  if (user) snprintf(name, OWNER_BYTES, "%s", user->pw_name);
  else snprintf(name, OWNER_BYTES, "user %ld", (long)uid);
  return name;
}

/* ---- folders ---------------------------------------------------------------------------------------------------- */

/* A link on the way is followed when we, root, or the owner of the workspace made it: people put runs/ on another disk.
 * What another member of the group links somewhere else is not. The link that was looked at is the one that is followed
 * whatever stands there now. */
static int follow_link(int at, int link, const char *name, const char *path) {
  struct stat status;
  char target[CORE_PATH_MAX], owner[OWNER_BYTES];
  if (fstat(link, &status) < 0) return -1;
  if (status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != guard.owner) {
    core_error(CORE_FAIL, "%s is not written: on the way to it '%s' is a symbolic link of %s's, who could lead us to "
               "any folder of yours; remove the link, and run this again", path, name,
               name_owner(status.st_uid, owner));
    errno = 0;
    return -1;
  }
  const ssize_t length = readlinkat(link, "", target, sizeof target - 1);
  if (length < 0) return -1;
  target[length] = '\0';
  return openat(at, target, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The folder `name` in `at`; -1 with errno, 0 there: the message stands. */
static int step(int at, const char *name, bool make, const char *path) {
  struct stat status;
  if (make && mkdirat(at, name, 0777) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES) return -1;
  const int made = errno;
  int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    if (make && errno == ENOENT) errno = made;
    return -1;
  }
  if (fstat(fd, &status) == 0 && S_ISLNK(status.st_mode)) {
    const int behind = follow_link(at, fd, name, path);
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

int core_files_enter(const char *folder, bool make, const char *doing, const char *path, int *fd) {
  char rest[CORE_PATH_MAX], *save = NULL;
  const bool guarded = core_files_is_guarded(folder);
  *fd = open(guarded ? guard.root : folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (guarded) {
    TRY(core_files_path(rest, "%s", folder + guard.length));
    for (char *name = strtok_r(rest, "/", &save); name && *fd >= 0; name = strtok_r(NULL, "/", &save)) {
      const int next = step(*fd, name, make, path), number = errno;
      close(*fd);
      *fd = next;
      errno = number;
    }
  }
  if (*fd >= 0) return CORE_OK;
  const int number = errno;
  if (number) core_error_errno(CORE_FAIL, "%s %s", doing, path);
  errno = number;
  return CORE_FAIL;
}

int core_files_parent(const char *path, char *folder, const char **name) {
  const char *slash = strrchr(path, '/');
  if (name) *name = slash ? slash + 1 : path;
  if (!slash) return core_files_path(folder, ".");
  if (slash == path) return core_files_path(folder, "/");
  return core_files_path(folder, "%.*s", (int)(slash - path), path);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

static int refuse_kind(const char *path, const struct stat *status) {
  char owner[OWNER_BYTES];
  return core_error(CORE_FAIL, "%s is %s of %s's, not a plain file, and is not written: see where it leads (ls -l), "
                    "remove it, and run this again", path, kind_of(status->st_mode), name_owner(status->st_uid, owner));
}

/* Is the opened file one that may be written? A member of the group may own it: whose folder lets a group write, shares
 * locks and logs. In a folder that everybody may write, nobody is known to be of the group. */
static int check_opened(int folder, int fd, const char *path) {
  struct stat status, around;
  char owner[OWNER_BYTES];
  if (fstat(fd, &status) < 0 || fstat(folder, &around) < 0) return core_error_errno(CORE_FAIL, "cannot open %s", path);
  if (!S_ISREG(status.st_mode)) return refuse_kind(path, &status);
  if (status.st_nlink > 1)
    return core_error(CORE_FAIL, "%s has %lu names (hard links), so that writing it would change another file too; put "
                      "a copy in its place (cp, then mv), or remove it, and run this again", path,
                      (unsigned long)status.st_nlink);
  if ((around.st_mode & S_IWOTH) && status.st_uid != geteuid() && status.st_uid != 0 && status.st_uid != around.st_uid)
    return core_error(CORE_FAIL, "%s is %s's, in a folder that everybody may write, and is not written; remove it, or "
                      "take that right from the folder (chmod o-w)", path, name_owner(status.st_uid, owner));
  return CORE_OK;
}

int core_files_open(const char *path, CoreFilesHow how, int *fd) {
  static const int flags[] = {[CORE_FILES_APPEND] = O_RDWR | O_CREAT | O_APPEND, [CORE_FILES_UPDATE] = O_RDWR | O_CREAT,
                              [CORE_FILES_NEW] = O_WRONLY | O_CREAT | O_EXCL};
  char parent[CORE_PATH_MAX];
  const char *name;
  struct stat status;
  int folder;
  *fd = -1;
  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot write", path, &folder));
  if (how == CORE_FILES_NEW) unlinkat(folder, name, 0);
  int file = openat(folder, name, flags[how] | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666), code;
  if (file >= 0) {
    code = check_opened(folder, file, path);
  } else {
    const int number = errno;
    const bool odd = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode);
    errno = number;
    code = odd ? refuse_kind(path, &status) : core_error_errno(CORE_FAIL, "cannot write %s", path);
  }
  close(folder);
  if (code == CORE_OK) *fd = file;
  else if (file >= 0) close(file);
  return code;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int refuse_reading(const char *path, const struct stat *status) {
  char owner[OWNER_BYTES];
  return core_error(CORE_FAIL, "cannot read %s: it is no plain file but %s of %s's; see where it leads (ls -l), and "
                    "move it away", path, kind_of(status->st_mode), name_owner(status->st_uid, owner));
}

static int refuse_elsewhere(const char *path, const struct stat *status) {
  return core_error(CORE_FAIL, "cannot read %s: it is no plain file but %s; see what it is (ls -l), and move it away",
                    path, kind_of(status->st_mode));
}

static int check_readable(int folder, int fd, const char *path) {
  struct stat status, around;
  if (fstat(fd, &status) < 0 || fstat(folder, &around) < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
  if (!S_ISREG(status.st_mode)) return refuse_reading(path, &status);
  if (status.st_nlink > 1 && (around.st_mode & (S_IWGRP | S_IWOTH)))
    return core_error(CORE_FAIL,
                      "cannot read %s: it has %lu names (hard links), in a folder that others may write, and "
                      "may be another file; put a copy in its place (cp, then mv)", path,
                      (unsigned long)status.st_nlink);
  return CORE_OK;
}

/* The file behind a link that may be followed; -1 with errno. */
static int open_behind(int folder, const char *name, const struct stat *link) {
  char target[CORE_PATH_MAX];
  errno = ELOOP;
  if (!S_ISLNK(link->st_mode) ||
      (link->st_uid != geteuid() && link->st_uid != 0 && link->st_uid != guard.owner)) return -1;
  const ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
  if (length < 0) return -1;
  target[length] = '\0';
  return openat(folder, target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Outside of the workspace: links are followed. */
static int open_elsewhere(const char *path, int *fd) {
  struct stat status;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
  int code = CORE_OK;
  if (fstat(file, &status) < 0) code = core_error_errno(CORE_FAIL, "cannot read %s", path);
  else if (!S_ISREG(status.st_mode)) code = refuse_elsewhere(path, &status);
  if (code == CORE_OK) *fd = file;
  else close(file);
  return code;
}

int core_files_open_reading(const char *path, int *fd) {
  char parent[CORE_PATH_MAX];
  const char *name;
  struct stat status;
  int folder;
  *fd = -1;
  if (!core_files_is_guarded(path)) return open_elsewhere(path, fd);
  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot read", path, &folder));
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), code;
  int number = errno;
  const bool odd = file < 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode);
  if (odd) file = open_behind(folder, name, &status);
  errno = number;
  if (file >= 0) code = check_readable(folder, file, path);
  else code = odd ? refuse_reading(path, &status) : core_error_errno(CORE_FAIL, "cannot read %s", path);
  number = errno;
  close(folder);
  if (code == CORE_OK) *fd = file;
  else if (file >= 0) close(file);
  errno = number;
  return code;
}

int core_files_check_reading(const char *path) {
  char parent[CORE_PATH_MAX];
  const char *name;
  struct stat status;
  int folder, code = CORE_OK;
  if (!core_files_is_guarded(path)) {
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode)) return CORE_OK;
    return refuse_elsewhere(path, &status);
  }
  TRY(core_files_parent(path, parent, &name));
  TRY(core_files_enter(parent, false, "cannot read", path, &folder));
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    const bool ours = status.st_uid == geteuid() || status.st_uid == 0 || status.st_uid == guard.owner;
    const bool link = S_ISLNK(status.st_mode) && ours;
    const int fd = openat(folder, name, O_PATH | O_CLOEXEC | (link ? 0 : O_NOFOLLOW));
    if (fd >= 0) code = check_readable(folder, fd, path);
    if (fd >= 0) close(fd);
  }
  close(folder);
  return code;
}
