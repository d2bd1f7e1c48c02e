/* Tells who else can change a file: other owners, groups with other members, everybody, access control lists. */
#ifndef SWEEP_SPEC_WRITERS_H
#define SWEEP_SPEC_WRITERS_H
#include <sys/stat.h>

#include "core/text.h"

/* Appends who else may write a file or directory, and what takes that away; nothing: no one. what: "it". */
void sweep_writers_of(const char *path, const char *what, const struct stat *status, CoreText *text);
/* Appends who may exchange files in the directory. */
void sweep_writers_of_directory(const char *directory, const char *what, CoreText *text);
/* Appends who else can change a file of a program's code, or exchange it; nothing: no one, or it is absent. */
void sweep_writers_of_code(const char *path, CoreText *text);
/* Appends the name of a user. */
void sweep_writers_owner(uid_t uid, CoreText *text);

#endif
