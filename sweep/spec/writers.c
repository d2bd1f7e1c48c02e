/* Says who else can change a file (writers.h). */
#include "sweep/spec/writers.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/files.h"

/* Whether the group is the user's own, as where umask is 002: the primary one, of the user's name, with no other
 * member. */
static bool is_private_group(gid_t gid) {
  const struct passwd *user = getpwuid(geteuid());
  const struct group *group = getgrgid(gid);
  if (!user || !group || user->pw_gid != gid || strcmp(user->pw_name, group->gr_name) != 0) return false;
  for (char **member = group->gr_mem; *member; member++)
    if (strcmp(*member, user->pw_name) != 0) return false;
  return true;
}

void sweep_writers_owner(uid_t uid, CoreText *text) {
  const struct passwd *user = getpwuid(uid);
  if (user) core_text_append(text, user->pw_name);
  else core_text_appendf(text, "user %ld", (long)uid);
}

void sweep_writers_of(const char *path, const char *what, const struct stat *status, CoreText *text) {
  const struct group *group = getgrgid(status->st_gid);
  const bool has_acl = getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
  if (status->st_mode & S_IWOTH) {
    core_text_appendf(text, "everybody can change %s (chmod o-w %s)", what, path);
  } else if ((status->st_mode & S_IWGRP) && has_acl) {
    core_text_appendf(text, "its access control list lets others change %s (setfacl -b %s)", what, path);
  } else if ((status->st_mode & S_IWGRP) && !is_private_group(status->st_gid)) {
    if (group) core_text_appendf(text, "the group %s can change %s (chmod g-w %s)", group->gr_name, what, path);
    else core_text_appendf(text, "the group %ld can change %s (chmod g-w %s)", (long)status->st_gid, what, path);
  }
}

void sweep_writers_of_directory(const char *directory, const char *what, CoreText *text) {
  struct stat status;
  if (stat(directory, &status) != 0) {
    core_text_appendf(text, "%s cannot be examined", what);
  } else if (status.st_uid != geteuid() && status.st_uid != 0) {
    core_text_appendf(text, "%s belongs to ", what);
    sweep_writers_owner(status.st_uid, text);
  } else if (!(status.st_mode & S_ISVTX)) {
    sweep_writers_of(directory, what, &status, text);
  }
}

void sweep_writers_of_code(const char *path, CoreText *text) {
  char directory[CORE_PATH_MAX];
  struct stat status;
  if (stat(path, &status) != 0) return;

  if (status.st_uid != geteuid() && status.st_uid != 0) {
    core_text_appendf(text, "its code %s belongs to ", path);
    sweep_writers_owner(status.st_uid, text);
  } else {
    sweep_writers_of(path, "its code", &status, text);
  }
  if (text->length == 0 && core_files_parent(path, directory, NULL) == CORE_OK)
    sweep_writers_of_directory(directory, "the directory of its code", text);
}
