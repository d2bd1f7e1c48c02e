/* Layout of the workspace. Every path of a sweep or run is made here from checked names; no other file joins user text
 * to a path. */
#include "store/workspace/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <limits.h>

#include "core/memory.h"

int store_root(const char *option, char root[CORE_PATH_MAX]) {
  const char *chosen = option, *environment = getenv("SWEEP_ROOT");
  if (!chosen) chosen = environment && *environment ? environment : ".";
  struct stat status;
  char real[PATH_MAX];

  if (chosen[0] != '/' && !getcwd(real, sizeof real) && errno == ENOENT)
    return core_error(CORE_FAIL, "the current directory no longer exists; change to another one");

  const bool found = realpath(chosen, real) && stat(real, &status) == 0;
  if (!found && errno == ENOENT && *chosen)
    return core_error(CORE_FAIL, "workspace '%s' does not exist yet: no such directory%s; create it with sweep submit "
                      "FILE or mkdir", chosen, option ? "" : " (SWEEP_ROOT names it)");
  if (!found)
    return core_error_errno(CORE_FAIL, "cannot open the workspace '%s'%s", chosen,
                            option ? "" : " (choose one with --root DIR or SWEEP_ROOT)");
  if (!S_ISDIR(status.st_mode)) return core_error(CORE_FAIL, "the workspace '%s' is not a directory", chosen);

  TRY(core_files_path(root, "%s", real));
  core_files_guard(root);
  return CORE_OK;
}

int store_root_plan(const char *option, char root[CORE_PATH_MAX], bool *is_missing) {
  struct stat status;
  char directory[CORE_PATH_MAX] = "";
  const char *chosen = option ? option : getenv("SWEEP_ROOT");
  *is_missing = chosen && *chosen && lstat(chosen, &status) != 0 && errno == ENOENT;
  if (!*is_missing) return store_root(option, root);
  if (*chosen != '/' && !getcwd(directory, sizeof directory))
    return core_error_errno(CORE_FAIL, "the current directory");
  return core_files_path(root, "%s%s%s", directory, *directory ? "/" : "", chosen);
}

int store_root_create(const char *option, char root[CORE_PATH_MAX], bool *made) {
  struct stat status;
  const char *chosen = option ? option : getenv("SWEEP_ROOT");
  *made = chosen && *chosen && lstat(chosen, &status) != 0 && errno == ENOENT;
  if (*made) TRY(core_files_make_directories(chosen));
  return store_root(option, root);
}

int store_path_database(const char *root, char path[CORE_PATH_MAX]) {
  return core_files_path(path, "%s/results.db", root);
}

int store_path_sweep(const char *root, const char *name, const char *file, char path[CORE_PATH_MAX]) {
  TRY(core_text_check_name(name, "the sweep's name"));
  return core_files_path(path, "%s/sweeps/%s%s%s", root, name, file ? "/" : "", file ? file : "");
}

bool store_is_run_id(const char *id) {
  return strspn(id, "0123456789abcdef") == CORE_RUN_ID - 1 && id[CORE_RUN_ID - 1] == '\0';
}

/* ---- run directories -------------------------------------------------------------------------------------------- */

enum { SHARD_DIGITS = 2 };

static bool is_shard(const char *name) {
  return strspn(name, "0123456789abcdef") == SHARD_DIGITS && name[SHARD_DIGITS] == '\0';
}

int store_path_run_directory(const char *id, char directory[STORE_RUN_DIRECTORY]) {
  if (!store_is_run_id(id))
    return core_error(CORE_USAGE, "'%.40s' is not a run id: expected %d lowercase hex digits", id, CORE_RUN_ID - 1);
  snprintf(directory, STORE_RUN_DIRECTORY, "runs/%.*s/%s", SHARD_DIGITS, id, id);
  return CORE_OK;
}

int store_path_run(const char *root, const char *id, const char *file, char path[CORE_PATH_MAX]) {
  char directory[STORE_RUN_DIRECTORY];
  TRY(store_path_run_directory(id, directory));
  return core_files_path(path, "%s/%s%s%s", root, directory, file ? "/" : "", file ? file : "");
}

int store_path_profile(const char *root, const char *id, int64_t iteration, char path[CORE_PATH_MAX]) {
  char name[96];
  if (iteration < 1000) snprintf(name, sizeof name, "profile.%lld.tsv", (long long)iteration);
  else snprintf(name, sizeof name, "profile/%lld/profile.%lld.tsv", (long long)iteration / 1000, (long long)iteration);
  return store_path_run(root, id, name, path);
}

/* ---- videos ----------------------------------------------------------------------------------------------------- */

void store_video_name(int64_t iteration, char name[STORE_VIDEO_NAME]) {
  snprintf(name, STORE_VIDEO_NAME, "video.%lld.gif", (long long)iteration);
}

