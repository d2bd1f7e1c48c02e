/* Limits of associations and of a quality of service. What is not understood counts as no limit: Slurm refuses what
 * goes beyond. */
#include "slurm/allowance_internal.h"

#include <math.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "slurm/process_internal.h"

enum { ROOM_UNKNOWN = -1 };

/* "5(2)" to a limit and what is used; false: "", "N(2)", or anything else. */
static bool read_pair(const char *text, double *limit, double *used) {
  char *end;
  *limit = strtod(text, &end);
  if (end == text || *end != '(') return false;
  *used = strtod(end + 1, &end);
  return *end == ')';
}

/* The value behind "key=" in a record, where the key begins a word; NULL when it is not there. */
static const char *value_of(const char *record, const char *key) {
  const size_t length = strlen(key);
  for (const char *at = record; (at = strstr(at, key)); at += length)
    if (at[length] == '=' && (at == record || at[-1] == ' ' || at[-1] == '\n')) return at + length + 1;
  return NULL;
}

static bool value_is(const char *record, const char *key, const char *expected) {
  const char *value = value_of(record, key);
  const size_t length = strlen(expected);
  return value && strncmp(value, expected, length) == 0 && strchr(" \n(", value[length]) != NULL;
}

static void narrow(double *limit, double to) {
  if (to < *limit) *limit = to;
}

static void narrow_jobs(SlurmAllowance *allowance, const char *record, const char *key) {
  double limit, used;
  const char *value = value_of(record, key);
  if (!value || !read_pair(value, &limit, &used)) return;
  const int64_t room = limit > used ? (int64_t)(limit - used) : 0;
  if (allowance->submit_room != ROOM_UNKNOWN && room >= allowance->submit_room) return;
  allowance->submit_room = room;
  allowance->submit_max = (int64_t)limit;
}

/* One resource of a list "cpu=60(12),mem=N(0),gres/gpu=..." whose unit is minutes: what is left of it. */
static void narrow_minutes(double *left, const char *list, const char *resource) {
  char line[1024];
  double limit, used;
  if (!list) return;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(list, " \n"), list);
  char *save = NULL;
  for (char *item = strtok_r(line, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
    const size_t length = strlen(resource);
    if (strncmp(item, resource, length) != 0 || item[length] != '=') continue;
    if (read_pair(item + length + 1, &limit, &used)) narrow(left, fmax(0, limit - used));
    else if ((limit = strtod(item + length + 1, NULL)) > 0 && !strchr(item, '(')) narrow(left, limit);
  }
}

static void take_in(SlurmAllowance *allowance, const char *record) {
  const char *wall = value_of(record, "MaxWallPJ");
  narrow_jobs(allowance, record, "MaxSubmitJobs");
  narrow_jobs(allowance, record, "GrpSubmitJobs");
  narrow_jobs(allowance, record, "MaxSubmitJobsPU");
  narrow_minutes(&allowance->cpu_minutes, value_of(record, "GrpTRESMins"), "cpu");
  narrow_minutes(&allowance->gpu_minutes, value_of(record, "GrpTRESMins"), "gres/gpu");
  narrow_minutes(&allowance->task_cpu_minutes, value_of(record, "MaxTRESMinsPJ"), "cpu");
  if (wall && strtod(wall, NULL) > 0) narrow(&allowance->task_minutes, strtod(wall, NULL));
}

/* The text's records one after the other: each begins with a line that is not indented. */
static const char *next_record(const char *at, char *record, size_t size) {
  while (*at == '\n') at++;
  const char *end = at;
  while (*end && !(end[0] == '\n' && end[1] != ' ')) end++;
  snprintf(record, size, "%.*s", (int)(end - at), at);
  return end;
}

void slurm_allowance_parse(const char *text, const char *user, SlurmAllowance *allowance) {
  char record[8192];
  for (const char *at = text; *at;) {
    at = next_record(at, record, sizeof record);
    const char *account = value_of(record, "Account");
    const bool is_qos = strncmp(record, "QOS=", 4) == 0, is_mine = value_is(record, "UserName", user),
               is_all = value_is(record, "UserName", "");
    if (is_qos) take_in(allowance, record);
    if (is_qos || !account || (!is_mine && !is_all)) continue;
    if (!*allowance->account && is_mine && value_is(record, "DefAssoc", "Yes"))
      snprintf(allowance->account, sizeof allowance->account, "%.*s", (int)strcspn(account, " \n"), account);
    if (*allowance->account && value_is(record, "Account", allowance->account)) take_in(allowance, record);
  }
}

static int show(const char *filter, const char *flags, const char *user, SlurmAllowance *allowance) {
  const char *const arguments[] = {"scontrol", "show", "assoc_mgr", filter, flags, NULL};
  SlurmOutput output;
  TRY(slurm_process_run(arguments, NULL, SLURM_CALL_S, &output));
  if (output.exit_code == 0) slurm_allowance_parse(core_text_string(&output.out), user, allowance);
  slurm_output_free(&output);
  return CORE_OK;
}

/* A limit a user that nobody has used yet is not shown by scontrol: the database has it. */
static int ask_qos_submit_max(const char *qos, SlurmAllowance *allowance) {
  char name[SLURM_TEXT + 8];
  int64_t most;
  SlurmOutput output;
  snprintf(name, sizeof name, "name=%s", qos);
  const char *const arguments[] = {"sacctmgr", "-nP", "show", "qos", "where", name, "format=MaxSubmitJobsPU", NULL};
  if (!slurm_process_exists("sacctmgr")) return CORE_OK;
  TRY(slurm_process_run(arguments, NULL, SLURM_CALL_S, &output));
  char *text = output.out.data;
  if (text) text[strcspn(text, "\n")] = '\0';
  if (output.exit_code == 0 && text && core_text_to_int(text, &most) && most > 0 &&
      (allowance->submit_room == ROOM_UNKNOWN || most < allowance->submit_max)) {
    if (allowance->submit_room == ROOM_UNKNOWN || most < allowance->submit_room) allowance->submit_room = most;
    allowance->submit_max = most;
  }
  slurm_output_free(&output);
  return CORE_OK;
}

int slurm_allowance_ask(const char *account, const char *qos, SlurmAllowance *allowance) {
  char filter[SLURM_TEXT + 16];
  const struct passwd *who = getpwuid(getuid());
  *allowance = (SlurmAllowance){.submit_room = ROOM_UNKNOWN,
                                .cpu_minutes = INFINITY,
                                .gpu_minutes = INFINITY,
                                .task_cpu_minutes = INFINITY,
                                .task_minutes = INFINITY};
  if (!who || core_text_check_name(who->pw_name, "user") != CORE_OK) {
    core_error_clear();
    return CORE_OK;
  }
  snprintf(allowance->account, sizeof allowance->account, "%s", account);
  if (!*allowance->account) { /* finds the default account, by the way its own limits for this user */
    snprintf(filter, sizeof filter, "users=%s", who->pw_name);
    TRY(show(filter, "flags=assoc", who->pw_name, allowance));
  }
  if (*allowance->account) {
    snprintf(filter, sizeof filter, "accounts=%s", allowance->account);
    TRY(show(filter, "flags=assoc", who->pw_name, allowance));
  }
  if (!*qos) return CORE_OK;
  snprintf(filter, sizeof filter, "qos=%s", qos);
  TRY(show(filter, "flags=qos", who->pw_name, allowance));
  return ask_qos_submit_max(qos, allowance);
}
