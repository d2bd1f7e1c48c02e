/* Backend that runs Slurm's commands. Answers are parsed strictly: one invalid line makes the whole answer
 * SLURM_GARBLED, since a job that is overlooked would be submitted twice. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "slurm/command_internal.h"

enum { EXPRESSION_MAX = 2000 };

/* ---- calling ----------------------------------------------------------------------------------------------------- */

/* Copies the last nonempty line without the prefixes "sbatch: error: " and "fatal: ". */
static void error_summary(const CoreText *text, char *message, size_t size) {
  static const char *const prefixes[] = {
    "error: ", "fatal: ", "sbatch: ", "squeue: ", "scontrol: ", "scancel: ", "sacct: ", "sinfo: "};
  char *copy = core_text_duplicate(core_text_string(text)), *save = NULL, limit[128] = "";
  message[0] = '\0';

  for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
      if (strncmp(line, prefixes[i], strlen(prefixes[i])) != 0) continue;
      line += strlen(prefixes[i]);
      i = (size_t)-1; /* restart: prefixes nest */
    }
    /* "AssocMaxSubmitJobLimit" precedes "Job violates accounting/QOS policy": report both. */
    const size_t length = strlen(line);
    const bool names_limit = length > 5 && strcmp(line + length - 5, "Limit") == 0 && !strchr(line, ' ');
    if (names_limit) snprintf(limit, sizeof limit, " (%.100s)", line);
    else if (*line) snprintf(message, size, "%s", line);
  }

  snprintf(message + strlen(message), size - strlen(message), "%s", limit);
  free(copy);
}

/* Classifies a failed command by its error text. Only failures that certainly precede the request to slurmctld count as
 * unreachable. */
static SlurmFault classify(const CoreProcessOutput *output) {
  static const struct {
    const char *message;
    SlurmFault fault;
  } known[] = {{"establish a configuration source", SLURM_ABSENT},
               {"Unable to process configuration file", SLURM_ABSENT},
               {"Unable to contact slurm controller", SLURM_UNREACHABLE},
               {"Munge encode failed", SLURM_UNREACHABLE},
               {"timed out", SLURM_TIMED_OUT},
               {"Zero Bytes were transmitted", SLURM_TIMED_OUT},
               {"Connection reset", SLURM_TIMED_OUT},
               {"Protocol authentication error", SLURM_TIMED_OUT},
               {"Unexpected message", SLURM_TIMED_OUT},
               {"Invalid job id specified", SLURM_NOT_THERE},
               {"already finished", SLURM_NOT_THERE},
               {"already completing or completed", SLURM_NOT_THERE}};

  if (output->timed_out) return SLURM_TIMED_OUT;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcasestr(core_text_string(&output->error), known[i].message)) return known[i].fault;
  /* 129 to 192: ended by a signal. Larger codes are Slurm's errors truncated to a byte: scancel's permission error is
   * 210. */
  return output->exit_code > 128 && output->exit_code <= 128 + 64 ? SLURM_TIMED_OUT : SLURM_REFUSED;
}

static int report_failure(const char *program, const CoreProcessOutput *output, SlurmFault *fault) {
  char message[512];
  *fault = classify(output);
  error_summary(&output->error, message, sizeof message);
  switch (*fault) {
    case SLURM_ABSENT: return core_error(CORE_FAIL, "%s: no cluster configuration found: %s", program, message);
    case SLURM_UNREACHABLE:
      return core_error(CORE_FAIL, "cannot reach Slurm: %s; scontrol ping shows when it is back", message);
    case SLURM_TIMED_OUT:
      return core_error(CORE_FAIL, "%s got no answer from Slurm in time%s%s", program, *message ? ": " : "", message);
    default: return core_error(CORE_FAIL, "%s: %s", program, *message ? message : "failed without a message");
  }
}

int command_run(const char *const *arguments, const char *input, CoreProcessOutput *output, SlurmFault *fault) {
  *fault = SLURM_ABSENT;
  TRY(slurm_process_run(arguments, input, SLURM_CALL_S, output));
  *fault = SLURM_FINE;
  if (output->exit_code == 0 && !output->timed_out) return CORE_OK;
  const int code = report_failure(arguments[0], output, fault);
  core_process_output_free(output);
  return code;
}

bool command_is_answer(const char *line) { return strchr(line, '|') != NULL; }

bool command_read_id(const char *text, int64_t *id) {
  char digits[24];
  const size_t length = strspn(text, "0123456789");
  if (length == 0 || length >= sizeof digits || (text[length] && !strchr(";\r\n", text[length]))) return false;
  memcpy(digits, text, length);
  digits[length] = '\0';
  return core_text_to_int(digits, id) && *id > 0;
}

/* Finds the job id in the output of sbatch --parsable: the last line of that form, after anything that a site's wrapper
 * prints. */
