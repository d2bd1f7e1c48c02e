/* The workspace: where everything lies (design: docs/architecture.md). Only safe names ever become paths. */
#ifndef STORE_PATHS_H
#define STORE_PATHS_H
#include "core/config/config.h"
#include "core/files.h"

/* --root DIR, else $SWEEP_ROOT, else "."; an absolute path. CORE_FAIL when it is no folder. */
int store_root(const char *option, char root[CORE_PATH_MAX]);
/* The same, for who begins to work there: makes the folder when there is none; *made tells. */
int store_root_make(const char *option, char root[CORE_PATH_MAX], bool *made);
/* <root>/results.db, <root>/sweeps/<name>[/file], the run's folder[/file]; file may be NULL.
 * CORE_USAGE: bad name/id. */
int store_path_database(const char *root, char path[CORE_PATH_MAX]);
int store_path_sweep(const char *root, const char *name, const char *file, char path[CORE_PATH_MAX]);
int store_path_run(const char *root, const char *id, const char *file, char path[CORE_PATH_MAX]);
/* 16 lower-case hex digits? */
bool store_is_run_id(const char *id);

/* A run's folder, relative to the workspace: "runs/ab/ab0123456789cdef", so that no folder has many entries (256
 * shards: 256 000 runs before one has a thousand). Workspaces made before there were shards have "runs/<id>": such a
 * folder is used where it stands, and new runs go into shards beside it. A workspace is looked at once by a process (or
 * thread), so in one without such folders a path costs no system call. */
enum { STORE_RUN_FOLDER = 32 };
int store_path_run_folder(const char *root, const char *id, char folder[STORE_RUN_FOLDER]);

/* The profile of an iteration's KL: runs/<id>/profile.<iteration>.tsv, and from iteration 1000 on
 * runs/<id>/profile/<iteration / 1000>/profile.<iteration>.tsv, so that no folder has many entries. */
int store_path_profile(const char *root, const char *id, int64_t iteration, char path[CORE_PATH_MAX]);

/* A film of an evaluation after `iteration` iterations (eval.video_every): the file's name in the run's folder,
 * "video.<iteration>.gif". */
enum { STORE_VIDEO_NAME = 40 };
void store_video_name(int64_t iteration, char name[STORE_VIDEO_NAME]);
/* The iterations of which the run has one, ascending; free(*iterations). A run without a folder has none. */
int store_path_list_videos(const char *root, const char *id, int64_t **iterations, size_t *count);

/* The ids of all run folders, or of those that begin with `prefix` (NULL: all), sorted; *count may be 0. free(*ids).
 * One listing a shard, of one shard alone when the prefix has two digits. CORE_FAIL: a folder can not be read. */
int store_path_list_runs(const char *root, const char *prefix, char (**ids)[CORE_RUN_ID], size_t *count);
/* The filesystem's locks and mmap can not be trusted (NFS, Lustre, GPFS, CIFS...): statfs magic. */
bool store_is_network_filesystem(const char *path);

#endif
