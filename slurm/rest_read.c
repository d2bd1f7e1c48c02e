/* Converts slurmrestd's answers to typed rows. Every value is checked for type and range. An invalid value makes the
 * whole answer SLURM_GARBLED if a job could be overlooked; otherwise it is ignored. */
#include <math.h>
#include <string.h>

#include "slurm/rest_internal.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Copies a text for the terminal, with '?' for everything that is not printable ASCII. */
static void copy_printable(const char *text, char *message, size_t size) {
  size_t length = 0;
  for (; *text && length + 1 < size; text++) message[length++] = *text >= ' ' && *text <= '~' ? *text : '?';
  message[length] = '\0';
}

bool rest_read_number(const json_t *value, int64_t *number) {
  const json_t *set = json_object_get(value, "set"), *infinite = json_object_get(value, "infinite");
  if (json_is_object(value)) {
    if (json_is_false(set) || json_is_true(infinite)) return false;
    value = json_object_get(value, "number");
  }
  if (json_is_integer(value)) *number = json_integer_value(value);
  else if (json_is_real(value) && fabs(json_real_value(value)) < 9e15) *number = (int64_t)json_real_value(value);
  else return json_is_string(value) && core_text_to_int(json_string_value(value), number);
  return true;
}

static int64_t number_or(const json_t *object, const char *key, int64_t otherwise) {
  int64_t number;
  return rest_read_number(json_object_get(object, key), &number) ? number : otherwise;
}

static void copy_text(const json_t *object, const char *key, char *text, size_t size) {
  const char *value = json_string_value(json_object_get(object, key));
  copy_printable(value ? value : "", text, size);
}
#define TEXT(object, key, field) copy_text(object, key, field, sizeof field)

/* Whether `word` is the string or one of the array of strings, ignoring case ("idle", "IDLE"). */
static bool contains_word(const json_t *value, const char *word) {
  size_t i;
  json_t *item;
  if (json_is_string(value)) return strcasecmp(json_string_value(value), word) == 0;
  json_array_foreach(value, i, item)
    if (json_is_string(item) && strcasecmp(json_string_value(item), word) == 0) return true;
  return false;
}

static const char *first_word(const json_t *value) {
  const char *word = json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
  return word ? word : "";
}

/* ---- the document, the release, errors --------------------------------------------------------------------------- */

int rest_read_version(const json_t *document) {
  const char *path;
  json_t *value;
  int best = 0;
  json_object_foreach(json_object_get(document, "paths"), path, value) {
    int version, length = 0;
    if (sscanf(path, "/slurm/v0.0.%4d/job/submit%n", &version, &length) != 1 || length == 0) continue;
    if (version >= REST_VERSION_MIN && version <= REST_VERSION_MAX && version > best) best = version;
  }
  return best;
}

void rest_read_release(const json_t *answer, char *release, size_t size) {
  const json_t *meta = json_object_get(answer, "meta"), *slurm = json_object_get(meta, "slurm");
  copy_text(slurm ? slurm : json_object_get(meta, "Slurm"), "release", release, size);
}

/* Reads the errors of a cancellation by job. An error other than "already gone" takes precedence. */
static bool read_failed_status(const json_t *answer, int64_t *number, char *message, size_t size) {
  size_t i;
  json_t *status;
  int64_t found = 0;

  json_array_foreach(json_object_get(answer, "status"), i, status) {
    const json_t *error = json_object_get(status, "error");
    const int64_t code = number_or(error, "code", 0);
    const bool is_gone = code == REST_ERROR_JOB_ID || code == REST_ERROR_ALREADY_DONE;
    if (code == 0 || (found && is_gone)) continue;
    found = code;
    copy_text(error, "message", message, size);
    if (!*message) copy_text(error, "string", message, size);
    if (!is_gone) break;
  }

  if (found) *number = found;
  return found != 0;
}

