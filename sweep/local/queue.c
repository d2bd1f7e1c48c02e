/* Queue files and the executor's lock (queue.h). */
#include "sweep/local/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"

enum {
  REQUEST_MAX = 4096 + SWEEP_WHERE_TEXT + 2 * SWEEP_QUEUE_RUNS,
  COMMAND_WAIT_S = 60, EXECUTOR_WAIT_S = 2 /* for the lock, which is held to read and write a small file */
};

static int lock_file(const char *root, const char *name, double wait_s, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "queued.lock", path));
  return core_files_lock_within(path, wait_s, fd);
}

/* Writes the file; the caller holds the lock. */
static int write_file(const char *root, const char *name, const SweepQueueRequest *request) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "queued", path));
  CoreText text = {0};
  core_text_appendf(&text, "jobs=%lld\nforce=%d\nexecutor=%lld\nasked=%.6f\nheld=%s\nstopped=%s\n%s",
                    (long long)request->jobs, request->force, (long long)request->executor, request->requested_unix_s,
                    request->held, request->stopped, request->where);
  const int code = core_files_write_own(path, text.data, text.length);
  core_text_free(&text);
  return code;
}

/* Removes the file; the caller holds the lock. */
static int remove_file(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  TRY(store_path_sweep(root, name, "queued", path));
  return core_files_remove(path);
}

/* Says who has queued the sweep. */
static int refuse_foreign(const char *name, const SweepQueueRequest *queued) {
  const struct passwd *user = queued->owner == geteuid() ? NULL : getpwuid(queued->owner);
  return core_error(CORE_USAGE, "%s: it is queued by %s, whose executor runs it; drop that request with sweep stop %s",
                    name, user ? user->pw_name : "another user", name);
}

/* Adds the runs of the queued request. The file has one `force` and one time, which hold for all of its runs. */
static int join_queued(const char *root, const char *name, SweepQueueRequest *request) {
  SweepQueueRequest queued;
  bool is_queued;
  if (sweep_queue_read(root, name, &queued, &is_queued) != CORE_OK) {
    core_error_clear(); /* a damaged file is replaced */
    return CORE_OK;
  }
  if (!is_queued) return CORE_OK;
  if (!queued.is_own) return refuse_foreign(name, &queued);

  const bool is_same = strcmp(queued.where, request->where) == 0;
  if (!is_same && (queued.force || request->force))
    return core_error(CORE_USAGE, "%s: other runs of it are queued, and --force would apply to all or none of them; "
                      "wait for them, or drop them with sweep stop %s", name, name);

  if (queued.force && !request->force) {
    request->force = true;
    request->requested_unix_s = queued.requested_unix_s;
  }
  if (!*request->held) memcpy(request->held, queued.held, sizeof request->held);
  return sweep_where_join(request->where, queued.where);
}

int sweep_queue_check(const char *root, const char *name, const SweepQueueRequest *request, bool *has_more_runs) {
  SweepQueueRequest both = *request;
  TRY(join_queued(root, name, &both));
  *has_more_runs = strcmp(both.where, request->where) != 0;
  return CORE_OK;
}

int sweep_queue_write(const char *root, const char *name, const SweepQueueRequest *request) {
  SweepQueueRequest both = *request;
  int lock;
  TRY(lock_file(root, name, COMMAND_WAIT_S, &lock));
  int code = join_queued(root, name, &both);
  if (code == CORE_OK) code = write_file(root, name, &both);
  core_files_unlock(&lock);
  return code;
}

bool sweep_queue_forces(const SweepQueueRequest *request, const StoreState *state) {
  if (!request->force || !store_status_is_final(state->status)) return false;
  /* An end in the future comes from a clock that was set back or is another machine's. */
  const bool has_ended_since =
    state->finished_unix_s > request->requested_unix_s && state->finished_unix_s <= core_clock_unix_s();
  return request->requested_unix_s <= 0 || !has_ended_since;
}

