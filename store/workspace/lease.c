/* Lease: the exclusive right to write in a run's directory. On this host the lock decides, which ends with its process
 * in any case. For other hosts, whose locks may be invisible, the heartbeat in the state decides.
 *
 * States of a run's lease, as this process sees them:
 *   state     condition                                                        store_run_acquire
 *   own       in own_leases                                                    refuses
 *   locked    another process has locked the file                              refuses; names that process
 *   heard     not locked; the state is running on another host, and its        refuses; names that process
 *             heartbeat is at most STORE_LOST_AFTER_S old
 *   unclear   the same, with a heartbeat further in the future than that       watches it: heard or free
 *   free      otherwise, also if the state is damaged                          own
 *
 *   state     event                                                            next
 *   own       store_run_release, or the end of this process                    free
 *   locked    the end of that process                                          free; heard, if it was on another host
 *   heard     no heartbeat for STORE_LOST_AFTER_S, or a state that is not      free
 *             running
 *   unclear   a new heartbeat, or a state that cannot be read                  heard
 *             none for STORE_LOST_AFTER_S                                      free
 *
 * The lock is taken before the heartbeat is read, so two processes of a host never both find it free. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "store/workspace/run_internal.h"

/* Leases of this process. fcntl locks do not exclude their own process, and closing any descriptor of the file releases
 * them, so the process must know its own leases without opening the files. */
struct StoreLease {
  int fd;
  dev_t device;
  ino_t inode;
  StoreLease *next;
};
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static StoreLease *own_leases;

static bool is_own(const struct stat *file) {
  pthread_mutex_lock(&guard);
  StoreLease *lease = own_leases;
  while (lease && (lease->device != file->st_dev || lease->inode != file->st_ino)) lease = lease->next;
  pthread_mutex_unlock(&guard);
  return lease != NULL;
}

const char *store_lease_host(void) {
  static char host[64];
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  if (!*host && (gethostname(host, sizeof host - 1) < 0 || !*host)) snprintf(host, sizeof host, "localhost");
  pthread_mutex_unlock(&once);
  return host;
}

/* Closes the lease file `fd`, and returns whether another process has locked it. *pid: which, if it runs here; may be
 * NULL. */
static bool close_and_find_lock(int fd, long *pid) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const bool is_held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  if (pid) *pid = is_held && lock.l_pid > 0 ? (long)lock.l_pid : 0;
  return is_held;
}

bool store_lease_is_held(const char *path) {
  struct stat file;
  if (stat(path, &file) < 0) return false;
  if (is_own(&file)) return true;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  return fd >= 0 && close_and_find_lock(fd, NULL);
}

long store_run_writer(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  long pid;
  int fd;
  if (store_path_run(root, id, "lease", path) != CORE_OK || core_files_open_reading(path, &fd) != CORE_OK) {
    core_error_clear();
    return 0;
  }
  close_and_find_lock(fd, &pid);
  return pid;
}

/* Formats "process 12 on node3" from the lease's text; invalid text becomes "another process". */
static void describe_holder(const char *path, char *text, size_t size) {
  char *data, host[64];
  size_t length;
  long pid;
  snprintf(text, size, "another process");
  if (core_files_read(path, 4096, &data, &length) != CORE_OK) return;
  if (sscanf(data, "host=%63[A-Za-z0-9._-]\npid=%ld", host, &pid) == 2)
    snprintf(text, size, "process %ld on %s", pid, host);
  free(data);
}

/* Watches a state with a future time, after the file system's clock was set back, for as long as a silent run counts as
 * alive. Whether it is still written. */
static bool is_silent(const char *root, const char *id, StoreState *state) {
  const double heard_unix_s = state->heartbeat_unix_s, end_s = core_clock_s() + STORE_LOST_AFTER_S;
  core_warn("run %s: its state has a time in the future; watching it for %d s to see whether %s still writes it", id,
            STORE_LOST_AFTER_S, state->host);
  while (core_clock_s() < end_s) {
    sleep(1);
    if (store_run_state_read(root, id, false, state) != CORE_OK || state->heartbeat_unix_s != heard_unix_s)
      return false;
  }
  return true;
}

/* Whether a writer on another host, whose lock may be invisible here, is alive. */
static int refuse_other_host(const char *root, const char *id) {
  StoreState state;
  if (store_run_state_read(root, id, false, &state) != CORE_OK) return CORE_OK; /* damaged: only the lock decides */
  if (state.status != STORE_RUNNING || strcmp(state.host, store_lease_host()) == 0) return CORE_OK;
  const double age_s = store_run_age_s(root, id);
  if (age_s > STORE_LOST_AFTER_S || (age_s < -STORE_LOST_AFTER_S && is_silent(root, id, &state))) return CORE_OK;
  return core_error(CORE_FAIL,
                    "run %s is being written by process %lld on %s (last heartbeat %.0f s ago); stop it there, or wait "
                    "%d s after its end",
                    id, (long long)state.pid, state.host, age_s < 0 ? 0 : age_s, STORE_LOST_AFTER_S);
}

int store_run_acquire(const char *root, const char *id, StoreLease **result) {
  char path[CORE_PATH_MAX], holder[128];
  struct stat file;
  int fd;
  *result = NULL;

  TRY(store_path_run(root, id, "lease", path));
  if (stat(path, &file) == 0 && is_own(&file))
    return core_error(CORE_FAIL, "run %s is already being written by this process", id);

  int code = core_files_lock(path, false, &fd);
  if (code != CORE_OK) {
    if (!store_lease_is_held(path)) return code; /* no permission or no directory */
    describe_holder(path, holder, sizeof holder);
    return core_error(CORE_FAIL, "run %s is being written by %s; stop it (sweep stop) or wait for its end", id, holder);
  }

  code = refuse_other_host(root, id);
  if (code == CORE_OK && fstat(fd, &file) < 0) code = core_error_errno(CORE_FAIL, "cannot lock %s", path);
  if (code != CORE_OK) {
    core_files_unlock(&fd);
    return code;
  }
  if (store_path_run(root, id, NULL, path) == CORE_OK) core_files_remove_leftovers(path);

  /* The text is only for the message above; a write error is harmless. */
  int length = snprintf(holder, sizeof holder, "host=%s\npid=%ld\n", store_lease_host(), (long)getpid());
  bool noted = pwrite(fd, holder, (size_t)length, 0) == length && ftruncate(fd, length) == 0;
  (void)noted;

  StoreLease *lease = core_memory_allocate(sizeof *lease);
  pthread_mutex_lock(&guard);
  *lease = (StoreLease){.fd = fd, .device = file.st_dev, .inode = file.st_ino, .next = own_leases};
  own_leases = lease;
  pthread_mutex_unlock(&guard);
  *result = lease;
  return CORE_OK;
}

void store_run_release(StoreLease **lease) {
  if (!*lease) return;
  pthread_mutex_lock(&guard);
  for (StoreLease **link = &own_leases; *link; link = &(*link)->next)
    if (*link == *lease) {
      *link = (*lease)->next;
      break;
    }
  pthread_mutex_unlock(&guard);
  core_files_unlock(&(*lease)->fd);
  free(*lease);
  *lease = NULL;
}
