/* Selects the variables, and reads and writes the file: a line with its format, the working directory, and a line per
 * variable, with \\ and \n for backslashes and newlines (environment.h). The user's list of trusted code has the hash
 * of each record, so variables such as LD_PRELOAD cannot come with another's workspace. */
#include "sweep/supervise/environment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"

extern char **environ;

enum { ENVIRONMENT_MAX = 8 << 20 };
static const char head[] = "# environment 2\n", directory_key[] = "directory ", kind[] = "environment";

/* ---- selection --------------------------------------------------------------------------------------------------- */

/* Variables of a login session, a terminal, a machine or a job. A final * matches any rest. */
static const char *const foreign[] = {
  "_", "PWD", "OLDPWD", "SHLVL", "HOME", "USER", "LOGNAME", "SHELL", "MAIL", "HOSTNAME", "HOST", "TMPDIR", "TMP",
  "TEMP", "SSH_*", "GPG_*", "DISPLAY", "WAYLAND_*", "XAUTHORITY", "XDG_SESSION_*", "XDG_RUNTIME_DIR", "XDG_SEAT",
  "XDG_VTNR",
  "DBUS_*", "DESKTOP_*", "TERM*", "COLORTERM", "COLUMNS", "LINES", "LS_COLORS", "LESS*", "PAGER", "EDITOR", "VISUAL",
  "PS1", "PS2", "PROMPT*", "HIST*", "TMUX*", "STY", "WINDOW*", "VTE_*", "BASH_*", "ENV", "MAKEFLAGS", "MAKELEVEL",
  "MFLAGS", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_*", "NOTIFY_SOCKET", "LISTEN_*",
  "SLURM_*", "SLURMD_*", "SLURMRESTD*", "SBATCH_*", "SRUN_*", "SALLOC_*", "SPANK_*", "PMI*", "PMIX_*", "OMPI_COMM_*",
  "OMPI_UNIVERSE_*", "PRTE_*", "HYDRA_*", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "FLUX_*", "PBS_*", "LSB_*",
  "SWEEP_ROOT", "SWEEP_RUN", "SWEEP_SITE", "CORE_DEVICE_SHARE"};

/* Substrings of names of secrets. */
static const char *const secret[] = {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS_", "_PASS", "_KEY",
                                     "APIKEY", "CREDENTIAL", "_JWT", "COOKIE", "NETRC", "_AUTH", "PGPASS", "_DSN"};

/* Variables by which Slurm assigns GPUs to a job. */
static const char *const job_devices[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                     "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK", "CUDA_MPS_*"};

/* Whether a name of `length` bytes matches one of the patterns. */
static bool matches_any(const char *name, size_t length, const char *const *patterns, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t pattern_length = strlen(patterns[i]);
    const bool is_prefix = pattern_length > 1 && patterns[i][pattern_length - 1] == '*';
    if (!is_prefix && pattern_length != length) continue;
    if (strncmp(name, patterns[i], is_prefix ? pattern_length - 1 : length) == 0) return true;
  }
  return false;
}

#define MATCHES(name, length, patterns) matches_any(name, length, patterns, sizeof patterns / sizeof *patterns)

static bool is_secret(const char *name, size_t length) {
  char upper[256];
  if (length >= sizeof upper) return true;
  for (size_t i = 0; i < length; i++) upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 32) : name[i];
  upper[length] = '\0';
  if (strcmp(upper, "KEY") == 0 || strcmp(upper, "PASS") == 0) return true;
  for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
    if (strstr(upper, secret[i])) return true;
  return false;
}

/* Whether the value contains a URL with a password: "https://user:password@host/". */
static bool has_password(const char *value) {
  for (const char *found = strstr(value, "://"); found; found = strstr(found, "://")) {
    found += 3;
    const size_t length = strcspn(found, "/?# \t\n");
    const char *colon = memchr(found, ':', length);
    if (colon && memchr(colon, '@', length - (size_t)(colon - found))) return true;
  }
  return false;
}