/* Parses the iteration of a video's file name; -1: any other name. */
static int64_t video_iteration(const char *name) {
  char digits[STORE_VIDEO_NAME], again[STORE_VIDEO_NAME];
  int64_t iteration;
  const size_t length = strlen(name);
  if (length < 11 || length >= STORE_VIDEO_NAME || strncmp(name, "video.", 6) != 0) return -1;
  snprintf(digits, sizeof digits, "%.*s", (int)length - 10, name + 6);
  if (!core_text_to_int(digits, &iteration) || iteration < 0) return -1;
  store_video_name(iteration, again);
  return strcmp(again, name) == 0 ? iteration : -1;
}

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int store_path_list_videos(const char *root, const char *id, int64_t **iterations, size_t *count) {
  char path[CORE_PATH_MAX], **names;
  size_t named;

  *iterations = NULL, *count = 0;
  TRY(store_path_run(root, id, NULL, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_list(path, &names, &named));

  *iterations = core_memory_allocate((named + 1) * sizeof **iterations);
  for (size_t i = 0; i < named; i++) {
    const int64_t iteration = video_iteration(names[i]);
    if (iteration >= 0) (*iterations)[(*count)++] = iteration;
    free(names[i]);
  }

  free(names);
  if (*count) qsort(*iterations, *count, sizeof **iterations, by_number);
  return CORE_OK;
}

/* ---- all runs --------------------------------------------------------------------------------------------------- */

typedef struct RunList { char (*ids)[CORE_RUN_ID]; size_t count, capacity; } RunList;

static void add_run(RunList *list, const char *id) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? 2 * list->capacity : 256;
    list->ids = core_memory_resize(list->ids, list->capacity * sizeof *list->ids);
  }
  memcpy(list->ids[list->count++], id, CORE_RUN_ID);
}

/* Adds the runs of a shard that begin with the prefix. */
static int list_shard(const char *root, const char *shard, const char *prefix, RunList *list) {
  char path[CORE_PATH_MAX], **names;
  size_t count;
  TRY(core_files_path(path, "%s/runs/%s", root, shard));
  TRY(core_files_list(path, &names, &count));

  for (size_t i = 0; i < count; i++) {
    if (store_is_run_id(names[i]) && strncmp(names[i], shard, SHARD_DIGITS) == 0 &&
        strncmp(names[i], prefix, strlen(prefix)) == 0)
      add_run(list, names[i]);
    free(names[i]);
  }

  free(names);
  return CORE_OK;
}

static int by_id(const void *a, const void *b) { return strcmp(a, b); }

int store_path_list_runs(const char *root, const char *prefix, char (**ids)[CORE_RUN_ID], size_t *count) {
  char path[CORE_PATH_MAX], **shards;
  size_t shard_count;
  RunList list = {0};
  if (!prefix) prefix = "";
  *ids = NULL, *count = 0;

  TRY(core_files_path(path, "%s/runs", root));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_list(path, &shards, &shard_count));

  int code = CORE_OK;
  const size_t digits = strlen(prefix) < SHARD_DIGITS ? strlen(prefix) : SHARD_DIGITS;
  for (size_t i = 0; i < shard_count; i++) {
    if (code == CORE_OK && is_shard(shards[i]) && strncmp(shards[i], prefix, digits) == 0)
      code = list_shard(root, shards[i], prefix, &list);
    free(shards[i]);
  }
  free(shards);
  if (code != CORE_OK) {
    free(list.ids);
    return code;
  }

  if (list.count) qsort(list.ids, list.count, sizeof *list.ids, by_id);
  *ids = list.ids;
  *count = list.count;
  return CORE_OK;
}

/* ---- filesystems ------------------------------------------------------------------------------------------------ */

/* statfs f_type of network, FUSE and hypervisor file systems, on which shared memory (SQLite's WAL) and locks may not
 * work. From statfs(2) and the file systems' headers. */
static const unsigned long network_types[] = {
  0x6969,     /* NFS */       0x517b,     /* SMB */      0xff534d42, /* CIFS */    0xfe534d42, /* SMB2 */
  0x0bd00bd0, /* Lustre */    0x47504653, /* GPFS */     0x00c36400, /* Ceph */    0x5346414f, /* OpenAFS */
  0x6b414653, /* kAFS */      0x73757245, /* Coda */     0x65735546, /* FUSE */    0x19830326, /* BeeGFS */
  0xaad7aaea, /* PanFS */     0x20030528, /* OrangeFS */ 0x01021997, /* 9P */      0x786f4256, /* VirtualBox */
  0x013111a8, /* IBRIX */     0x00011954, /* GFS2 */     0x7461636f, /* OCFS2 */
};

bool store_is_network_filesystem(const char *path) {
  struct statfs status;
  char directory[CORE_PATH_MAX];

  if (core_files_path(directory, "%s", path) != CORE_OK) return false;
  while (statfs(directory, &status) < 0) { /* missing file: use its directory */
    char *slash = strrchr(directory, '/');
    if (errno != ENOENT) return false;
    if (!slash || slash == directory) {
      if (statfs(slash ? "/" : ".", &status) < 0) return false;
      break;
    }
    *slash = '\0';
  }

  unsigned long type = (unsigned long)status.f_type & 0xffffffffu;
  for (size_t i = 0; i < sizeof network_types / sizeof *network_types; i++)
    if (type == network_types[i]) return true;
  return false;
}
