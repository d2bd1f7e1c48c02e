/* The workspace: where everything lies (design: docs/architecture.md). Only safe names ever become paths. */
#ifndef STORE_PATHS_H
#define STORE_PATHS_H
#include "core/config.h"
#include "core/files.h"

/* --root DIR, else $SWEEP_ROOT, else "."; an absolute path. CORE_FAIL when it is no folder. */
int store_root(const char *option, char root[CORE_PATH_MAX]);
/* <root>/results.db, <root>/sweeps/<name>[/file], <root>/runs/<id>[/file]; file may be NULL. CORE_USAGE: bad
 * name/id. */
int store_path_database(const char *root, char path[CORE_PATH_MAX]);
int store_path_sweep(const char *root, const char *name, const char *file, char path[CORE_PATH_MAX]);
int store_path_run(const char *root, const char *id, const char *file, char path[CORE_PATH_MAX]);
/* 16 lower-case hex digits? */
bool store_is_run_id(const char *id);
/* The filesystem's locks and mmap can not be trusted (NFS, Lustre, GPFS, CIFS...): statfs magic. */
bool store_is_network_filesystem(const char *path);

#endif
