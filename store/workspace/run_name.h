/* Which run is meant: the one way in which all commands of all programs read a run on the command line.
 *
 *   021a                   the first digits of an id, 4 or more, that only one run of the workspace has; or all 16
 *   my_study/3             a sweep and the index of a run in its manifest
 *   runs/02/021a...        a run's folder, of this workspace: as the shell completes it, from anywhere */
#ifndef STORE_RUN_NAME_H
#define STORE_RUN_NAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"

enum { STORE_PREFIX_LEAST = 4 /* digits of a run id that may stand for it */ };

/* For the help of commands. */
#define STORE_RUN_NAME_HELP "RUN is a run's id or its first 4 digits or more, SWEEP/INDEX, or the run's folder."

/* The run of the workspace that `text` names: one that has a folder, or that some sweep will make. CORE_USAGE says what
 * was looked for and where; where several runs begin so, which they are. */
int store_run_find(const char *root, const char *text, char id[CORE_RUN_ID]);

/* The place among given ids, each there once, of the only one that begins with `prefix`, of any length: `where`
 * ("sweep my_study") is for the message. */
int store_run_pick(const char (*ids)[CORE_RUN_ID], size_t count, const char *prefix, const char *where, size_t *index);

/* init.from enters the id of the run that it begins, so a run is written out there and no prefix stands for it: it
 * would be another one in another workspace. CORE_USAGE for a prefix, with the whole id; CORE_OK for all else. */
int store_run_check_origin(const char *root, const char *from);

/* A line of manifest.tsv, "index <tab> run", cut at the tab; false for anything else. */
bool store_manifest_line(char *line, int64_t *index, const char **id);

#endif