/* Copies the rest of the line that begins with `key`; "" without one. */
static int read_line(const char *data, const char *key, char *value, size_t size, const char *path) {
  const char *line = strstr(data, key);
  char text[SWEEP_QUEUE_RUNS];
  if (line) line += strlen(key);
  snprintf(text, sizeof text, "%.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
  return core_text_copy(value, size, text, path);
}

/* Reads the file and who may have written it, from one descriptor. */
static int read_file(const char *path, char data[REQUEST_MAX], struct stat *status) {
  int fd;
  TRY(core_files_open_reading(path, &fd));
  const ssize_t length = fstat(fd, status) == 0 ? read(fd, data, REQUEST_MAX - 1) : -1;
  data[length > 0 ? length : 0] = '\0';
  const int code = length < 0 ? core_error_errno(CORE_FAIL, "cannot read %s", path) : CORE_OK;
  close(fd);
  return code;
}

int sweep_queue_read(const char *root, const char *name, SweepQueueRequest *request, bool *is_queued) {
  char path[CORE_PATH_MAX], data[REQUEST_MAX];
  struct stat status;
  TRY(store_path_sweep(root, name, "queued", path));
  *request = (SweepQueueRequest){0};
  *is_queued = core_files_exists(path);
  if (!*is_queued) return CORE_OK;
  TRY(read_file(path, data, &status));

  long long jobs, executor;
  double requested_unix_s = 0; /* absent in files of older versions */
  int force;
  const int fields =
    sscanf(data, "jobs=%lld force=%d executor=%lld asked=%lf", &jobs, &force, &executor, &requested_unix_s);

  const char *where = strstr(data, "\nwhere=");
  *request = (SweepQueueRequest){.owner = status.st_uid, .is_own = core_files_is_own(&status), .jobs = jobs,
                                 .force = force != 0, .executor = executor, .requested_unix_s = requested_unix_s};
  int code = core_text_copy(request->where, sizeof request->where, where ? where + 1 : "", path);
  if (code == CORE_OK) code = read_line(data, "\nheld=", request->held, sizeof request->held, path);
  if (code == CORE_OK)
    code = read_line(data, "\nstopped=", request->stopped, sizeof request->stopped, path);
  if (fields < 3 || jobs < 0) code = core_error(CORE_FAIL, "%s: damaged; delete it and submit again", path);
  return code;
}

int sweep_queue_remove(const char *root, const char *name) {
  int lock;
  TRY(lock_file(root, name, COMMAND_WAIT_S, &lock));
  const int code = remove_file(root, name);
  core_files_unlock(&lock);
  return code;
}

/* ---- lists of runs ----------------------------------------------------------------------------------------------- */

bool sweep_queue_has_stopped(const SweepQueueRequest *request, const char *id) {
  return strstr(request->stopped, id) != NULL;
}

bool sweep_queue_waits(const SweepQueueRequest *request, const char *id, const StoreState *state) {
  const StoreStatus status = state->status;
  if (status == STORE_RUNNING || status == STORE_FAILED || status == STORE_STOPPED_BY_RULE) return false;
  if (store_status_is_final(status) && !sweep_queue_forces(request, state)) return false;
  return !sweep_queue_has_stopped(request, id);
}

bool sweep_queue_holds(const SweepQueueRequest *request, const char *id) {
  return strcmp(request->held, "all") == 0 || strstr(request->held, id) != NULL;
}

int sweep_queue_list_add(const char *id, char list[SWEEP_QUEUE_RUNS]) {
  const size_t length = strlen(list);
  if (strstr(list, id)) return CORE_OK;
  if (length + CORE_RUN_ID >= SWEEP_QUEUE_RUNS)
    return core_error(CORE_USAGE, "these runs are too many to name one by one; name the sweep");
  snprintf(list + length, SWEEP_QUEUE_RUNS - length, " %s", id);
  return CORE_OK;
}

/* Changes the queued request; without one nothing. held NULL: as before. Takes ids[count] out. */
static int change(const char *root, const char *name, const char *held, const char (*ids)[CORE_RUN_ID], size_t count) {
  SweepQueueRequest request;
  bool is_queued;
  int lock;
  TRY(lock_file(root, name, COMMAND_WAIT_S, &lock));
  int code = sweep_queue_read(root, name, &request, &is_queued);
  if (code == CORE_OK && is_queued && !request.is_own) code = refuse_foreign(name, &request);
  if (code == CORE_OK && is_queued) {
    if (held) snprintf(request.held, sizeof request.held, "%s", held);
    for (size_t i = 0; i < count && code == CORE_OK; i++) code = sweep_queue_list_add(ids[i], request.stopped);
    if (code == CORE_OK) code = write_file(root, name, &request);
  }
  core_files_unlock(&lock);
  return code;
}

int sweep_queue_stop(const char *root, const char *name, const char (*ids)[CORE_RUN_ID], size_t count) {
  return change(root, name, NULL, ids, count);
}

int sweep_queue_hold(const char *root, const char *name, const char *held) {
  return change(root, name, held, NULL, 0);
}

/* ---- the executor ------------------------------------------------------------------------------------------------ */

int sweep_queue_claim(const char *root, const char *name, int64_t executor, SweepQueueRequest *request,
                      bool *is_queued) {
  int lock;
  *is_queued = false;
  TRY(lock_file(root, name, EXECUTOR_WAIT_S, &lock));
  int code = sweep_queue_read(root, name, request, is_queued);
  *is_queued &= request->is_own;
  if (code == CORE_OK && *is_queued) {
    request->executor = executor;
    code = write_file(root, name, request);
  }
  core_files_unlock(&lock);
  return code;
}

int sweep_queue_release(const char *root, const char *name, int64_t executor, bool *has_new_request) {
  SweepQueueRequest request;
  bool is_queued;
  int lock;
  *has_new_request = false;
  TRY(lock_file(root, name, EXECUTOR_WAIT_S, &lock));
  int code = sweep_queue_read(root, name, &request, &is_queued);
  *has_new_request = code == CORE_OK && is_queued && request.executor != executor;
  if (code == CORE_OK && is_queued && !*has_new_request) code = remove_file(root, name);
  core_files_unlock(&lock);
  return code;
}

static int lock_path(const char *root, uid_t user, char path[CORE_PATH_MAX]) {
  return core_files_path(path, "%s/.executor.%ld.lock", root, (long)user);
}

int sweep_queue_lock(const char *root, int *fd) {
  char path[CORE_PATH_MAX];
  TRY(lock_path(root, geteuid(), path));
  return core_files_lock(path, false, fd);
}

int sweep_queue_check_lock(const char *root) {
  char path[CORE_PATH_MAX];
  int fd;
  TRY(lock_path(root, geteuid(), path));
  TRY(core_files_open(path, CORE_FILES_UPDATE, &fd));
  close(fd);
  return CORE_OK;
}

int64_t sweep_queue_executor_pid(const char *root, uid_t user) {
  char path[CORE_PATH_MAX];
  if (lock_path(root, user, path) != CORE_OK) return 0;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  const int code = fcntl(fd, F_GETLK, &lock);
  close(fd);
  return code == 0 && lock.l_type == F_WRLCK ? lock.l_pid : 0;
}
