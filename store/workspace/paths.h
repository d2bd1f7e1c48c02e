/* Paths of a workspace (docs/architecture.md). Only checked names become paths. */
#ifndef STORE_PATHS_H
#define STORE_PATHS_H
#include "core/config/config.h"
#include "core/files.h"

/* Resolves --root DIR, $SWEEP_ROOT or "." to an absolute path. CORE_FAIL: not a directory. */
int store_root(const char *option, char root[CORE_PATH_MAX]);
/* Does the same, but a missing directory is an empty workspace. *is_missing: whether it is. */
int store_root_plan(const char *option, char root[CORE_PATH_MAX], bool *is_missing);
/* Does the same and creates a missing directory, setting *made. */
int store_root_create(const char *option, char root[CORE_PATH_MAX], bool *made);
/* Make <root>/results.db, <root>/sweeps/<name>[/file] and the run's directory[/file]; file may be NULL. CORE_USAGE:
 * invalid name or id. */
int store_path_database(const char *root, char path[CORE_PATH_MAX]);
int store_path_sweep(const char *root, const char *name, const char *file, char path[CORE_PATH_MAX]);
int store_path_run(const char *root, const char *id, const char *file, char path[CORE_PATH_MAX]);
/* Whether `id` is 16 lowercase hex digits. */
bool store_is_run_id(const char *id);

/* Returns a run's directory relative to the workspace: "runs/ab/ab0123456789cdef", in one of 256 shards, so that up to
 * 256 000 runs no directory has more than a thousand entries. CORE_USAGE: not a run id. */
enum { STORE_RUN_DIRECTORY = 32 };
int store_path_run_directory(const char *id, char directory[STORE_RUN_DIRECTORY]);

/* Makes the path of an iteration's KL profile: runs/<id>/profile.<iteration>.tsv, from iteration 1000 on
 * runs/<id>/profile/<iteration / 1000>/profile.<iteration>.tsv. */
int store_path_profile(const char *root, const char *id, int64_t iteration, char path[CORE_PATH_MAX]);

/* Makes the file name of an evaluation's video (eval.video_every) in the run's directory: "video.<iteration>.gif". */
enum { STORE_VIDEO_NAME = 40 };
void store_video_name(int64_t iteration, char name[STORE_VIDEO_NAME]);
/* Lists the iterations with a video, ascending; free(*iterations). A run without a directory has none. */
int store_path_list_videos(const char *root, const char *id, int64_t **iterations, size_t *count);

/* Lists the ids of all run directories that begin with `prefix` (NULL: all), sorted; free(*ids). Reads one directory
 * per shard, or a single one if the prefix has two digits. CORE_FAIL: a directory cannot be read. */
int store_path_list_runs(const char *root, const char *prefix, char (**ids)[CORE_RUN_ID], size_t *count);
/* Whether the file system's locks and mmap are unreliable (NFS, Lustre, GPFS, CIFS...), by its statfs type. */
bool store_is_network_filesystem(const char *path);

#endif
