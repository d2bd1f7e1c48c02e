/* Slurm through its commands. Answers are parsed strictly: a line that is not understood makes the whole answer
 * garbled, since a job that is overlooked would be submitted twice. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "slurm/allowance_internal.h"
#include "slurm/cluster.h"
#include "slurm/limits_internal.h"
#include "slurm/process_internal.h"

enum { EXPRESSION_MAX = 2000, FIELDS_MAX = 16 };

/* ---- calling ----------------------------------------------------------------------------------------------------- */

/* The last line that says something, without "sbatch: error: " and "fatal: ". */
static void last_words(const CoreText *text, char *words, size_t size) {
  static const char *const prefixes[] = {
    "error: ", "fatal: ", "sbatch: ", "squeue: ", "scontrol: ", "scancel: ", "sacct: ", "sinfo: "};
  char *copy = core_text_duplicate(core_text_string(text)), *save = NULL, limit[128] = "";
  words[0] = '\0';
  for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
      if (strncmp(line, prefixes[i], strlen(prefixes[i])) != 0) continue;
      line += strlen(prefixes[i]);
      i = (size_t)-1; /* again from the first */
    }
    const size_t length =
      strlen(line); /* "AssocMaxSubmitJobLimit" before "Job violates accounting/QOS policy": both are told */
    const bool names_limit = length > 5 && strcmp(line + length - 5, "Limit") == 0 && !strchr(line, ' ');
    if (names_limit) snprintf(limit, sizeof limit, " (%.100s)", line);
    else if (*line) snprintf(words, size, "%s", line);
  }
  snprintf(words + strlen(words), size - strlen(words), "%s", limit);
  free(copy);
}

static bool says(const SlurmOutput *output, const char *words) {
  return strcasestr(core_text_string(&output->error), words) != NULL;
}

/* What a failed command's words mean. Only what is sure to have stopped before slurmctld was asked counts as
 * unreachable. */
static SlurmFault classify(const SlurmOutput *output) {
  static const struct { const char *words; SlurmFault fault; } known[] = {
    {"establish a configuration source", SLURM_ABSENT}, {"Unable to process configuration file", SLURM_ABSENT},
    {"Unable to contact slurm controller", SLURM_UNREACHABLE}, {"Munge encode failed", SLURM_UNREACHABLE},
    {"timed out", SLURM_TIMED_OUT}, {"Zero Bytes were transmitted", SLURM_TIMED_OUT},
    {"Connection reset", SLURM_TIMED_OUT}, {"Protocol authentication error", SLURM_TIMED_OUT},
    {"Unexpected message", SLURM_TIMED_OUT}, {"Invalid job id specified", SLURM_NOT_THERE},
    {"already finished", SLURM_NOT_THERE}, {"already completing or completed", SLURM_NOT_THERE}};
  if (output->timed_out) return SLURM_TIMED_OUT;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (says(output, known[i].words)) return known[i].fault;
  /* Ended by a signal; above are Slurm's own errors cut to a byte: scancel's "Access/permission denied" is 210. */
  return output->exit_code > 128 && output->exit_code <= 128 + 64 ? SLURM_TIMED_OUT : SLURM_REFUSED;
}

static int failed(const char *program, const SlurmOutput *output, SlurmFault *fault) {
  char words[512];
  *fault = classify(output);
  last_words(&output->error, words, sizeof words);
  switch (*fault) {
    case SLURM_ABSENT:
      return core_error(CORE_FAIL, "%s finds no configuration of a cluster: %s", program, words);
    case SLURM_UNREACHABLE:
      return core_error(CORE_FAIL, "Slurm can not be reached: %s; scontrol ping shows when it is back", words);
    case SLURM_TIMED_OUT:
      return core_error(CORE_FAIL, "%s got no answer from Slurm in time%s%s", program, *words ? ": " : "", words);
    default:
      return core_error(CORE_FAIL, "%s: %s", program, *words ? words : "failed without a word");
  }
}

/* Runs and, when it failed, sets message and fault and frees the output. */
static int call(const char *const *arguments, const char *input, SlurmOutput *output, SlurmFault *fault) {
  *fault = SLURM_ABSENT;
  TRY(slurm_process_run(arguments, input, SLURM_CALL_S, output));
  *fault = SLURM_FINE;
  if (output->exit_code == 0 && !output->timed_out) return CORE_OK;
  const int code = failed(arguments[0], output, fault);
  slurm_output_free(output);
  return code;
}

