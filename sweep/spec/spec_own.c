/* Judges whether only this user can have written an experiment file (SweepSpec.is_own_file). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/files.h"
#include "sweep/spec/spec_internal.h"
#include "sweep/spec/trust.h"

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

/* ---- judgements -------------------------------------------------------------------------------------------------- */

/* Doubts code that an interpreter opens by its name, after it was hashed: that of the program, and programs that
 * propose the trials of searches. */
void spec_own_judge_code(SweepSpec *spec) {
  const CoreScript *program = spec->base.program;
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], *save;
  if (!spec->is_own_file) return;

  const bool has_program = program && core_script_directory(program, directory) == CORE_OK;
  char *names = core_text_duplicate(has_program ? core_script_text(program, CORE_SCRIPT_code) : "");
  for (char *name = strtok_r(names, " \t", &save); name && spec->doubt.length == 0; name = strtok_r(NULL, " \t", &save))
    if (core_files_path_in(directory, name, path) == CORE_OK) sweep_writers_of_code(path, &spec->doubt);
  free(names);

  for (size_t i = 0; i < spec->search_count && spec->doubt.length == 0; i++)
    if (spec->searches[i].space.method == CORE_SEARCH_COMMAND)
      sweep_writers_of_code(spec->searches[i].space.program, &spec->doubt);

  if (spec->doubt.length > 0)
    core_text_append(&spec->doubt, ", and what is put there while a run starts, or is imported later, runs as you");
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
    sweep_writers_owner(link.st_uid, doubt);
  } else if (core_files_parent(path, directory, NULL) == CORE_OK) {
    sweep_writers_of_directory(directory, "the directory of its symbolic link", doubt);
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
    sweep_writers_owner(status->st_uid, doubt);
  } else if (is_in_workspace(path, absolute)) {
    core_text_append(doubt, "it is not the text that you submitted or accepted in this workspace");
  } else {
    sweep_writers_of(path, "it", status, doubt);
    *strrchr(absolute, '/') = '\0';
    if (doubt->length == 0) sweep_writers_of_directory(*absolute ? absolute : "/", "its directory", doubt);
    if (doubt->length == 0) append_link_writers(path, doubt);
  }

  spec->is_own_file = doubt->length == 0;
}
