/* A file that is written beside its name first, so that a file of that name is whole. */
#ifndef ANALYSIS_EXPORT_FILE_H
#define ANALYSIS_EXPORT_FILE_H
#include <stdio.h>

#include "core/files.h"

typedef struct ExportFile {
  FILE *stream;               /* the caller writes here */
  char path[CORE_PATH_MAX], beside[CORE_PATH_MAX];
} ExportFile;

/* CORE_FAIL: the folder is not there, or may not be written. */
int export_file_begin(const char *path, ExportFile *file);
/* code: the caller's so far. Anything but CORE_OK leaves what had the name, as does a write that failed. */
int export_file_end(ExportFile *file, int code);

#endif
