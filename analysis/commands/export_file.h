/* File that is written under a temporary name first, so that the final name always denotes a complete file. */
#ifndef ANALYSIS_EXPORT_FILE_H
#define ANALYSIS_EXPORT_FILE_H
#include <stdio.h>

#include "core/files.h"

typedef struct ExportFile {
  FILE *stream;               /* the caller writes here */
  char path[CORE_PATH_MAX], temporary[CORE_PATH_MAX];
} ExportFile;

/* Opens the temporary file. CORE_FAIL: the directory does not exist or is not writable. */
int export_file_begin(const char *path, ExportFile *file);
/* Closes and renames the file. code: the caller's result so far; if it is not CORE_OK, or writing failed, an
 * existing file is kept. */
int export_file_end(ExportFile *file, int code);

#endif
