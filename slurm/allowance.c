/* Limits of associations and of a QOS. Unparsable values count as no limit, since Slurm enforces its limits itself. */
#include "slurm/command_internal.h"

#include <math.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

enum { ROOM_UNKNOWN = -1 };

/* Parses "5(2)" as limit and use. Returns false for "", "N(2)" and any other text. */
static bool read_pair(const char *text, double *limit, double *used) {
  char *end;
  *limit = strtod(text, &end);
  if (end == text || *end != '(') return false;
  *used = strtod(end + 1, &end);
  return *end == ')';
}

/* Returns the value after "key=" in a record, where the key begins a word; NULL: absent. */
static const char *find_value(const char *record, const char *key) {
  const size_t length = strlen(key);
  for (const char *match = record; (match = strstr(match, key)); match += length)
    if (match[length] == '=' && (match == record || match[-1] == ' ' || match[-1] == '\n')) return match + length + 1;
  return NULL;
}

static bool value_is(const char *record, const char *key, const char *expected) {
  const char *value = find_value(record, key);
  const size_t length = strlen(expected);
  return value && strncmp(value, expected, length) == 0 && strchr(" \n(", value[length]) != NULL;
}

static void lower_to(double *limit, double to) {
  if (to < *limit) *limit = to;
}

static void lower_jobs(SlurmAllowance *allowance, const char *record, const char *key) {
  double limit, used;
  const char *value = find_value(record, key);
  if (!value || !read_pair(value, &limit, &used)) return;
  const int64_t room = limit > used ? (int64_t)(limit - used) : 0;
  if (allowance->submit_room != ROOM_UNKNOWN && room >= allowance->submit_room) return;
  allowance->submit_room = room;
  allowance->submit_max = (int64_t)limit;
}

/* Lowers *left to the remaining minutes of one resource in a list "cpu=60(12),mem=N(0),gres/gpu=...". */
static void lower_minutes(double *left, const char *list, const char *resource) {
  char line[1024];
  double limit, used;
  if (!list) return;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(list, " \n"), list);
  char *save = NULL;
  for (char *item = strtok_r(line, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
    const size_t length = strlen(resource);
    if (strncmp(item, resource, length) != 0 || item[length] != '=') continue;
    if (read_pair(item + length + 1, &limit, &used)) lower_to(left, fmax(0, limit - used));
    else if ((limit = strtod(item + length + 1, NULL)) > 0 && !strchr(item, '(')) lower_to(left, limit);
  }
}

static void apply_limits(SlurmAllowance *allowance, const char *record) {
  const char *wall = find_value(record, "MaxWallPJ");
  lower_jobs(allowance, record, "MaxSubmitJobs");
  lower_jobs(allowance, record, "GrpSubmitJobs");
  lower_jobs(allowance, record, "MaxSubmitJobsPU");
  lower_minutes(&allowance->cpu_minutes, find_value(record, "GrpTRESMins"), "cpu");
  lower_minutes(&allowance->gpu_minutes, find_value(record, "GrpTRESMins"), "gres/gpu");
  lower_minutes(&allowance->task_cpu_minutes, find_value(record, "MaxTRESMinsPJ"), "cpu");
  if (wall && strtod(wall, NULL) > 0) lower_to(&allowance->task_minutes, strtod(wall, NULL));
}

/* Copies the record at `cursor` (records begin with a line that is not indented) and returns the next one. */
static const char *next_record(const char *cursor, char *record, size_t size) {
  while (*cursor == '\n') cursor++;
  const char *end = cursor;
  while (*end && !(end[0] == '\n' && end[1] != ' ')) end++;
  snprintf(record, size, "%.*s", (int)(end - cursor), cursor);
  return end;
}

void slurm_allowance_parse(const char *text, const char *user, SlurmAllowance *allowance) {
  char record[8192];
  for (const char *cursor = text; *cursor;) {
    cursor = next_record(cursor, record, sizeof record);
    const char *account = find_value(record, "Account");
    const bool is_qos = strncmp(record, "QOS=", 4) == 0, is_mine = value_is(record, "UserName", user),
               is_all = value_is(record, "UserName", "");
    if (is_qos) apply_limits(allowance, record);
    if (is_qos || !account || (!is_mine && !is_all)) continue;
    if (!*allowance->account && is_mine && value_is(record, "DefAssoc", "Yes"))
      snprintf(allowance->account, sizeof allowance->account, "%.*s", (int)strcspn(account, " \n"), account);
    if (*allowance->account && value_is(record, "Account", allowance->account)) apply_limits(allowance, record);
  }
}

static int apply_assoc_mgr(const char *filter, const char *flags, const char *user, SlurmAllowance *allowance) {
  const char *const arguments[] = {"scontrol", "show", "assoc_mgr", filter, flags, NULL};
  CoreProcessOutput output;
  TRY(slurm_process_run(arguments, NULL, SLURM_CALL_S, &output));
  if (output.exit_code == 0) slurm_allowance_parse(core_text_string(&output.out), user, allowance);
  core_process_output_free(&output);
  return CORE_OK;
}

/* Queries the database for MaxSubmitJobsPerUser, which scontrol does not print for a QOS that the user has not used
 * yet. */
static int query_qos_submit_max(const char *qos, SlurmAllowance *allowance) {
  char name[SLURM_TEXT + 8];
  int64_t most;
  CoreProcessOutput output;
  snprintf(name, sizeof name, "name=%s", qos);
  const char *const arguments[] = {"sacctmgr", "-nP", "show", "qos", "where", name, "format=MaxSubmitJobsPU", NULL};

  if (!core_process_exists("sacctmgr")) return CORE_OK;
  TRY(slurm_process_run(arguments, NULL, SLURM_CALL_S, &output));
  char *text = output.out.data;
  if (text) text[strcspn(text, "\n")] = '\0';

  if (output.exit_code == 0 && text && core_text_to_int(text, &most) && most > 0 &&
      (allowance->submit_room == ROOM_UNKNOWN || most < allowance->submit_max)) {
    if (allowance->submit_room == ROOM_UNKNOWN || most < allowance->submit_room) allowance->submit_room = most;
    allowance->submit_max = most;
  }

  core_process_output_free(&output);
  return CORE_OK;
}

int slurm_allowance_query(const char *account, const char *qos, SlurmAllowance *allowance) {
  char filter[SLURM_TEXT + 16];
  const struct passwd *user = getpwuid(getuid());
  *allowance = (SlurmAllowance){.submit_room = ROOM_UNKNOWN,
                                .cpu_minutes = INFINITY,
                                .gpu_minutes = INFINITY,
                                .task_cpu_minutes = INFINITY,
                                .task_minutes = INFINITY};

  if (!user || core_text_check_name(user->pw_name, "user") != CORE_OK) {
    core_error_clear();
    return CORE_OK;
  }

  snprintf(allowance->account, sizeof allowance->account, "%s", account);
  if (!*allowance->account) { /* sets the default account and its limits for this user */
    snprintf(filter, sizeof filter, "users=%s", user->pw_name);
    TRY(apply_assoc_mgr(filter, "flags=assoc", user->pw_name, allowance));
  }
  if (*allowance->account) {
    snprintf(filter, sizeof filter, "accounts=%s", allowance->account);
    TRY(apply_assoc_mgr(filter, "flags=assoc", user->pw_name, allowance));
  }

  if (!*qos) return CORE_OK;
  snprintf(filter, sizeof filter, "qos=%s", qos);
  TRY(apply_assoc_mgr(filter, "flags=qos", user->pw_name, allowance));
  return query_qos_submit_max(qos, allowance);
}
