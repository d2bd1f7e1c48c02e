/* Judges whether only this user can have written an experiment file (SweepSpec.is_own_file). */
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/files.h"
#include "sweep/spec/spec_internal.h"

enum { FILE_BYTES_MAX = 16 << 20 };

/* ---- files of workspaces ----------------------------------------------------------------------------------------- */

/* Removes the last component of an absolute path, and returns it; "": there is none. */
static const char *pop_component(char *path) {
  size_t parents = 0;
  for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
    const char *name = slash + 1;
    *slash = '\0';
    if (!*name || strcmp(name, ".") == 0) continue;
    if (strcmp(name, "..") == 0) parents++;
    else if (parents > 0) parents--;
    else return name;
  }
  return "";
}

/* Whether an absolute path ends with sweeps/NAME/sweep.ini. */
static bool is_of_sweep(const char *absolute) {
  char path[CORE_PATH_MAX];
  if (core_files_path(path, "%s", absolute) != CORE_OK) return true;
  if (strcmp(pop_component(path), "sweep.ini") != 0) return false;
  pop_component(path);
  return strcmp(pop_component(path), "sweeps") == 0;
}

/* Whether a path is that of a sweep's experiment in a workspace, whose text others may have written: as given, without
 * links of directories, or without any (`absolute`). */
static bool is_in_workspace(const char *path, const char *absolute) {
  char given[CORE_PATH_MAX], directory[CORE_PATH_MAX], real[PATH_MAX], file[CORE_PATH_MAX];
  char *current = get_current_dir_name();
  const char *slash = strrchr(path, '/');
  int code = core_files_path_in(current ? current : "", path, given);
  free(current);
  if (code == CORE_OK && slash) code = core_files_path(directory, "%.*s/", (int)(slash - path), path);
  if (code == CORE_OK && !realpath(slash ? directory : ".", real)) code = CORE_FAIL;
  if (code == CORE_OK) code = core_files_path_in(real, slash ? slash + 1 : path, file);
  return code != CORE_OK || is_of_sweep(absolute) || is_of_sweep(given) || is_of_sweep(file);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int spec_own_read(const char *path, char **text, size_t *size, struct stat *status) {
  char opened[64];
  int fd;
  *status = (struct stat){0};
  if (core_files_open_reading(path, &fd) != CORE_OK) {
    core_error_clear();
    return core_files_read(path, FILE_BYTES_MAX, text, size);
  }
  snprintf(opened, sizeof opened, "/proc/self/fd/%d", fd);
  int code = core_files_read(opened, FILE_BYTES_MAX, text, size);
  if (code != CORE_OK) code = core_error_context(code, "%s", path);
  else if (fstat(fd, status) != 0) *status = (struct stat){0};
  close(fd);
  return code;
}

/* ---- who may write ----------------------------------------------------------------------------------------------- */

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

static void name_owner(uid_t uid, CoreText *text) {
  const struct passwd *user = getpwuid(uid);
  if (user) core_text_append(text, user->pw_name);
  else core_text_appendf(text, "user %ld", (long)uid);
}

/* Appends who else may write a file or directory, and what takes that away; nothing: no one. what: "it". */
static void append_writers(const char *path, const char *what, const struct stat *status, CoreText *text) {
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

/* Appends who may exchange files in the directory. */
static void append_directory_writers(const char *directory, const char *what, CoreText *text) {
  struct stat status;
  if (stat(directory, &status) != 0) {
    core_text_appendf(text, "%s cannot be examined", what);
  } else if (status.st_uid != geteuid() && status.st_uid != 0) {
    core_text_appendf(text, "%s belongs to ", what);
    name_owner(status.st_uid, text);
  } else if (!(status.st_mode & S_ISVTX)) {
    append_writers(directory, what, &status, text);
  }
}

/* Doubts code that an interpreter opens by its name, after it was hashed. */
void spec_own_judge_code(SweepSpec *spec) {
  const CoreScript *program = spec->base.program;
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], *save;
  struct stat status;
  if (!spec->is_own_file || core_script_directory(program, directory) != CORE_OK) return;

  char *names = core_text_duplicate(core_script_text(program, CORE_SCRIPT_code));
  for (char *name = strtok_r(names, " \t", &save); name; name = strtok_r(NULL, " \t", &save)) {
    if (spec->doubt.length > 0) break;
    if (core_files_path_in(directory, name, path) != CORE_OK || stat(path, &status) != 0) continue;
    if (status.st_uid != geteuid() && status.st_uid != 0) {
      core_text_appendf(&spec->doubt, "its code %s belongs to ", path);
      name_owner(status.st_uid, &spec->doubt);
    } else {
      append_writers(path, "its code", &status, &spec->doubt);
    }

    *strrchr(path, '/') = '\0';
    if (spec->doubt.length == 0)
      append_directory_writers(*path ? path : "/", "the directory of its code", &spec->doubt);
  }

  free(names);
  spec->is_own_file = spec->doubt.length == 0;
}

/* Appends who else can exchange the link `path`: what it names now is one's own, but was not meant. Nothing: no one, or
 * it is no link. */
static void append_link_writers(const char *path, CoreText *doubt) {
  struct stat link;
  char directory[CORE_PATH_MAX];
  if (lstat(path, &link) != 0 || !S_ISLNK(link.st_mode)) return;

  if (link.st_uid != geteuid() && link.st_uid != 0) {
    core_text_append(doubt, "it is a symbolic link of ");
    name_owner(link.st_uid, doubt);
  } else if (core_files_parent(path, directory, NULL) == CORE_OK) {
    append_directory_writers(directory, "the directory of its symbolic link", doubt);
  }
}

void spec_own_judge(const char *path, const struct stat *status, SweepSpec *spec) {
  char absolute[PATH_MAX];
  CoreText *doubt = &spec->doubt;
  const bool is_found = realpath(path, absolute) != NULL;
  core_text_clear(doubt);

  if (!is_found || !S_ISREG(status->st_mode)) {
    core_text_append(doubt, "it is not a regular file");
  } else if (status->st_uid != geteuid() && status->st_uid != 0) { /* root may do anything in any case */
    core_text_append(doubt, "it belongs to ");
    name_owner(status->st_uid, doubt);
  } else if (is_in_workspace(path, absolute)) {
    core_text_append(doubt, "it is not the text that you submitted or accepted in this workspace");
  } else {
    append_writers(path, "it", status, doubt);
    *strrchr(absolute, '/') = '\0';
    if (doubt->length == 0) append_directory_writers(*absolute ? absolute : "/", "its directory", doubt);
    if (doubt->length == 0) append_link_writers(path, doubt);
  }

  spec->is_own_file = doubt->length == 0;
}