bool sweep_environment_is_recorded(const char *variable) {
  const size_t length = strcspn(variable, "=");
  return length > 0 && variable[length] == '=' && !MATCHES(variable, length, foreign) && !is_secret(variable, length) &&
         !has_password(variable + length + 1);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef struct Record {
  char *directory;
  char **variables;          /* "NAME=value" */
  size_t count;
  char *memory;              /* owner of the strings */
} Record;

static void free_record(Record *record) {
  free(record->variables);
  free(record->memory);
  *record = (Record){0};
}

static void append_escaped(CoreText *text, const char *value) {
  for (; *value; value++) {
    if (*value == '\\') core_text_append(text, "\\\\");
    else if (*value == '\n') core_text_append(text, "\\n");
    else core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\n");
}

static void unescape(char *line) {
  char *to = line;
  for (const char *from = line; *from; from++) {
    if (*from != '\\' || !from[1]) {
      *to++ = *from;
      continue;
    }
    from++;
    *to++ = *from == 'n' ? '\n' : *from;
  }
  *to = '\0';
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Appends the record of this process. */
static int format_record(CoreText *text) {
  char directory[CORE_PATH_MAX], **sorted;
  size_t count = 0, recorded = 0;
  if (!getcwd(directory, sizeof directory)) return core_error_errno(CORE_FAIL, "cannot read the working directory");
  while (environ[count]) count++;
  sorted = core_memory_allocate((count + 1) * sizeof *sorted);
  for (size_t i = 0; i < count; i++)
    if (sweep_environment_is_recorded(environ[i])) sorted[recorded++] = environ[i];
  qsort(sorted, recorded, sizeof *sorted, compare);
  core_text_append(text, head);
  core_text_append(text, directory_key);
  append_escaped(text, directory);
  for (size_t i = 0; i < recorded; i++) append_escaped(text, sorted[i]);
  free(sorted);
  return CORE_OK;
}

/* Splits a file's text in place; the record refers to it. */
static bool parse_record(char *text, Record *record) {
  size_t lines = 0;
  if (strncmp(text, head, sizeof head - 1) != 0) return false;
  for (const char *c = text; *c; c++) lines += *c == '\n';
  record->variables = core_memory_allocate((lines + 1) * sizeof *record->variables);
  for (char *line = text + sizeof head - 1, *end; (end = strchr(line, '\n')); line = end + 1) {
    *end = '\0';
    unescape(line);
    if (!record->directory && strncmp(line, directory_key, sizeof directory_key - 1) == 0)
      record->directory = line + sizeof directory_key - 1;
    else if (strchr(line, '=')) record->variables[record->count++] = line;
  }
  return record->directory;
}

/* Reads the record. Returns false without one, or if it may not be this user's: it has another owner or a second link,
 * others may write it, or this user has not recorded it for a sweep of this name. */
static bool read_record(const char *root, const char *name, Record *record) {
  char path[CORE_PATH_MAX];
  struct stat file;
  bool is_recorded = false;
  *record = (Record){0};
  if (store_path_sweep(root, name, "environment", path) != CORE_OK) return false;

  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    if (access(path, F_OK) == 0)
      core_warn("%s: cannot read; the runs get the environment of this process", path);
    return false;
  }

  const bool is_trusted = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && core_files_is_own(&file) &&
                          file.st_size < ENVIRONMENT_MAX;
  size_t length = 0;
  ssize_t bytes_read = 1;
  if (is_trusted) {
    record->memory = core_memory_zero_allocate((size_t)file.st_size + 1, 1);
    while (length < (size_t)file.st_size && bytes_read > 0) {
      bytes_read = read(fd, record->memory + length, (size_t)file.st_size - length);
      if (bytes_read > 0) length += (size_t)bytes_read;
    }
  }
  close(fd);

  if (is_trusted && store_trust_find_record(kind, name, record->memory, length, &is_recorded) != CORE_OK) {
    core_warn("%s", core_error_message());
    core_error_clear();
  }
  if (is_recorded && parse_record(record->memory, record)) return true;
  core_warn("%s: not a record of this user in this workspace; the runs get the environment of this process", path);
  free_record(record);
  return false;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static const char *find(const Record *record, const char *variable) {
  const size_t length = strcspn(variable, "=") + 1;
  for (size_t i = 0; i < record->count; i++)
    if (strncmp(record->variables[i], variable, length) == 0) return record->variables[i];
  return NULL;
}

static void add_name(const char *variable, size_t *count, CoreText *names) {
  enum { NAMED_MAX = 8 };
  if (++*count <= NAMED_MAX)
    core_text_appendf(names, "%s%.*s", *count > 1 ? ", " : "", (int)strcspn(variable, "="), variable);
  else if (*count == NAMED_MAX + 1) core_text_append(names, ", ...");
}

/* Warns of the variables that differ between two records. */
static void warn_of_changes(const Record *old, const Record *current, const char *name) {
  CoreText names = {0};
  size_t count = 0;
  for (size_t i = 0; i < current->count; i++) {
    const char *old_variable = find(old, current->variables[i]);
    if (!old_variable || strcmp(old_variable, current->variables[i]) != 0)
      add_name(current->variables[i], &count, &names);
  }
  for (size_t i = 0; i < old->count; i++)
    if (!find(current, old->variables[i])) add_name(old->variables[i], &count, &names);
  if (strcmp(old->directory, current->directory) != 0) add_name("the working directory", &count, &names);
  if (count > 0)
    core_warn("%s: the environment differs from that of its last submission in %s; runs that start from now on get the "
              "current one", name, core_text_string(&names));
  core_text_free(&names);
}

int sweep_environment_record(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  Record old, current = {0};
  TRY(store_path_sweep(root, name, "environment", path));
  TRY(format_record(&text));

  if (access(path, F_OK) == 0 && read_record(root, name, &old)) {
    current.memory = core_text_duplicate(text.data);
    if (parse_record(current.memory, &current)) warn_of_changes(&old, &current, name);
    free_record(&current);
    free_record(&old);
  }

  if (store_trust_grant_record(kind, name, text.data, text.length) != CORE_OK) {
    core_warn("%s; the runs of %s get the environment of the process that starts them", core_error_message(), name);
    core_error_clear();
  }

  const mode_t mask = umask(077);
  const int code = core_files_write_atomic(path, text.data, text.length);
  umask(mask);
  core_text_free(&text);
  return code;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* Unsets recordable variables that the record lacks. */
static void unset_others(const Record *record) {
  size_t count = 0;
  while (environ[count]) count++;
  char **names = core_memory_allocate((count + 1) * sizeof *names);
  for (size_t i = 0; i < count; i++) names[i] = core_text_duplicate(environ[i]);
  for (size_t i = 0; i < count; i++) {
    const size_t length = strcspn(names[i], "=");
    if (sweep_environment_is_recorded(names[i]) && !find(record, names[i])) {
      names[i][length] = '\0';
      unsetenv(names[i]);
    }
    free(names[i]);
  }
  free(names);
}

void sweep_environment_apply(const char *root, const char *name, SweepEnvironmentMode mode) {
  Record record;
  if (!read_record(root, name, &record)) return;
  if (mode == SWEEP_ENVIRONMENT_REPLACE) unset_others(&record);
  for (size_t i = 0; i < record.count; i++) {
    char *variable = record.variables[i];
    const size_t length = strcspn(variable, "=");
    if (!sweep_environment_is_recorded(variable)) continue;
    if (mode != SWEEP_ENVIRONMENT_REPLACE && MATCHES(variable, length, job_devices)) continue;
    variable[length] = '\0';
    setenv(variable, variable + length + 1, mode != SWEEP_ENVIRONMENT_FILL);
  }
  if (mode == SWEEP_ENVIRONMENT_REPLACE && chdir(record.directory) != 0)
    core_warn("%s: cannot change to it; the runs of %s start in the current directory", record.directory, name);
  free_record(&record);
}
