/* The workspace's layout. Every path of a sweep or run is made here, from names that were checked; no other file of the
 * program joins user text to a path. */
#include "store/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <limits.h>

int store_root(const char *option, char root[CORE_PATH_MAX]) {
  const char *chosen = option, *environment = getenv("SWEEP_ROOT");
  if (!chosen) chosen = environment && *environment ? environment : ".";
  struct stat status;
  char real[PATH_MAX];
  if (!realpath(chosen, real) || stat(real, &status) < 0)
    return core_error_errno(CORE_FAIL, "cannot open the workspace '%s'%s", chosen,
                            option ? "" : " (choose one with --root DIR or SWEEP_ROOT)");
  if (!S_ISDIR(status.st_mode)) return core_error(CORE_FAIL, "the workspace '%s' is no folder", chosen);
  return core_files_path(root, "%s", real);
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

int store_path_run(const char *root, const char *id, const char *file, char path[CORE_PATH_MAX]) {
  if (!store_is_run_id(id))
    return core_error(CORE_USAGE, "'%.40s' is no run id: it takes %d digits of 0-9 and a-f", id, CORE_RUN_ID - 1);
  return core_files_path(path, "%s/runs/%s%s%s", root, id, file ? "/" : "", file ? file : "");
}

/* statfs f_type of filesystems that reach over a network, or through FUSE or a hypervisor: on them memory shared
 * between processes (SQLite's WAL) and locks may not work. From statfs(2) and the filesystems' own headers. */
static const unsigned long network_types[] = {
  0x6969,     /* NFS */       0x517b,     /* SMB */      0xff534d42, /* CIFS */    0xfe534d42, /* SMB2 */
  0x0bd00bd0, /* Lustre */    0x47504653, /* GPFS */     0x00c36400, /* Ceph */    0x5346414f, /* OpenAFS */
  0x6b414653, /* kAFS */      0x73757245, /* Coda */     0x65735546, /* FUSE */    0x19830326, /* BeeGFS */
  0xaad7aaea, /* PanFS */     0x20030528, /* OrangeFS */ 0x01021997, /* 9P */      0x786f4256, /* VirtualBox */
  0x013111a8, /* IBRIX */     0x00011954, /* GFS2 */     0x7461636f, /* OCFS2 */
};

bool store_is_network_filesystem(const char *path) {
  struct statfs status;
  char folder[CORE_PATH_MAX];
  if (core_files_path(folder, "%s", path) != CORE_OK) return false;
  while (statfs(folder, &status) < 0) { /* a file that is not there yet: its folder */
    char *slash = strrchr(folder, '/');
    if (errno != ENOENT) return false;
    if (!slash || slash == folder) {
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
