/* Parses limits from "Key = value" lines. Defaults are those of slurm.conf(5). */
#include "slurm/command_internal.h"

#include <string.h>
#include <strings.h>

/* Copies the value of "Key   = value" up to the end of the line; "": absent. */
static void config_value(const char *text, const char *key, char *value, size_t size) {
  const size_t length = strlen(key);
  value[0] = '\0';
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
    if (strncasecmp(line, key, length) != 0 || (line[length] != ' ' && line[length] != '=')) continue;
    const char *start = line + length + strspn(line + length, " =");
    snprintf(value, size, "%.*s", (int)strcspn(start, "\n"), start);
    return;
  }
}

static int64_t config_number(const char *text, const char *key, int64_t otherwise) {
  char value[256];
  int64_t number;
  config_value(text, key, value, sizeof value);
  value[strspn(value, "0123456789")] = '\0'; /* "10 sec" */
  return core_text_to_int(value, &number) ? number : otherwise;
}

/* Returns the number after "name=" in a comma-separated list such as SchedulerParameters. */
static int64_t listed_number(const char *list, const char *name, int64_t otherwise) {
  char digits[24];
  int64_t number;
  const char *match = strstr(list, name);
  if (!match || (match > list && match[-1] != ',') || match[strlen(name)] != '=') return otherwise;
  match += strlen(name) + 1;
  snprintf(digits, sizeof digits, "%.*s", (int)strspn(match, "0123456789"), match);
  return core_text_to_int(digits, &number) ? number : otherwise;
}

bool slurm_limits_parse(const char *text, SlurmLimits *limits) {
  char value[1024];
  *limits = (SlurmLimits){0};
  config_value(text, "SLURM_VERSION", limits->version, sizeof limits->version);
  config_value(text, "ClusterName", limits->cluster, sizeof limits->cluster);
  config_value(text, "MpiDefault", limits->mpi_default, sizeof limits->mpi_default);
  config_value(text, "PreemptMode", limits->preempt_mode, sizeof limits->preempt_mode);

  const int64_t array_size = config_number(text, "MaxArraySize", -1), array_default = 1001;
  limits->jobs_max = config_number(text, "MaxJobCount", 10000);
  limits->message_timeout_s = config_number(text, "MessageTimeout", 10);
  limits->min_job_age_s = config_number(text, "MinJobAge", 300);
  config_value(text, "SchedulerParameters", value, sizeof value);

  /* The tasks of an array: MaxArraySize, or max_array_tasks where that is smaller. */
  limits->array_tasks_max = array_size >= 0 ? array_size : array_default;
  const int64_t array_tasks = listed_number(value, "max_array_tasks", limits->array_tasks_max);
  if (array_tasks < limits->array_tasks_max) limits->array_tasks_max = array_tasks;

  config_value(text, "AccountingStorageType", value, sizeof value);
  limits->accounting = *value && !strstr(value, "none") && strcmp(value, "(null)") != 0;
  return *limits->version && array_size >= 0;
}
