/* Where the running program lies: what is built or installed beside it is found from there. */
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H
#include "core/files.h"

/* This program's own file. CORE_FAIL: the system does not tell. */
int core_program_path(char path[CORE_PATH_MAX]);
/* The folder that it lies in. */
int core_program_folder(char folder[CORE_PATH_MAX]);
/* Finds lib/sweep/NAME in a folder above the program's: where `make` and `make install` put it. */
int core_program_library_file(const char *name, char path[CORE_PATH_MAX]);

#endif
