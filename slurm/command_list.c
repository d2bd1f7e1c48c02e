/* Lists jobs by squeue and sacct. Answers are parsed strictly: one invalid row makes the whole answer SLURM_GARBLED,
 * since a job that is overlooked would be submitted twice. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/terminal.h"
#include "slurm/command_internal.h"

#define COPY(target, text) snprintf(target, sizeof target, "%s", text)

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int64_t time_or_zero(const char *text) {
  const int64_t seconds = slurm_time_parse(text); /* "UNLIMITED", "NOT_SET", "INVALID" */
  return seconds > 0 ? seconds : 0;
}

/* Parses seconds since 1970, the format that SLURM_TIME_FORMAT selects; 0: invalid. */
static int64_t parse_unix_time(const char *text) {
  int64_t start;
  return core_text_to_int(text, &start) && start > 0 ? start : 0;
}

/* ---- squeue ------------------------------------------------------------------------------------------------------ */

enum { MARK = 24 };

/* A row of squeue, between marks: fields without free text, then the job's name, comment and working directory. */
typedef struct QueuedRow {
  char *fields, *name, *comment, *directory;
} QueuedRow;

/* Makes a text that no user can have put into the name or comment of a job. */
static void make_mark(char mark[MARK]) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) random = (uint64_t)(1e9 * core_clock_unix_s());
  snprintf(mark, MARK, "<%016llx>", (unsigned long long)random);
}

/* Cuts the next part of the answer, up to a mark; NULL: there is no further mark. */
static char *cut_part(char **tail, const char *mark) {
  char *field = *tail, *end = field ? strstr(field, mark) : NULL;
  if (!end) return NULL;
  *end = '\0';
  *tail = end + strlen(mark);
  return field;
}

/* Reads job|indices|state|reason|limit|submitted|start|user|partition|nodes. */
static bool read_queued(const QueuedRow *row, const char *directory, SlurmTasks *tasks) {
  char *field[COMMAND_FIELDS_MAX];
  SlurmTask task = {.restarts = -1, .exit_code = -1, .exit_signal = -1};
  if (command_split(row->fields, field, 10) != 10 || !command_read_id(field[0], &task.job)) return false;

  task.state = slurm_state_from_name(field[2]);
  COPY(task.reason, field[3]);
  task.limit_s = time_or_zero(field[4]);
  task.submit_unix_s = parse_unix_time(field[5]);
  task.start_unix_s = parse_unix_time(field[6]);
  COPY(task.user, field[7]);
  COPY(task.partition, field[8]);
  COPY(task.nodes, field[9]);
  COPY(task.name, row->name);
  COPY(task.comment, row->comment);

  task.is_in_directory = directory && strcmp(row->directory, directory) == 0;
  return slurm_tasks_add(tasks, &task, field[1]);
}

/* Reads the selected rows. Names and comments may contain anything, also newlines and what looks like a row. */
static int read_queue(char *text, const char *mark, const SlurmSelection *selection, SlurmTasks *tasks,
                      SlurmFault *fault) {
  char *tail = text;
  while (cut_part(&tail, mark)) { /* a newline or the site's greeting before a row */
    QueuedRow row = {.fields = cut_part(&tail, mark)};
    row.name = cut_part(&tail, mark);
    row.comment = cut_part(&tail, mark);
    row.directory = cut_part(&tail, mark);
    if (!row.directory) return command_garbled("squeue", row.fields ? row.fields : tail, fault);
    if (!slurm_selection_has(selection, row.name, row.directory)) continue;
    char fields_copy[128];
    COPY(fields_copy, row.fields);
    if (!read_queued(&row, selection->directory, tasks)) return command_garbled("squeue", fields_copy, fault);
  }
  return CORE_OK;
}