/* Whether a line can be one of an answer: sites greet on standard output, too. */
static bool is_answer(const char *line) { return strchr(line, '|') != NULL; }

/* "123" or "123;cluster". */
static bool read_id(const char *text, int64_t *id) {
  char digits[24];
  const size_t length = strspn(text, "0123456789");
  if (length == 0 || length >= sizeof digits || (text[length] && !strchr(";\r\n", text[length]))) return false;
  memcpy(digits, text, length);
  digits[length] = '\0';
  return core_text_to_int(digits, id) && *id > 0;
}

/* The job's number in what sbatch --parsable prints: its last line of that form, behind whatever a site's wrapper says.
 * */
static bool find_id(const char *text, int64_t *id) {
  bool found = false;
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const size_t digits = strspn(line, "0123456789"), length = strcspn(line, "\r\n");
    const bool name = line[digits] == ';' && strcspn(line + digits, " \t\r\n") == length - digits;
    if (digits > 0 && (digits == length || name)) found = read_id(line, id) || found;
    if (!*line) break;
  }
  return found;
}

static int garbled(const char *program, const char *answer, SlurmFault *fault) {
  *fault = SLURM_GARBLED;
  return core_error(CORE_FAIL, "%s answered what this program does not understand: %.120s", program, answer);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int commands_open(void **way, SlurmFault *fault) {
  static const char *const needed[] = {"sbatch", "squeue", "scontrol", "scancel"};
  static char none;
  *way = &none;
  *fault = SLURM_ABSENT;
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!slurm_process_exists(needed[i]))
      return core_error(CORE_FAIL, "there is no Slurm here: %s is not in PATH", needed[i]);
  const int choice = slurm_check_clusters();
  if (choice != CORE_OK) *fault = SLURM_REFUSED;
  TRY(choice);
  const char *conf = getenv("SLURM_CONF"); /* the commands would wait a minute for it to appear */
  if (conf && *conf && access(conf, R_OK) != 0)
    return core_error(CORE_FAIL, "there is no Slurm here: SLURM_CONF = %s can not be read", conf);
  /* Without a configuration no command works: told apart from a cluster that is down, since it means "not a login
   * node". */
  static const char *const ping[] = {"scontrol", "ping", NULL};
  SlurmOutput output;
  TRY(slurm_process_run(ping, NULL, SLURM_CALL_S, &output));
  const bool absent = output.exit_code != 0 && classify(&output) == SLURM_ABSENT;
  const int code = absent ? failed("scontrol", &output, fault) : CORE_OK;
  slurm_output_free(&output);
  if (!absent) *fault = SLURM_FINE;
  return code;
}

static void commands_close(void *way) { (void)way; }

/* ---- limits and partitions --------------------------------------------------------------------------------------- */

static int commands_allowance(void *way, const char *account, const char *qos, SlurmAllowance *allowance,
                              SlurmFault *fault) {
  *fault = SLURM_ABSENT;
  TRY(slurm_allowance_ask(account, qos, allowance));
  *fault = SLURM_FINE;
  return CORE_OK;
}

static int commands_limits(void *way, SlurmLimits *limits, SlurmFault *fault) {
  static const char *const arguments[] = {"scontrol", "show", "config", NULL};
  SlurmOutput output;
  int code = CORE_OK;
  TRY(call(arguments, NULL, &output, fault));
  const char *text = core_text_string(&output.out);
  if (!slurm_limits_parse(text, limits)) code = garbled("scontrol show config", text, fault);
  else if (limits->array_tasks_max < 2)
    code = core_error(CORE_FAIL, "this cluster allows no job arrays (MaxArraySize = %lld); ask its administrators",
                      (long long)limits->array_tasks_max);
  slurm_output_free(&output);
  return code;
}

/* Cuts a line at '|' into at most FIELDS_MAX fields; the last takes the rest. Returns how many there are. */
static size_t cut(char *line, char **fields, size_t wanted) {
  size_t count = 0;
  while (line && count + 1 < wanted) fields[count++] = strsep(&line, "|");
  if (line) fields[count++] = line;
  return count;
}

static int64_t number_or(const char *text, int64_t otherwise) {
  char digits[24];
  int64_t number;
  snprintf(digits, sizeof digits, "%.*s", (int)strspn(text, "0123456789"), text); /* "4000+": at least */
  return core_text_to_int(digits, &number) ? number : otherwise;
}

