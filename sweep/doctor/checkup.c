/* Checks the workspace and the programs from this machine, by experiment: takes a lock and requests it from another
 * process, writes a file and compares its time (checkup.h). */
#include "sweep/doctor/checkup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/command/options.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "core/version.h"
#include "slurm/cluster.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

enum { SKEW_WARN_S = 2, SKEW_BAD_S = STORE_LOST_AFTER_S / 2, INODES_MIN = 20000 };
static const double space_bad = 1e9, space_warn = 20e9; /* bytes */

/* ---- findings ---------------------------------------------------------------------------------------------------- */

const char *sweep_grade_name(SweepGrade grade) {
  static const char *const names[] = {"good", "note", "warning", "bad"};
  return names[grade];
}

void sweep_checkup_add(SweepCheckup *checkup, const char *name, SweepGrade grade, const char *advice,
                       const char *format, ...) {
  checkup->findings = core_memory_resize(checkup->findings, (checkup->count + 1) * sizeof *checkup->findings);
  SweepFinding *finding = &checkup->findings[checkup->count++];
  *finding = (SweepFinding){.name = name, .grade = grade};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(finding->text, sizeof finding->text, format, arguments);
  va_end(arguments);
  core_unicode_mask(finding->text);
  snprintf(finding->advice, sizeof finding->advice, "%s", advice ? advice : "");
  if (grade > checkup->worst) checkup->worst = grade;
}

void sweep_checkup_free(SweepCheckup *checkup) {
  free(checkup->findings);
  *checkup = (SweepCheckup){0};
}

/* ---- the workspace ----------------------------------------------------------------------------------------------- */

static void check_space(SweepCheckup *checkup, const char *root) {
  struct statvfs status;
  char space[32];
  if (statvfs(root, &status) < 0) {
    sweep_checkup_add(checkup, "free space", SWEEP_WARN, NULL, "unknown: %s", strerror(errno));
    return;
  }

  const double bytes = (double)status.f_bavail * (double)status.f_frsize;
  sweep_checkup_add(
    checkup, "free space",
    bytes < space_bad    ? SWEEP_BAD
    : bytes < space_warn ? SWEEP_WARN
                         : SWEEP_GOOD,
    bytes < space_warn
      ? "free some, or use another workspace (--root, SWEEP_ROOT): a run keeps two checkpoints and its logs"
      : NULL,
    "%sB available in %s", core_text_count(bytes, space), root);

  if (status.f_files == 0) return; /* the file system has no fixed number of inodes */
  const double inodes = (double)status.f_favail;
  sweep_checkup_add(
    checkup, "free inodes", inodes < INODES_MIN ? SWEEP_WARN : SWEEP_GOOD,
    inodes < INODES_MIN ? "a run uses about 10 files: request a higher quota, or use another workspace" : NULL,
    "%s", core_text_count(inodes, space));
}

bool sweep_checkup_is_locked(const char *path) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_locked = fcntl(fd, F_SETLK, &lock) < 0 && (errno == EACCES || errno == EAGAIN);
  close(fd);
  return is_locked;
}

