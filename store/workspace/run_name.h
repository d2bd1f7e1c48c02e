/* Run names on the command line, for all commands of all programs.
 *
 *   021a                   unique prefix of an id, 4 to 16 digits
 *   my_study/3             a sweep and the index of a run in its manifest
 *   runs/02/021a...        directory of a run of this workspace */
#ifndef STORE_RUN_NAME_H
#define STORE_RUN_NAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/label.h"

enum { STORE_PREFIX_MIN = 4 /* minimum length of a prefix */ };

/* Text for the help of commands. */
#define STORE_RUN_NAME_HELP "RUN is a run's id, its first 4 or more digits, SWEEP/INDEX, or the run's directory."

/* Resolves `text` to a run of the workspace that has a directory or is in a manifest. CORE_USAGE: not found, or
 * ambiguous; the message lists the candidates. */
int store_run_find(const char *root, const char *text, char id[CORE_RUN_ID]);

/* Finds the index of the only one of distinct ids that begins with `prefix`, of any length. `where` ("sweep my_study")
 * is for the message. */
int store_run_pick(const char (*ids)[CORE_RUN_ID], size_t count, const char *prefix, const char *where, size_t *index);

/* Rejects a prefix in init.from, which is part of a run's id: in another workspace the prefix would mean another run.
 * CORE_USAGE: the message has the full id. */
int store_run_check_origin(const char *root, const char *from);

/* Makes a readable name of a run (core/config/label.h) by what differs in its first sweep of the workspace; without
 * one, or without directories of the other runs, by its seed. For names of files; never fails. */
void store_run_label(const char *root, const char *id, const CoreConfig *config, char label[CORE_LABEL_MAX]);

/* Splits a line of manifest.tsv, "index <tab> run", at the tab; false: another line. */
bool store_manifest_line(char *line, int64_t *index, const char **id);
/* Writes sweeps/NAME/manifest.tsv, atomically; the caller holds manifest.lock. */
int store_manifest_write(const char *root, const char *name, const char (*ids)[CORE_RUN_ID], size_t count);
/* Whether the sweep's runs were made by another tool (analyze import): its sweep.ini has a section [import]. */
bool store_sweep_is_imported(const char *root, const char *name);
enum { STORE_MANIFEST_VERSION = 1 };
#define STORE_MANIFEST_COLUMNS "index\trun"

#endif