int command_list(void *backend, const SlurmSelection *selection, SlurmTasks *tasks, SlurmFault *fault) {
  char mark[MARK], format[160];
  CoreProcessOutput output;
  make_mark(mark);
  snprintf(format, sizeof format, "%s%%F|%%K|%%T|%%r|%%l|%%V|%%S|%%u|%%P|%%N%s%%j%s%%k%s%%Z%s", mark, mark, mark, mark,
           mark);
  /* squeue could select by name, but a job may have been renamed; slurmctld sends it all jobs in either case. */
  const char *const arguments[] = {
    "squeue", "-h", "-a", "-t", "all", "-o", format, slurm_selection_is_mine(selection) ? "--me" : NULL, NULL};
  TRY(command_run(arguments, NULL, &output, fault));
  const int code = output.out.data ? read_queue(output.out.data, mark, selection, tasks, fault) : CORE_OK;
  core_process_output_free(&output);
  return code;
}

/* ---- sacct ------------------------------------------------------------------------------------------------------- */

/* Copies the name of a user id, or the id if this machine does not know it. */
static void name_user(const char *number, char *name, size_t size) {
  int64_t id;
  const struct passwd *user = core_text_to_int(number, &id) && id >= 0 ? getpwuid((uid_t)id) : NULL;
  snprintf(name, size, "%s", user ? user->pw_name : number);
}

/* Parses JobID|State|ExitCode|Submit|Start|User|Partition|NodeList|Reason|WorkDir, with JobID "12_3", "12_[4-9]" or
 * "12". */
static bool read_accounted(char *line, const char *directory, SlurmTasks *tasks) {
  char *field[COMMAND_FIELDS_MAX];
  SlurmTask task = {.restarts = -1, .exit_code = -1, .exit_signal = -1};
  if (command_split(line, field, 10) != 10) return false;

  char *underscore = strchr(field[0], '_');
  if (underscore) *underscore = '\0';
  if (!command_read_id(field[0], &task.job)) return false;

  task.state = slurm_state_from_name(field[1]);
  if (strncmp(field[1], "CANCELLED by ", 13) == 0)
    name_user(field[1] + 13, task.cancelled_by, sizeof task.cancelled_by);
  if (sscanf(field[2], "%d:%d", &task.exit_code, &task.exit_signal) != 2) return false;
  task.submit_unix_s = parse_unix_time(field[3]);
  task.start_unix_s = parse_unix_time(field[4]);
  COPY(task.user, field[5]);
  COPY(task.partition, field[6]);
  COPY(task.nodes, field[7]);
  COPY(task.reason, field[8]);

  task.is_in_directory = directory && strcmp(field[9], directory) == 0;
  return slurm_tasks_add(tasks, &task, underscore ? underscore + 1 : "");
}

static int read_history(char *text, const char *directory, SlurmTasks *tasks, SlurmFault *fault) {
  char *save = NULL, line_copy[128];
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (!command_is_answer(line)) continue;
    COPY(line_copy, line);
    if (!read_accounted(line, directory, tasks)) return command_garbled("sacct", line_copy, fault);
  }
  return CORE_OK;
}

int command_history(void *backend, const int64_t *jobs, size_t count, const char *directory, int64_t since_unix_s,
                    SlurmTasks *tasks, SlurmFault *fault) {
  CoreText list = {0};
  char since[48], date[32] = "";
  struct tm local;
  const time_t at = (time_t)since_unix_s;
  CoreProcessOutput output;

  for (size_t i = 0; i < count; i++) core_text_appendf(&list, "%s%lld", i ? "," : "", (long long)jobs[i]);
  if (localtime_r(&at, &local)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
  snprintf(since, sizeof since, "--starttime=%s", date);
  const char *const arguments[] = {
    "sacct", "-X", "-n",
    "-P",    "-j", core_text_string(&list),
    since,   "-o", "JobID,State,ExitCode,Submit,Start,User,Partition,NodeList,Reason,WorkDir",
    NULL};

  int code = command_run(arguments, NULL, &output, fault);
  if (code == CORE_OK) {
    if (output.out.data) code = read_history(output.out.data, directory, tasks, fault);
    core_process_output_free(&output);
  }

  core_text_free(&list);
  return code;
}