/* "gpu:a100:4(S:0-1),gpu:2" to 6. */
static int64_t count_gpus(const char *gres) {
  int64_t gpus = 0;
  for (const char *at = gres; (at = strstr(at, "gpu:")); at += 4) {
    const char *number = at + 4, *end = at + strcspn(at, ",(");
    for (const char *c = at; c < end; c++)
      if (*c == ':') number = c + 1;
    gpus += number_or(number, 0);
  }
  return gpus;
}

/* One line of sinfo is one kind of node of a partition: joined by name. */
static void add_nodes(SlurmPartition **list, size_t *count, char **field) {
  const size_t length = strlen(field[0]);
  const bool star = length > 0 && field[0][length - 1] == '*';
  if (star) field[0][length - 1] = '\0';
  SlurmPartition *partition = NULL;
  for (size_t i = 0; i < *count; i++)
    if (strcmp((*list)[i].name, field[0]) == 0) partition = &(*list)[i];
  if (!partition) {
    *list = core_memory_resize(*list, (*count + 1) * sizeof **list);
    partition = &(*list)[(*count)++];
    *partition = (SlurmPartition){.up = strcmp(field[1], "up") == 0, .is_default = star};
    snprintf(partition->name, sizeof partition->name, "%s", field[0]);
    const int64_t limit = slurm_time_parse(field[2]);
    partition->time_max_s = limit > 0 ? limit : 0;
  }
  const int64_t nodes = number_or(field[3], 0), cpus = number_or(field[5], 0), memory = number_or(field[6], 0),
                gpus = count_gpus(field[7]);
  partition->nodes += nodes;
  if (strncmp(field[4], "idle", 4) == 0 || strncmp(field[4], "mix", 3) == 0 || strncmp(field[4], "alloc", 5) == 0)
    partition->nodes_up += nodes;
  if (cpus > partition->cpus_max) partition->cpus_max = cpus;
  if (memory > partition->memory_max_mb) partition->memory_max_mb = memory;
  if (gpus > partition->gpus_max) partition->gpus_max = gpus;
}