static bool find_id(const char *text, int64_t *id) {
  bool found = false;
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const size_t digits = strspn(line, "0123456789"), length = strcspn(line, "\r\n");
    const bool name = line[digits] == ';' && strcspn(line + digits, " \t\r\n") == length - digits;
    if (digits > 0 && (digits == length || name)) found = command_read_id(line, id) || found;
    if (!*line) break;
  }
  return found;
}

int command_garbled(const char *program, const char *answer, SlurmFault *fault) {
  *fault = SLURM_GARBLED;
  return core_error(CORE_FAIL, "%s gave an unexpected answer: %.120s", program, answer);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int commands_open(void **backend, SlurmFault *fault) {
  static const char *const needed[] = {"sbatch", "squeue", "scontrol", "scancel"};
  static char none;
  *backend = &none;
  *fault = SLURM_ABSENT;

  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!core_process_exists(needed[i]))
      return core_error(CORE_FAIL, "there is no Slurm here: %s is not in PATH", needed[i]);
  const int choice = slurm_check_clusters();
  if (choice != CORE_OK) *fault = SLURM_REFUSED;
  TRY(choice);

  const char *conf = getenv("SLURM_CONF"); /* the commands would wait a minute for a missing file */
  if (conf && *conf && access(conf, R_OK) != 0)
    return core_error(CORE_FAIL, "there is no Slurm here: cannot read SLURM_CONF = %s", conf);

  /* A missing configuration means that this is not a login node; a cluster that is down is another fault. */
  static const char *const ping[] = {"scontrol", "ping", NULL};
  CoreProcessOutput output;
  TRY(slurm_process_run(ping, NULL, SLURM_CALL_S, &output));
  const bool absent = output.exit_code != 0 && classify(&output) == SLURM_ABSENT;
  const int code = absent ? report_failure("scontrol", &output, fault) : CORE_OK;
  core_process_output_free(&output);

  if (!absent) *fault = SLURM_FINE;
  return code;
}

static void commands_close(void *backend) { (void)backend; }

/* ---- limits and partitions --------------------------------------------------------------------------------------- */

static int commands_allowance(void *backend, const char *account, const char *qos, SlurmAllowance *allowance,
                              SlurmFault *fault) {
  *fault = SLURM_ABSENT;
  TRY(slurm_allowance_query(account, qos, allowance));
  *fault = SLURM_FINE;
  return CORE_OK;
}

static int commands_limits(void *backend, SlurmLimits *limits, SlurmFault *fault) {
  static const char *const arguments[] = {"scontrol", "show", "config", NULL};
  CoreProcessOutput output;
  int code = CORE_OK;
  TRY(command_run(arguments, NULL, &output, fault));
  const char *text = core_text_string(&output.out);
  if (!slurm_limits_parse(text, limits)) code = command_garbled("scontrol show config", text, fault);
  else if (limits->array_tasks_max < 2)
    code = core_error(CORE_FAIL, "this cluster does not allow job arrays (MaxArraySize = %lld); ask its administrators",
                      (long long)limits->array_tasks_max);
  core_process_output_free(&output);
  return code;
}

size_t command_split(char *line, char **fields, size_t wanted) {
  size_t count = 0;
  while (line && count + 1 < wanted) fields[count++] = strsep(&line, "|");
  if (line) fields[count++] = line;
  return count;
}

static int64_t number_or(const char *text, int64_t otherwise) {
  char digits[24];
  int64_t number;
  snprintf(digits, sizeof digits, "%.*s", (int)strspn(text, "0123456789"), text); /* "4000+" means at least 4000 */
  return core_text_to_int(digits, &number) ? number : otherwise;
}

/* Counts the GPUs of a GRES text: 6 for "gpu:a100:4(S:0-1),gpu:2". */
static int64_t count_gpus(const char *gres) {
  int64_t gpus = 0;
  for (const char *match = gres; (match = strstr(match, "gpu:")); match += 4) {
    const char *number = match + 4, *end = match + strcspn(match, ",(");
    for (const char *c = match; c < end; c++)
      if (*c == ':') number = c + 1;
    gpus += number_or(number, 0);
  }
  return gpus;
}

/* Adds one line of sinfo, which describes one kind of node of a partition, to the partition of that name. */
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
    partition->is_open = partition->up || strcmp(field[1], "down") == 0;
    snprintf(partition->name, sizeof partition->name, "%s", field[0]);
    const int64_t limit = slurm_time_parse(field[2]);
    partition->time_max_s = limit > 0 ? limit : 0;
  }

  const int64_t nodes = number_or(field[3], 0), cpus = number_or(field[5], 0), memory = number_or(field[6], 0),
                gpus = count_gpus(field[7]);
  partition->nodes += nodes;
  static const char *const working[] = {"idle", "mix", "alloc", "comp", "plan", "plnd", "resv", "reserved"};
  for (size_t i = 0; i < sizeof working / sizeof *working; i++)
    if (strncmp(field[4], working[i], strlen(working[i])) == 0) partition->nodes_up += nodes;

  if (cpus > partition->cpus_max) partition->cpus_max = cpus;
  if (memory > partition->memory_max_mb) partition->memory_max_mb = memory;
  if (gpus > partition->gpus_max) partition->gpus_max = gpus;
}

