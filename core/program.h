/* Location of the running program, from which installed files are found. */
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H
#include "core/files.h"

/* Copies the path of the executable. CORE_FAIL: the system does not report it. */
int core_program_path(char path[CORE_PATH_MAX]);
/* Copies the directory of the executable. */
int core_program_directory(char directory[CORE_PATH_MAX]);
/* Finds lib/sweep/NAME below a parent directory of the program, where `make` and `make install` put it. */
int core_program_library_file(const char *name, char path[CORE_PATH_MAX]);

#endif
