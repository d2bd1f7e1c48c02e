/* The workspace and the programs, looked at from here. Everything is tried, not looked up: a lock is taken and asked
 * for by another process, a file is written and its time compared. */
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
#include "core/program.h"
#include "core/terminal.h"
#include "core/version.h"
#include "slurm/probe.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

enum { SKEW_WARN_S = 2, SKEW_BAD_S = STORE_LOST_AFTER_S / 2, INODES_LEAST = 20000 };
static const double space_least = 1e9, space_warn = 20e9;

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
    sweep_checkup_add(checkup, "free space", SWEEP_WARN, NULL, "not known: %s", strerror(errno));
    return;
  }
  const double bytes = (double)status.f_bavail * (double)status.f_frsize;
  sweep_checkup_add(
    checkup, "free space",
    bytes < space_least  ? SWEEP_BAD
    : bytes < space_warn ? SWEEP_WARN
                         : SWEEP_GOOD,
    bytes < space_warn
      ? "free some, or take another workspace (--root, SWEEP_ROOT): a run keeps two checkpoints and its logs"
      : NULL,
    "%sB for you in %s", core_text_count(bytes, space), root);
  if (status.f_files == 0) return; /* a filesystem without a fixed number of them */
  const double inodes = (double)status.f_favail;
  sweep_checkup_add(
    checkup, "free inodes", inodes < INODES_LEAST ? SWEEP_WARN : SWEEP_GOOD,
    inodes < INODES_LEAST ? "a run takes about 10 files: ask for a higher quota, or take another workspace" : NULL,
    "%s", core_text_count(inodes, space));
}

bool sweep_checkup_is_locked(const char *path) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool refused = fcntl(fd, F_SETLK, &lock) < 0 && (errno == EACCES || errno == EAGAIN);
  close(fd);
  return refused;
}

/* Another process is asked, since a process never refuses itself. */
static bool child_is_refused(const char *path) {
  int status = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(sweep_checkup_is_locked(path) ? 0 : 1);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_locks(SweepCheckup *checkup, const char *root) {
  static const char advice[] = "ask for a mount with locks (NFS: without nolock; Lustre: flock, not localflock or "
                               "noflock), or take another workspace";
  char path[CORE_PATH_MAX];
  int fd;
  if (core_files_path(path, "%s/.doctor.%d", root, (int)getpid()) != CORE_OK) return;
  if (core_files_lock(path, false, &fd) != CORE_OK) {
    sweep_checkup_add(checkup, "file locks", SWEEP_BAD, advice, "%s", core_error_message());
    unlink(path);
    return;
  }
  const bool held = child_is_refused(path);
  core_files_unlock(&fd);
  const bool freed = !child_is_refused(path);
  unlink(path);
  if (held && freed)
    sweep_checkup_add(checkup, "file locks", SWEEP_GOOD, NULL, "work between processes of this machine");
  else
    sweep_checkup_add(checkup, "file locks", SWEEP_BAD, advice,
                      held ? "a lock stays when its owner has gone"
                           : "two processes got the same lock: they would write the same run");
}

/* A file's time is the file server's: heartbeats are judged by it. */
static void check_clock(SweepCheckup *checkup, const char *root) {
  char path[CORE_PATH_MAX];
  struct stat status;
  if (core_files_path(path, "%s/.doctor.%d", root, (int)getpid()) != CORE_OK) return;
  unlink(path); /* of a process that had our number */
  const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0 && fstat(fd, &status) == 0;
  const double now = core_clock_unix_s();
  if (fd >= 0) close(fd);
  unlink(path);
  if (!written) {
    sweep_checkup_add(checkup, "writing", SWEEP_BAD, "take a workspace in which you may write (--root, SWEEP_ROOT)",
                      "%s: %s", root, strerror(errno));
    return;
  }
  const double skew = now - ((double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec),
               size = skew < 0 ? -skew : skew;
  sweep_checkup_add(
    checkup, "file server's clock",
    size > SKEW_BAD_S    ? SWEEP_BAD
    : size > SKEW_WARN_S ? SWEEP_WARN
                         : SWEEP_GOOD,
    size > SKEW_WARN_S
      ? "tell the administrators: no run is lost by it, but waiting times in sweep report are wrong by as much"
      : NULL,
    "differs from this machine's by %.1f s", skew);
}

static void check_database(SweepCheckup *checkup, const char *root) {
  const bool network = store_is_network_filesystem(root);
  sweep_checkup_add(checkup, "results.db", SWEEP_GOOD, NULL,
                    network ? "on a network filesystem: rollback journal, no memory maps"
                            : "on a local filesystem: write-ahead log");
  if (!network && getenv("SLURM_CONF") == NULL) return;
  if (!network)
    sweep_checkup_add(checkup, "shared workspace", SWEEP_NOTE,
                      "compute nodes must see it under the same path; sweep doctor --job finds out",
                      "%s is on a local filesystem", root);
}

void sweep_checkup_workspace(SweepCheckup *checkup, const char *root) {
  check_clock(checkup, root);
  check_space(checkup, root);
  check_locks(checkup, root);
  check_database(checkup, root);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

int sweep_checkup_program(const char *name, char *path, size_t size) {
  const char *given = strcmp(name, "trainer") == 0 ? getenv("SWEEP_TRAINER") : NULL; /* as trainer.c has it */
  if (given && *given) return core_text_copy(path, size, given, "SWEEP_TRAINER");
  char folder[CORE_PATH_MAX];
  TRY(core_program_folder(folder));
  if (snprintf(path, size, "%s/%s", folder, name) >= (int)size)
    return core_error(CORE_FAIL, "the program's path is too long");
  return CORE_OK;
}

void sweep_checkup_trainer(SweepCheckup *checkup) {
  char path[CORE_PATH_MAX];
  CoreText output = {0};
  const char *arguments[] = {path, "info", NULL};
  int code = sweep_checkup_program("trainer", path, sizeof path);
  if (code == CORE_OK) code = slurm_probe(arguments, 30, &output);
  const char *text = core_text_string(&output), *words = strstr(text, "commit ");
  if (code != CORE_OK) {
    sweep_checkup_add(checkup, "trainer", SWEEP_BAD,
                      "install it beside sweep (make install), with the libraries that it was built with", "%s",
                      core_error_message());
  } else {
    const int length = words ? (int)strcspn(words + 7, "\n ") : 0;
    const bool same =
      words && (int)strlen(core_commit()) == length && strncmp(words + 7, core_commit(), (size_t)length) == 0;
    sweep_checkup_add(checkup, "trainer", same ? SWEEP_GOOD : SWEEP_WARN, same ? NULL : "build and install both again",
                      "%s, commit %.*s%s", path, length, words ? words + 7 : "", same ? "" : ", another than sweep's");
  }
  core_text_free(&output);
}
