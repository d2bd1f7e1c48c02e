/* Compares texts of sweeps with the user's list (trust.h). */
#include "sweep/spec/trust.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/files.h"
#include "core/unicode.h"
#include "store/code/trust.h"
#include "sweep/spec/spec.h"

static const char kind[] = "text";

/* Appends the text that sweep.ini has or gets. */
static void append_text(const SweepSpec *spec, CoreText *text) {
  if (spec->frozen) core_text_append(text, core_text_string(&spec->source));
  else sweep_freeze_print(spec, text);
}

static bool has_setup(const SweepResource *resources, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(resources[i].key, "setup") == 0) return true;
  return false;
}

/* Appends what the list has the hash of: the text, and the workspace if jobs run shell lines there (slurm.setup). All
 * other paths in the text are absolute, or their files are hashed, so copies and moves of a workspace stay trusted. */
static void append_record(const char *root, const SweepSpec *spec, const char *text, CoreText *bytes) {
  bool is_bound = has_setup(spec->resources, spec->resource_count);
  for (size_t i = 0; i < spec->grid_count; i++)
    is_bound |= has_setup(spec->grids[i].resources, spec->grids[i].resource_count);
  for (size_t i = 0; i < spec->search_count; i++)
    is_bound |= has_setup(spec->searches[i].block.resources, spec->searches[i].block.resource_count);
  core_text_appendf(bytes, "%s\n%s", is_bound ? root : "", text);
}

static int find(const char *root, const SweepSpec *spec, const char *text, bool *is_accepted) {
  CoreText bytes = {0};
  append_record(root, spec, text, &bytes);
  const int code = store_trust_find_record(kind, spec->name, bytes.data, bytes.length, is_accepted);
  core_text_free(&bytes);
  return code;
}

int sweep_trust_check(const char *root, const SweepSpec *spec) {
  CoreText text = {0};
  bool is_accepted;
  if (spec->is_own_file) return CORE_OK;
  TRY(find(root, spec, core_text_string(&spec->source), &is_accepted)); /* also with --set, or more seeds */
  append_text(spec, &text);
  const int code = is_accepted ? CORE_OK : find(root, spec, core_text_string(&text), &is_accepted);
  core_text_free(&text);
  TRY(code);
  if (is_accepted) return CORE_OK;
  return core_error(CORE_USAGE, "%s: this is a sweep that you have not trusted: %s; review it, then pass --trust once",
                    spec->ini.file, spec->doubt.length ? spec->doubt.data : "it was not read from a file of yours");
}

int sweep_trust_accept(const char *root, const SweepSpec *spec) {
  CoreText text = {0}, bytes = {0};
  append_text(spec, &text);
  append_record(root, spec, core_text_string(&text), &bytes);
  const int code = store_trust_grant_record(kind, spec->name, bytes.data, bytes.length);
  core_text_free(&text);
  core_text_free(&bytes);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "cannot note that %s may run", spec->name);
}

void sweep_trust_print(const SweepSpec *spec, FILE *out) {
  CoreText text = {0};
  char *save;
  bool is_continued = false; /* a line that looks like a comment may be the rest of a quoted value */
  append_text(spec, &text);
  core_unicode_mask(text.data);
  for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if ((*line != ';' && *line != '#') || is_continued) fprintf(out, "  %s\n", line);
    is_continued = strchr(line, '\\') != NULL;
  }
  core_text_free(&text);
}

/* ---- who else can change a file ---------------------------------------------------------------------------------- */

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