/* Whether a child process finds the file locked. A process is never refused its own lock. */
static bool is_locked_for_child(const char *path) {
  int status = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(sweep_checkup_is_locked(path) ? 0 : 1);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_locks(SweepCheckup *checkup, const char *root) {
  static const char advice[] = "request a mount with locks (NFS: without nolock; Lustre: flock, not localflock or "
                               "noflock), or use another workspace";
  char path[CORE_PATH_MAX];
  int fd;

  if (core_files_path(path, "%s/.doctor.%d", root, (int)getpid()) != CORE_OK) return;
  if (core_files_lock(path, false, &fd) != CORE_OK) {
    sweep_checkup_add(checkup, "file locks", SWEEP_BAD, advice, "%s", core_error_message());
    unlink(path);
    return;
  }

  const bool is_held = is_locked_for_child(path);
  core_files_unlock(&fd);
  const bool is_released = !is_locked_for_child(path);
  unlink(path);

  if (is_held && is_released)
    sweep_checkup_add(checkup, "file locks", SWEEP_GOOD, NULL, "work between processes of this machine");
  else
    sweep_checkup_add(checkup, "file locks", SWEEP_BAD, advice,
                      is_held ? "a lock remains after its owner has released it"
                              : "two processes got the same lock: they would write the same run");
}

/* Compares this machine's clock with the file server's, which sets the times of files and so of heartbeats. */
static void check_clock(SweepCheckup *checkup, const char *root) {
  char path[CORE_PATH_MAX];
  struct stat status;
  if (core_files_path(path, "%s/.doctor.%d", root, (int)getpid()) != CORE_OK) return;

  unlink(path); /* left by a process with the same id */
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  const bool is_written = fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0 && fstat(fd, &status) == 0;
  const double now_unix_s = core_clock_unix_s();
  if (fd >= 0) close(fd);
  unlink(path);

  if (!is_written) {
    sweep_checkup_add(checkup, "writing", SWEEP_BAD, "use a workspace that you may write to (--root, SWEEP_ROOT)",
                      "%s: %s", root, strerror(errno));
    return;
  }

  const double file_unix_s = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
  const double skew_s = now_unix_s - file_unix_s, magnitude_s = skew_s < 0 ? -skew_s : skew_s;
  sweep_checkup_add(
    checkup, "file server's clock",
    magnitude_s > SKEW_BAD_S    ? SWEEP_BAD
    : magnitude_s > SKEW_WARN_S ? SWEEP_WARN
                                : SWEEP_GOOD,
    magnitude_s > SKEW_WARN_S
      ? "report it to the administrators: no run is lost, but waiting times of runs are off by as much"
      : NULL,
    "differs from this machine's by %.1f s", skew_s);
}

static void check_database(SweepCheckup *checkup, const char *root) {
  const bool is_on_network = store_is_network_filesystem(root);
  sweep_checkup_add(checkup, "results.db", SWEEP_GOOD, NULL,
                    is_on_network ? "on a network file system: rollback journal, no memory maps"
                                  : "on a local file system: write-ahead log");
  if (!is_on_network && getenv("SLURM_CONF"))
    sweep_checkup_add(checkup, "shared workspace", SWEEP_NOTE,
                      "compute nodes must see it under the same path; check with sweep doctor --job",
                      "%s is on a local file system", root);
}

void sweep_checkup_workspace(SweepCheckup *checkup, const char *root) {
  check_clock(checkup, root);
  check_space(checkup, root);
  check_locks(checkup, root);
  check_database(checkup, root);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

int sweep_checkup_program(const char *name, char *path, size_t size) {
  const char *override = strcmp(name, "trainer") == 0 ? getenv("SWEEP_TRAINER") : NULL; /* as in supervise/trainer.c */
  if (override && *override) return core_text_copy(path, size, override, "SWEEP_TRAINER");
  char directory[CORE_PATH_MAX];
  TRY(core_program_directory(directory));
  if (snprintf(path, size, "%s/%s", directory, name) >= (int)size)
    return core_error(CORE_FAIL, "%s/%s: the path is too long", directory, name);
  return CORE_OK;
}

void sweep_checkup_trainer(SweepCheckup *checkup) {
  char path[CORE_PATH_MAX];
  CoreText output = {0};
  const char *arguments[] = {path, "info", NULL};

  int code = sweep_checkup_program("trainer", path, sizeof path);
  if (code == CORE_OK) code = slurm_probe(arguments, 30, &output);
  static const char prefix[] = "commit ";
  const char *found = strstr(core_text_string(&output), prefix);
  const char *commit = found ? found + strlen(prefix) : "";

  if (code != CORE_OK) {
    sweep_checkup_add(checkup, "trainer", SWEEP_BAD,
                      "install it in the directory of sweep (make install), with the libraries that it was built with",
                      "%s", core_error_message());
  } else {
    const size_t length = strcspn(commit, "\n ");
    const bool is_same = found && strlen(core_commit()) == length && strncmp(commit, core_commit(), length) == 0;
    sweep_checkup_add(checkup, "trainer", is_same ? SWEEP_GOOD : SWEEP_WARN,
                      is_same ? NULL : "build and install both again", "%s, commit %.*s%s", path, (int)length, commit,
                      is_same ? "" : ", which is not that of sweep");
  }

  core_text_free(&output);
}
