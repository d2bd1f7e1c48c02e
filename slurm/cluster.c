/* Chooses the backend, keeps the last fault and the limits, and parses states and array expressions. */
#include "slurm/cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text.h"

struct SlurmCluster {
  const SlurmApi *api;
  void *backend;
  SlurmFault fault;
  bool has_limits;
  SlurmLimits limits;
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *const state_names[SLURM_STATES] = {
  [SLURM_PENDING] = "PENDING",       [SLURM_CONFIGURING] = "CONFIGURING", [SLURM_RUNNING] = "RUNNING",
  [SLURM_COMPLETING] = "COMPLETING", [SLURM_SUSPENDED] = "SUSPENDED",     [SLURM_REQUEUED] = "REQUEUED",
  [SLURM_COMPLETED] = "COMPLETED",   [SLURM_CANCELLED] = "CANCELLED",     [SLURM_FAILED] = "FAILED",
  [SLURM_TIMEOUT] = "TIMEOUT",       [SLURM_NODE_FAIL] = "NODE_FAIL",     [SLURM_PREEMPTED] = "PREEMPTED",
  [SLURM_BOOT_FAIL] = "BOOT_FAIL",   [SLURM_DEADLINE] = "DEADLINE",       [SLURM_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
  [SLURM_UNKNOWN_STATE] = "UNKNOWN"};

const char *slurm_state_name(SlurmState state) {
  CORE_CHECK((unsigned)state < SLURM_STATES);
  return state_names[state];
}

SlurmState slurm_state_from_name(const char *name) {
  static const struct { const char *name; SlurmState state; } others[] = {
    {"REQUEUE_HOLD", SLURM_PENDING}, {"REQUEUE_FED", SLURM_PENDING}, {"SPECIAL_EXIT", SLURM_PENDING},
    {"RESV_DEL_HOLD", SLURM_PENDING}, {"STOPPED", SLURM_SUSPENDED}, {"SIGNALING", SLURM_RUNNING},
    {"STAGE_OUT", SLURM_COMPLETING}, {"RESIZING", SLURM_RUNNING}, {"REVOKED", SLURM_CANCELLED}};
  const size_t length = strcspn(name, " +,");
  for (int i = 0; i < SLURM_STATES; i++)
    if (strlen(state_names[i]) == length && strncmp(state_names[i], name, length) == 0) return (SlurmState)i;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strlen(others[i].name) == length && strncmp(others[i].name, name, length) == 0) return others[i].state;
  return SLURM_UNKNOWN_STATE;
}

bool slurm_state_is_over(SlurmState state) { return state >= SLURM_COMPLETED && state != SLURM_UNKNOWN_STATE; }

const char *slurm_id_format(SlurmId id, char *buffer) {
  if (id.task >= 0) snprintf(buffer, 48, "%lld_%lld", (long long)id.job, (long long)id.task);
  else snprintf(buffer, 48, "%lld", (long long)id.job);
  return buffer;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void add_row(SlurmTasks *tasks, const SlurmTask *pattern, int64_t first, int64_t last, int64_t step) {
  if (tasks->count == tasks->capacity) {
    tasks->capacity = tasks->capacity ? 2 * tasks->capacity : 64;
    tasks->rows = core_memory_resize(tasks->rows, tasks->capacity * sizeof *tasks->rows);
  }
  SlurmTask *row = &tasks->rows[tasks->count++];
  *row = *pattern;
  row->first = first;
  row->last = last;
  row->step = step;
}

/* Parses digits up to 10^9; *end points behind them. */
static bool read_index(const char *text, const char **end, int64_t *value) {
  *value = 0;
  for (*end = text; **end >= '0' && **end <= '9'; ++*end) {
    *value = 10 * *value + (**end - '0');
    if (*value > 1000000000) return false;
  }
  return *end > text;
}

bool slurm_tasks_add(SlurmTasks *tasks, const SlurmTask *pattern, const char *expression) {
  const char *c = expression;
  const bool bracket = *c == '[';
  const size_t before = tasks->count;

  if (strcmp(expression, "N/A") == 0 || !*expression) {
    add_row(tasks, pattern, -1, -1, 1);
    return true;
  }

  c += bracket;
  for (;;) {
    int64_t first, last, step = 1;
    bool good = read_index(c, &c, &first);
    last = first;
    if (good && *c == '-') good = read_index(c + 1, &c, &last);
    if (good && *c == ':') good = read_index(c + 1, &c, &step) && step > 0;
    if (!good || last < first) break;
    add_row(tasks, pattern, first, last, step);
    if (*c == ',') {
      c++;
      continue;
    }
    int64_t throttle;
    if (*c == '%' && !read_index(c + 1, &c, &throttle)) break;
    if (bracket && *c == ']') c++;
    if (!*c) return true;
    break;
  }

  tasks->count = before;
  return false;
}

void slurm_tasks_free(SlurmTasks *tasks) {
  free(tasks->rows);
  *tasks = (SlurmTasks){0};
}

bool slurm_selection_is_mine(const SlurmSelection *selection) {
  return selection->count == 0 && !selection->directory;
}

bool slurm_selection_has(const SlurmSelection *selection, const char *name, const char *directory) {
  if (slurm_selection_is_mine(selection)) return true;
  if (selection->directory && strcmp(directory, selection->directory) == 0) return true;
  for (size_t i = 0; i < selection->count; i++)
    if (strcmp(name, selection->names[i]) == 0) return true;
  return false;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Backends, in the order in which "auto" tries them. */
static const SlurmApi *const apis[] = {&slurm_api_commands, &slurm_api_rest};

int slurm_cluster_open(const char *api, SlurmCluster **result, SlurmFault *fault) {
  SlurmCluster *cluster = core_memory_zero_allocate(1, sizeof *cluster);
  int code = core_error(CORE_FAIL, "slurm.api = %.40s: this program was built without it", api);
  SlurmFault first = SLURM_ABSENT;
  char message[1024];
  bool tried = false;
  *result = NULL;

  for (size_t i = 0; i < sizeof apis / sizeof *apis && code != CORE_OK; i++) {
    if (strcmp(api, "auto") != 0 && strcmp(api, apis[i]->name) != 0) continue;
    cluster->api = apis[i];
    code = apis[i]->open(&cluster->backend, &cluster->fault);
    if (code == CORE_OK || tried) continue;
    tried = true; /* report the first failure: that of the commands, which most sites have */
    first = cluster->fault;
    snprintf(message, sizeof message, "%s", core_error_message());
  }

  if (fault) *fault = code == CORE_OK ? SLURM_FINE : first;
  if (code == CORE_OK) {
    *result = cluster;
    return CORE_OK;
  }
  if (tried) core_error(code, "%s", message);
  free(cluster);
  return code;
}

void slurm_cluster_close(SlurmCluster **cluster) {
  if (!*cluster) return;
  (*cluster)->api->close((*cluster)->backend);
  free(*cluster);
  *cluster = NULL;
}

const char *slurm_cluster_api(const SlurmCluster *cluster) { return cluster->api->name; }
SlurmFault slurm_fault(const SlurmCluster *cluster) { return cluster->fault; }

/* ---- calls ------------------------------------------------------------------------------------------------------- */

#define CALL(what, function, ...)                                                                               \
  do {                                                                                                          \
    cluster->fault = SLURM_REFUSED;                                                                             \
    if (!cluster->api->function)                                                                                \
      return core_error(CORE_FAIL, "%s is not supported with slurm.api = %s", what, cluster->api->name);         \
    cluster->fault = SLURM_FINE;                                                                                \
    return cluster->api->function(cluster->backend, __VA_ARGS__, &cluster->fault);                                  \
  } while (0)

static int query_limits(SlurmCluster *cluster) { CALL("querying limits", limits, &cluster->limits); }

int slurm_limits(SlurmCluster *cluster, const SlurmLimits **limits) {
  if (!cluster->has_limits) TRY(query_limits(cluster));
  cluster->has_limits = true;
  *limits = &cluster->limits;
  return CORE_OK;
}

int slurm_allowance(SlurmCluster *cluster, const char *account, const char *qos, SlurmAllowance *allowance) {
  const SlurmLimits *limits;
  *allowance = (SlurmAllowance){.submit_room = -1,
                                .cpu_minutes = INFINITY,
                                .gpu_minutes = INFINITY,
                                .task_cpu_minutes = INFINITY,
                                .task_minutes = INFINITY};
  TRY(slurm_limits(cluster, &limits));
  if (!limits->accounting || !cluster->api->allowance) return CORE_OK;
  CALL("querying an account's limits", allowance, account, qos, allowance);
}

int slurm_partitions(SlurmCluster *cluster, SlurmPartition **partitions, size_t *count) {
  *partitions = NULL;
  *count = 0;
  CALL("listing partitions", partitions, partitions, count);
}

int slurm_submit(SlurmCluster *cluster, const SlurmJob *job, int64_t *id) {
  CORE_CHECK(job->tasks > 0 && job->settings && job->script);
  CALL("submitting", submit, job, id);
}

int slurm_test(SlurmCluster *cluster, const SlurmJob *job, SlurmForecast *forecast) {
  CALL("a test submission", test, job, forecast);
}

int slurm_list(SlurmCluster *cluster, const SlurmSelection *selection, SlurmTasks *tasks) {
  CALL("listing jobs", list, selection, tasks);
}

int slurm_history(SlurmCluster *cluster, const int64_t *jobs, size_t count, const char *directory,
                  int64_t since_unix_s, SlurmTasks *tasks) {
  if (count == 0) return CORE_OK;
  CALL("querying the accounting database", history, jobs, count, directory, since_unix_s, tasks);
}

int slurm_cancel(SlurmCluster *cluster, const SlurmId *ids, size_t count) {
  if (count == 0) return CORE_OK;
  CALL("cancelling", cancel, ids, count);
}

int slurm_hold(SlurmCluster *cluster, const SlurmId *ids, size_t count, bool hold) {
  if (count == 0) return CORE_OK;
  CALL("holding", hold, ids, count, hold);
}

int slurm_requeue(SlurmCluster *cluster, SlurmId id) { CALL("requeueing", requeue, id); }