static int commands_partitions(void *backend, SlurmPartition **partitions, size_t *count, SlurmFault *fault) {
  static const char *const arguments[] = {"sinfo", "-h", "-a", "-e", "-o", "%P|%a|%l|%D|%T|%c|%m|%G", NULL};
  CoreProcessOutput output;
  char *field[COMMAND_FIELDS_MAX], *save = NULL;
  int code = CORE_OK;
  TRY(command_run(arguments, NULL, &output, fault));

  char *line = output.out.data ? strtok_r(output.out.data, "\n", &save) : NULL;
  for (; line; line = strtok_r(NULL, "\n", &save)) {
    if (!command_is_answer(line)) continue;
    if (command_split(line, field, 8) == 8) add_nodes(partitions, count, field);
    else code = command_garbled("sinfo", line, fault);
    if (code != CORE_OK) break;
  }

  core_process_output_free(&output);
  return code;
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

static int commands_submit(void *backend, const SlurmJob *job, int64_t *id, SlurmFault *fault) {
  static const char *const arguments[] = {"sbatch", "--parsable", NULL};
  CoreProcessOutput output;
  TRY(command_run(arguments, job->script, &output, fault));
  const char *answer = core_text_string(&output.out);
  const int code = find_id(answer, id) ? CORE_OK : command_garbled("sbatch", answer, fault);
  core_process_output_free(&output);
  return code;
}

static int commands_test(void *backend, const SlurmJob *job, SlurmForecast *forecast, SlurmFault *fault) {
  static const char *const arguments[] = {"sbatch", "--test-only", NULL};
  CoreProcessOutput output;
  char start[64];
  long long cpus;
  TRY(command_run(arguments, job->script, &output, fault));
  *forecast = (SlurmForecast){0};

  const char *answer = strstr(core_text_string(&output.error), "to start at ");
  /* "to start at 1700000000 using 4 processors ..."; Slurm 26.05 prints "1700000000 a using". */
  const char *tail = answer ? strstr(answer, " using ") : NULL;
  const bool good = tail && sscanf(answer, "to start at %63s", start) == 1 &&
                    sscanf(tail, " using %lld processors on nodes %127s in partition %127s", &cpus, forecast->nodes,
                           forecast->partition) == 3;
  int64_t at;

  if (good) {
    forecast->cpus = cpus;
    forecast->start_unix_s = core_text_to_int(start, &at) ? at : 0;
  }

  const int code = good ? CORE_OK : command_garbled("sbatch --test-only", core_text_string(&output.error), fault);
  core_process_output_free(&output);
  return code;
}

/* ---- control ----------------------------------------------------------------------------------------------------- */

/* Formats the leading ids that fit one argument, "12_[3,5-9]": one request to slurmctld. Returns their number. */
static size_t format_ids(const SlurmId *ids, size_t count, CoreText *name) {
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

/* Runs a command for all ids. Tasks that have ended are not an error. */
static int control_tasks(const char *program, const char *verb, const SlurmId *ids, size_t count, SlurmFault *fault) {
  CoreText name = {0};
  int code = CORE_OK;
  for (size_t done = 0; done < count;) {
    if (code != CORE_OK) break;
    CoreProcessOutput output;
    done += format_ids(ids + done, count - done, &name);
    const char *const arguments[] = {program, verb ? verb : core_text_string(&name),
                                     verb ? core_text_string(&name) : NULL, NULL};
    code = command_run(arguments, NULL, &output, fault);
    if (code == CORE_OK) core_process_output_free(&output);
    if (code != CORE_OK && *fault == SLURM_NOT_THERE) {
      *fault = SLURM_FINE;
      code = CORE_OK;
    }
  }

  core_text_free(&name);
  return code;
}

static int commands_cancel(void *backend, const SlurmId *ids, size_t count, SlurmFault *fault) {
  return control_tasks("scancel", NULL, ids, count, fault);
}

static int commands_hold(void *backend, const SlurmId *ids, size_t count, bool hold, SlurmFault *fault) {
  return control_tasks("scontrol", hold ? "hold" : "release", ids, count, fault);
}

static int commands_requeue(void *backend, SlurmId id, SlurmFault *fault) {
  char name[48];
  const char *const arguments[] = {"scontrol", "requeue", slurm_id_format(id, name), NULL};
  CoreProcessOutput output;
  TRY(command_run(arguments, NULL, &output, fault));
  core_process_output_free(&output);
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
                                     .list = command_list,
                                     .history = command_history,
                                     .cancel = commands_cancel,
                                     .hold = commands_hold,
                                     .requeue = commands_requeue};
