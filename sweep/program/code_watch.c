/* Compares the identities of files (child.h). Exchanging or writing a file, or setting its times, changes the time
 * of its last status change, which no one can set. */
#include "sweep/program/child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/code/code.h"
#include "sweep/spec/trust.h"

enum { REST_MS = 2000, WAIT_S = 10, POLL_MS = 100 };

struct ProgramCodeFile { char *path; struct stat status; };

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Whether the file has been left alone for a moment. A clock far behind that of the file server does not count. */
static bool is_at_rest(const struct stat *status) {
  const double age_s = core_clock_unix_s() - (double)status->st_ctim.tv_sec - 1e-9 * (double)status->st_ctim.tv_nsec;
  return age_s >= 1e-3 * REST_MS || age_s < -60;
}

/* Notes a file once it is at rest and has its hash. */
static int add_file(ProgramCodeWatch *watch, const char *path, const char *hash) {
  char found[STORE_CODE_HASH];
  struct stat before, after;
  const double end_s = core_clock_s() + WAIT_S;

  for (;;) {
    if (stat(path, &before) != 0) return core_error_errno(CORE_FAIL, "cannot read %s", path);
    if (is_at_rest(&before)) {
      TRY(store_code_hash_file(path, found));
      if (stat(path, &after) == 0 && is_same(&before, &after)) break;
    }
    if (core_clock_s() >= end_s)
      return core_error(CORE_FAIL, "its code %s is being changed, and others can change it; ask them, then start the "
                        "run again", path);
    nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
  }
  if (strncmp(found, hash, STORE_CODE_HASH - 1) != 0)
    return core_error(CORE_FAIL, "its code %s was changed after it was hashed; start the run again", path);

  watch->files = core_memory_resize(watch->files, (watch->count + 1) * sizeof *watch->files);
  watch->files[watch->count++] = (ProgramCodeFile){core_text_duplicate(path), before};
  return CORE_OK;
}

int program_code_watch_begin(const CoreConfig *config, ProgramCodeWatch *watch) {
  const StoreCode *code;
  *watch = (ProgramCodeWatch){0};
  TRY(store_code_find(config, &code));

  char *lines = core_text_duplicate(code->modules), *rest;
  int result = CORE_OK;
  for (char *line = strtok_r(lines, "\n", &rest); line && result == CORE_OK; line = strtok_r(NULL, "\n", &rest)) {
    CoreText writers = {0};
    char *fields = line;
    const char *kind = strsep(&fields, "\t"), *path = strsep(&fields, "\t");
    if (strcmp(kind, "file") == 0 && fields) sweep_writers_of_code(path, &writers);
    if (writers.length > 0) result = add_file(watch, path, fields);
    core_text_free(&writers);
  }
  free(lines);
  return result;
}

const char *program_code_watch_find_changed(const ProgramCodeWatch *watch) {
  struct stat status;
  for (size_t i = 0; i < watch->count; i++) {
    const ProgramCodeFile *file = &watch->files[i];
    if (stat(file->path, &status) != 0 || !is_same(&status, &file->status)) return file->path;
  }
  return NULL;
}

void program_code_watch_free(ProgramCodeWatch *watch) {
  for (size_t i = 0; i < watch->count; i++) free(watch->files[i].path);
  free(watch->files);
  *watch = (ProgramCodeWatch){0};
}