bool rest_read_error(const json_t *answer, int64_t *number, char *message, size_t size) {
  size_t i;
  json_t *error;
  const json_t *unnumbered = NULL;

  json_array_foreach(json_object_get(answer, "errors"), i, error) {
    *number = number_or(error, "error_number", number_or(error, "error_code", 0));
    if (*number == 0 && !unnumbered && json_is_string(json_object_get(error, "error"))) unnumbered = error;
    if (*number != 0) break;
    error = NULL;
  }

  /* Without a number, the first error that has a text counts. */
  if (i == json_array_size(json_object_get(answer, "errors"))) error = NULL;
  if (!error) error = (json_t *)unnumbered;
  if (!error) return read_failed_status(answer, number, message, size);

  const char *description = json_string_value(json_object_get(error, "description")),
             *name = json_string_value(json_object_get(error, "error"));
  char both[1024];
  if (!name && !description) name = "an error without a message";
  snprintf(both, sizeof both, "%s%s%s", name ? name : "", name && description ? ": " : "",
           description ? description : "");
  copy_printable(both, message, size);
  return true;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Parses "RUNNING" or ["RUNNING", "COMPLETING"]; like squeue, flags take precedence over the base state. */
static SlurmState parse_state(const json_t *value) {
  if (contains_word(value, "COMPLETING")) return SLURM_COMPLETING;
  if (contains_word(value, "CONFIGURING")) return SLURM_CONFIGURING;
  static const char *const requeued[] = {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"};
  for (size_t i = 0; i < sizeof requeued / sizeof *requeued; i++)
    if (contains_word(value, requeued[i])) return SLURM_PENDING;
  return slurm_state_from_name(first_word(value));
}

/* Parses a wait status (v0.0.36 to 38), or an object with return_code and signal. */
static void parse_exit_status(const json_t *value, SlurmTask *task) {
  int64_t number;
  const json_t *signal = json_object_get(value, "signal");
  if (json_is_object(value) && json_object_get(value, "return_code")) {
    if (rest_read_number(json_object_get(value, "return_code"), &number) && number >= 0 && number < 256)
      task->exit_code = (int)number;
    const json_t *id = json_object_get(signal, "id");
    if (rest_read_number(id ? id : json_object_get(signal, "signal_id"), &number) && number >= 0 && number < 128)
      task->exit_signal = (int)number;
  } else if (rest_read_number(value, &number) && number >= 0 && number < 65536) {
    task->exit_code = (int)(number >> 8 & 255);
    task->exit_signal = (int)(number & 127);
  }
}

static const char *text_of(const json_t *record, const char *key) {
  const char *text = json_string_value(json_object_get(record, key));
  return text ? text : "";
}

static bool is_selected(const json_t *record, const SlurmSelection *selection, const char *user) {
  if (slurm_selection_is_mine(selection)) return contains_word(json_object_get(record, "user_name"), user);
  return slurm_selection_has(selection, text_of(record, "name"), text_of(record, "current_working_directory"));
}

static int64_t array_or_job(const json_t *record) {
  const int64_t array = number_or(record, "array_job_id", 0);
  return array > 0 ? array : number_or(record, "job_id", 0);
}

static int add_tasks(const json_t *record, const SlurmTask *task, SlurmTasks *tasks) {
  const char *indices = json_string_value(json_object_get(record, "array_task_string"));
  char one[32] = "";
  int64_t index;
  if (rest_read_number(json_object_get(record, "array_task_id"), &index))
    snprintf(one, sizeof one, "%lld", (long long)index);
  if (indices && strstr(indices, "..."))
    return core_error(CORE_FAIL,
                      "the indices of array %lld are truncated; start slurmrestd with SLURM_BITSTR_LEN=0",
                      (long long)task->job);
  /* Pending tasks have an expression, and in some versions also a task id of 0 or not set: prefer the expression. */
  if (slurm_tasks_add(tasks, task, indices && *indices ? indices : number_or(record, "array_job_id", 0) > 0 ? one : ""))
    return CORE_OK;
  return core_error(CORE_FAIL, "the indices of array %lld", (long long)task->job);
}

int rest_read_waiting(const json_t *record, int64_t *job, SlurmTasks *tasks) {
  const SlurmTask task = {.job = array_or_job(record)};
  *job = number_or(record, "job_id", 0);
  if (task.job <= 0 || parse_state(json_object_get(record, "job_state")) != SLURM_PENDING) return CORE_OK;
  return add_tasks(record, &task, tasks);
}

int rest_read_job(const json_t *record, const SlurmSelection *selection, const char *user, SlurmTasks *tasks) {
  SlurmTask task = {.restarts = -1, .exit_code = -1, .exit_signal = -1};
  const json_t *state = json_object_get(record, "job_state");
  int64_t limit_min;

  if (!json_is_object(record) || !json_is_string(json_object_get(record, "name")))
    return core_error(CORE_FAIL, "a job without a name");
  if (!is_selected(record, selection, user)) return CORE_OK;
  task.job = array_or_job(record);
  if (task.job <= 0) return core_error(CORE_FAIL, "a job without an id");
  if (!*first_word(state)) return core_error(CORE_FAIL, "job %lld has no state", (long long)task.job);

  task.state = parse_state(state);
  TEXT(record, "state_reason", task.reason);
  TEXT(record, "user_name", task.user);
  TEXT(record, "partition", task.partition);
  TEXT(record, "nodes", task.nodes);
  TEXT(record, "name", task.name);
  TEXT(record, "comment", task.comment);

  task.is_in_directory =
    selection->directory && strcmp(text_of(record, "current_working_directory"), selection->directory) == 0;
  task.submit_unix_s = number_or(record, "submit_time", 0);
  task.start_unix_s = number_or(record, "start_time", 0);
  if (rest_read_number(json_object_get(record, "time_limit"), &limit_min) && limit_min > 0 && limit_min < 1000000)
    task.limit_s = 60 * limit_min;

  task.restarts = number_or(record, "restart_cnt", -1);
  if (slurm_state_is_over(task.state)) parse_exit_status(json_object_get(record, "exit_code"), &task);
  return add_tasks(record, &task, tasks);
}

/* ---- partitions and nodes ---------------------------------------------------------------------------------------- */

bool rest_read_partition(const json_t *record, SlurmPartition *partition) {
  const json_t *inner = json_object_get(record, "partition"), *maximums = json_object_get(record, "maximums");
  const json_t *nodes = json_object_get(record, "nodes");
  int64_t minutes;
  *partition = (SlurmPartition){0};
  TEXT(record, "name", partition->name);
  const json_t *state = json_object_get(inner ? inner : record, "state");
  partition->up = contains_word(state, "UP");
  partition->is_open = partition->up || contains_word(state, "DOWN");
  partition->is_default = contains_word(json_object_get(record, "flags"), "default");
  const json_t *limit = maximums ? json_object_get(maximums, "time") : json_object_get(record, "max_time_limit");
  if (rest_read_number(limit, &minutes) && minutes > 0 && minutes < 100000000) partition->time_max_s = 60 * minutes;
  partition->nodes = json_is_object(nodes) ? number_or(nodes, "total", 0) : number_or(record, "total_nodes", 0);
  return *partition->name;
}

/* Counts the GPUs of a GRES text: 6 for "gpu:a100:4(S:0-1),gpu:2". */
static int64_t count_gpus(const char *gres) {
  int64_t gpus = 0;
  for (const char *match = gres; (match = strstr(match, "gpu")); match += 3) {
    const char *number = NULL, *end = match + strcspn(match, ",(");
    for (const char *c = match; c < end; c++)
      if (*c == ':' || *c == '=') number = c + 1;
    char digits[16];
    int64_t gpu_count;
    snprintf(digits, sizeof digits, "%.*s", number ? (int)strspn(number, "0123456789") : 0, number ? number : "");
    if (core_text_to_int(digits, &gpu_count)) gpus += gpu_count;
  }
  return gpus;
}

bool rest_read_node(const json_t *record, SlurmPartition *partitions, size_t count) {
  const json_t *state = json_object_get(record, "state"), *flags = json_object_get(record, "state_flags");
  static const char *const bad[] = {"DOWN",        "DRAIN",         "FAIL",        "NOT_RESPONDING",
                                    "MAINTENANCE", "REBOOT_ISSUED", "POWERED_DOWN"};
  bool up = contains_word(state, "IDLE") || contains_word(state, "MIXED") || contains_word(state, "ALLOCATED");

  if (!json_is_object(record) || !*first_word(state)) return false;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    up &= !contains_word(state, bad[i]) && !contains_word(flags, bad[i]);

  const char *gres = json_string_value(json_object_get(record, "gres"));
  const int64_t cpus = number_or(record, "cpus", 0), memory = number_or(record, "real_memory", 0),
                gpus = gres ? count_gpus(gres) : 0;

  for (size_t i = 0; i < count; i++) {
    SlurmPartition *partition = &partitions[i];
    if (!contains_word(json_object_get(record, "partitions"), partition->name)) continue;
    partition->nodes_up += up;
    if (cpus > partition->cpus_max) partition->cpus_max = cpus;
    if (memory > partition->memory_max_mb) partition->memory_max_mb = memory;
    if (gpus > partition->gpus_max) partition->gpus_max = gpus;
  }
  return true;
}