static int commands_partitions(void *way, SlurmPartition **partitions, size_t *count, SlurmFault *fault) {
  static const char *const arguments[] = {"sinfo", "-h", "-a", "-e", "-o", "%P|%a|%l|%D|%T|%c|%m|%G", NULL};
  SlurmOutput output;
  char *field[FIELDS_MAX], *save = NULL;
  int code = CORE_OK;
  TRY(call(arguments, NULL, &output, fault));
  for (char *line = output.out.data ? strtok_r(output.out.data, "\n", &save) : NULL; line && code == CORE_OK;
       line = strtok_r(NULL, "\n", &save)) {
    if (!is_answer(line)) continue;
    if (cut(line, field, 8) == 8) add_nodes(partitions, count, field);
    else code = garbled("sinfo", line, fault);
  }
  slurm_output_free(&output);
  return code;
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

static int commands_submit(void *way, const SlurmJob *job, int64_t *id, SlurmFault *fault) {
  static const char *const arguments[] = {"sbatch", "--parsable", NULL};
  SlurmOutput output;
  TRY(call(arguments, job->script, &output, fault));
  const int code =
    find_id(core_text_string(&output.out), id) ? CORE_OK : garbled("sbatch", core_text_string(&output.out), fault);
  slurm_output_free(&output);
  return code;
}

static int commands_test(void *way, const SlurmJob *job, SlurmForecast *forecast, SlurmFault *fault) {
  static const char *const arguments[] = {"sbatch", "--test-only", NULL};
  SlurmOutput output;
  char start[64];
  long long cpus;
  TRY(call(arguments, job->script, &output, fault));
  *forecast = (SlurmForecast){0};
  const char *answer = strstr(core_text_string(&output.error), "to start at ");
  /* "to start at 1700000000 using 4 processors ..."; 26.05 says "1700000000 a using". */
  const char *rest = answer ? strstr(answer, " using ") : NULL;
  const bool good = rest && sscanf(answer, "to start at %63s", start) == 1 &&
                    sscanf(rest, " using %lld processors on nodes %127s in partition %127s", &cpus, forecast->nodes,
                           forecast->partition) == 3;
  int64_t at;
  if (good) forecast->cpus = cpus, forecast->start_unix_s = core_text_to_int(start, &at) ? at : 0;
  const int code = good ? CORE_OK : garbled("sbatch --test-only", core_text_string(&output.error), fault);
  slurm_output_free(&output);
  return code;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

static int64_t time_or_zero(const char *text) {
  const int64_t seconds = slurm_time_parse(text); /* "UNLIMITED", "NOT_SET", "INVALID" */
  return seconds > 0 ? seconds : 0;
}

static int64_t moment(const char *text) { /* seconds since 1970, as SLURM_TIME_FORMAT asks for */
  int64_t at;
  return core_text_to_int(text, &at) && at > 0 ? at : 0;
}

#define COPY(target, text) snprintf(target, sizeof target, "%s", text)

/* job|indices|state|reason|elapsed|limit|submitted|start|user|partition|nodes|comment */
static bool read_queued(char *line, SlurmTasks *tasks) {
  char *field[FIELDS_MAX];
  SlurmTask task = {.restarts = -1, .exit_code = -1, .exit_signal = -1};
  if (cut(line, field, 12) != 12 || !read_id(field[0], &task.job)) return false;
  task.state = slurm_state_from_name(field[2]);
  COPY(task.reason, field[3]);
  task.limit_s = time_or_zero(field[5]);
  task.start_unix_s = moment(field[7]);
  COPY(task.user, field[8]), COPY(task.partition, field[9]), COPY(task.nodes, field[10]), COPY(task.comment, field[11]);
  return slurm_tasks_add(tasks, &task, field[1]);
}

static int read_lines(const char *program, SlurmOutput *output, bool (*read)(char *line, SlurmTasks *tasks),
                      SlurmTasks *tasks, SlurmFault *fault) {
  char *save = NULL, shown[128];
  for (char *line = output->out.data ? strtok_r(output->out.data, "\n", &save) : NULL; line;
       line = strtok_r(NULL, "\n", &save)) {
    if (!is_answer(line)) continue;
    COPY(shown, line);
    if (!read(line, tasks)) return garbled(program, shown, fault);
  }
  return CORE_OK;
}

static int commands_list(void *way, const char *const *names, size_t count, SlurmTasks *tasks, SlurmFault *fault) {
  CoreText filter = {0};
  SlurmOutput output;
  core_text_append(&filter, count ? "--name=" : "--me");
  for (size_t i = 0; i < count; i++) core_text_appendf(&filter, "%s%s", i ? "," : "", names[i]);
  const char *const arguments[] = {
    "squeue", "-h", "-a", "-t", "all", "-o", "%F|%K|%T|%r|%M|%l|%V|%S|%u|%P|%N|%k", core_text_string(&filter), NULL};
  int code = call(arguments, NULL, &output, fault);
  if (code == CORE_OK) {
    code = read_lines("squeue", &output, read_queued, tasks, fault);
    slurm_output_free(&output);
  }
  core_text_free(&filter);
  return code;
}

/* The name behind a user's number, where this machine knows one. */
static void name_user(const char *number, char *name, size_t size) {
  int64_t id;
  const struct passwd *user = core_text_to_int(number, &id) && id >= 0 ? getpwuid((uid_t)id) : NULL;
  snprintf(name, size, "%s", user ? user->pw_name : number);
}

/* JobID|State|ExitCode|ElapsedRaw|Submit|Start|User|Partition|NodeList|Reason; JobID is "12_3", "12_[4-9]" or "12". */
static bool read_accounted(char *line, SlurmTasks *tasks) {
  char *field[FIELDS_MAX];
  SlurmTask task = {.restarts = -1, .exit_code = -1, .exit_signal = -1};
  if (cut(line, field, 10) != 10) return false;
  char *underscore = strchr(field[0], '_');
  if (underscore) *underscore = '\0';
  if (!read_id(field[0], &task.job)) return false;
  task.state = slurm_state_from_name(field[1]);
  if (strncmp(field[1], "CANCELLED by ", 13) == 0)
    name_user(field[1] + 13, task.cancelled_by, sizeof task.cancelled_by);
  if (sscanf(field[2], "%d:%d", &task.exit_code, &task.exit_signal) != 2) return false;
  task.start_unix_s = moment(field[5]);
  COPY(task.user, field[6]), COPY(task.partition, field[7]), COPY(task.nodes, field[8]), COPY(task.reason, field[9]);
  return slurm_tasks_add(tasks, &task, underscore ? underscore + 1 : "");
}

static int commands_history(void *way, const int64_t *jobs, size_t count, int64_t since_unix_s, SlurmTasks *tasks,
                            SlurmFault *fault) {
  CoreText list = {0};
  char since[48], date[32] = "";
  struct tm local;
  const time_t at = (time_t)since_unix_s;
  SlurmOutput output;
  for (size_t i = 0; i < count; i++) core_text_appendf(&list, "%s%lld", i ? "," : "", (long long)jobs[i]);
  if (localtime_r(&at, &local)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
  snprintf(since, sizeof since, "--starttime=%s", date);
  const char *const arguments[] = {
    "sacct", "-X", "-n",
    "-P",    "-j", core_text_string(&list),
    since,   "-o", "JobID,State,ExitCode,ElapsedRaw,Submit,Start,User,Partition,NodeList,Reason",
    NULL};
  int code = call(arguments, NULL, &output, fault);
  if (code == CORE_OK) {
    code = read_lines("sacct", &output, read_accounted, tasks, fault);
    slurm_output_free(&output);
  }
  core_text_free(&list);
  return code;
}

/* ---- control ----------------------------------------------------------------------------------------------------- */

/* The next ids that one argument can name, "12_[3,5-9]": that is one request to slurmctld for all of them. */
static size_t name_several(const SlurmId *ids, size_t count, CoreText *name) {
  char one[48];
  size_t used = 1;
  core_text_clear(name);
  if (ids[0].task < 0 || count == 1 || ids[1].job != ids[0].job || ids[1].task < 0) {
    core_text_append(name, slurm_id_format(ids[0], one));
    return 1;
  }
  core_text_appendf(name, "%lld_[%lld", (long long)ids[0].job, (long long)ids[0].task);
  int64_t first = ids[0].task, last = first;
  for (; used < count && ids[used].job == ids[0].job && ids[used].task >= 0 && name->length < EXPRESSION_MAX; used++) {
    if (ids[used].task == last + 1) {
      last++;
      continue;
    }
    if (last > first) core_text_appendf(name, "-%lld", (long long)last);
    core_text_appendf(name, ",%lld", (long long)ids[used].task);
    first = last = ids[used].task;
  }
  if (last > first) core_text_appendf(name, "-%lld", (long long)last);
  core_text_append(name, "]");
  return used;
}

/* Those that have ended are no error: that is what was wanted, or too late. */
static int call_for(const char *program, const char *verb, const SlurmId *ids, size_t count, SlurmFault *fault) {
  CoreText name = {0};
  int code = CORE_OK;
  for (size_t done = 0; done < count && code == CORE_OK;) {
    SlurmOutput output;
    done += name_several(ids + done, count - done, &name);
    const char *const arguments[] = {program, verb ? verb : core_text_string(&name),
                                     verb ? core_text_string(&name) : NULL, NULL};
    code = call(arguments, NULL, &output, fault);
    if (code == CORE_OK) slurm_output_free(&output);
    if (code != CORE_OK && *fault == SLURM_NOT_THERE) {
      *fault = SLURM_FINE;
      code = CORE_OK;
    }
  }
  core_text_free(&name);
  return code;
}

static int commands_cancel(void *way, const SlurmId *ids, size_t count, SlurmFault *fault) {
  return call_for("scancel", NULL, ids, count, fault);
}

static int commands_hold(void *way, const SlurmId *ids, size_t count, bool hold, SlurmFault *fault) {
  return call_for("scontrol", hold ? "hold" : "release", ids, count, fault);
}

static int commands_requeue(void *way, SlurmId id, SlurmFault *fault) {
  char name[48];
  const char *const arguments[] = {"scontrol", "requeue", slurm_id_format(id, name), NULL};
  SlurmOutput output;
  TRY(call(arguments, NULL, &output, fault));
  slurm_output_free(&output);
  return CORE_OK;
}

const SlurmApi slurm_api_commands = {.name = "cli",
                                     .open = commands_open,
                                     .close = commands_close,
                                     .limits = commands_limits,
                                     .allowance = commands_allowance,
                                     .partitions = commands_partitions,
                                     .submit = commands_submit,
                                     .test = commands_test,
                                     .list = commands_list,
                                     .history = commands_history,
                                     .cancel = commands_cancel,
                                     .hold = commands_hold,
                                     .requeue = commands_requeue};
