/* Writes to a temporary name, then renames (export_file.h). */
#include "analysis/commands/export_file.h"

#include <unistd.h>

int export_file_begin(const char *path, ExportFile *file) {
  int fd;
  TRY(core_files_path(file->path, "%s", path));
  TRY(core_files_path(file->temporary, "%s.%ld", path, (long)getpid()));
  TRY(core_files_open(file->temporary, CORE_FILES_NEW, &fd));
  file->stream = fdopen(fd, "w");
  if (file->stream) return CORE_OK;
  close(fd);
  return core_error_errno(CORE_FAIL, "cannot write %s", file->temporary);
}

int export_file_end(ExportFile *file, int code) {
  const bool failed = ferror(file->stream) != 0;
  if (fclose(file->stream) != 0 || failed)
    code = code == CORE_OK ? core_error_errno(CORE_FAIL, "cannot write %s", file->path) : code;
  if (code == CORE_OK && rename(file->temporary, file->path) < 0)
    code = core_error_errno(CORE_FAIL, "cannot write %s", file->path);
  if (code != CORE_OK) unlink(file->temporary);
  return code;
}
