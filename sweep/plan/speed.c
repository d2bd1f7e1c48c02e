/* Reads measured speeds from results.db, and estimates costs by them and by the model (cost_model.h). Runs that were
 * never imported are missing. */
#include "sweep/plan/speed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"

/* Settings that change the speed of training. Others, such as learning rates, share their measurements. */
static const char *const keys[] = {
  "env.task", "env.num", "env.morphologies", "env.difficulty", "env.size", "env.reset", "env.actions",
  "env.frame_skip", "env.observations", "env.curriculum", "env.normalize_observations", "env.normalize_rewards",
  "env.workers", "train.precision", "train.observation_storage", "train.rollout_halves", "algo.name", "ppo.num_steps",
  "ppo.num_minibatches", "ppo.epochs", "ppo.minibatch_by", "ppo.shuffle", "ppo.sequence_length",
  "ppo.normalize_value", "sapg.blocks", "sapg.off_policy_ratio", "sapg.sequence_length", "scale.scheme",
  "scale.factor", "net.width", "net.depth", "net.widths", "net.activation", "net.sharing", "net.trunk_width",
  "net.trunk_depth", "net.trunk_widths", "net.encoder", "net.memory", "net.memory_width", "net.norm",
  "metrics.every", "metrics.representation_every", "metrics.profile_every", "metrics.limit_epochs",
  "metrics.noise_every", "metrics.states"};
enum { KEYS = sizeof keys / sizeof *keys };

typedef struct Group {
  char *text;        /* values of `keys` as a JSON array; a program has none */
  CoreConfig config; /* these settings, resolved; all others at their defaults */
  bool is_program;   /* whether it is the program named config.algo.name */
  bool on_gpu;
  char *machine;     /* "; ranks: 4, threads: 8"; empty: unknown, of an older version */
  int ranks, threads; /* threads: of each rank; both 0: unknown */
  double median;
  size_t runs;
} Group;

struct SweepSpeeds {
  const CoreConfigRow *rows[KEYS];
  Group *groups;
  size_t count;
};

/* ---- loading --------------------------------------------------------------------------------------------------- */

/* Appends the query: settings as one JSON array, name of the algorithm or program, device, speed without a search for
 * levels, which is a cost of its own, ranks and threads; sorted by group, then from slow to fast. Devices named cuda:0
 * are GPUs, all others processors. */
static void append_query(CoreText *sql) {
  core_text_append(sql, "SELECT json_extract(config");
  for (size_t i = 0; i < KEYS; i++) core_text_appendf(sql, ", '$.%s'", keys[i]);
  core_text_append(sql,
                   ") AS settings, json_extract(config, '$.algo.name') AS program,"
                   " coalesce(device LIKE 'cuda%', 0) AS gpu,"
                   " (SELECT steps_per_second /"
                   "  max(0.01, 1 - coalesce(seconds_levels / (seconds_rollout + seconds_update + seconds_other), 0))"
                   "  FROM iteration WHERE run_id = run.id AND steps_per_second > 0"
                   "  ORDER BY iteration DESC LIMIT 1) AS speed,"
                   " json_extract(config, '$.env.task') AS task,"
                   " iif(instr(device, ';') > 0, substr(device, instr(device, ';')), '') AS machine"
                   " FROM run WHERE speed IS NOT NULL ORDER BY settings, program, gpu, machine, speed");
}

typedef struct Samples {
  double *sorted;
  size_t count, capacity;
} Samples;

static void close_group(SweepSpeeds *speeds, Samples *samples) {
  if (samples->count == 0) return;
  Group *group = &speeds->groups[speeds->count - 1];
  size_t middle = samples->count / 2;
  group->runs = samples->count;
  group->median =
      samples->count % 2 ? samples->sorted[middle] : (samples->sorted[middle - 1] + samples->sorted[middle]) / 2;
  samples->count = 0;
}

/* Sets one setting from its JSON value; null: the run is of a version that lacked it. */
static int set_value(CoreConfig *config, const char *key, const json_t *value) {
  char text[CORE_CONFIG_TEXT];
  if (json_is_null(value)) return CORE_OK;
  if (json_is_string(value)) return core_config_set(config, key, json_string_value(value));
  if (json_is_boolean(value)) return core_config_set(config, key, json_is_true(value) ? "yes" : "no");
  if (json_is_integer(value)) snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else snprintf(text, sizeof text, "%.17g", json_number_value(value));
  return core_config_set(config, key, text);
}

/* Sets the settings of a group. A value that this version refuses keeps its default. */
static void read_settings(const char *text, Group *group) {
  json_t *values = json_loads(text, 0, NULL);
  CoreConfig resolved;
  if (json_is_array(values)) {
    for (size_t i = 0; i < KEYS; i++)
      if (set_value(&group->config, keys[i], json_array_get(values, i)) != CORE_OK) core_error_clear();
  }
  json_decref(values);
  if (core_config_resolve(&group->config, &resolved) == CORE_OK) group->config = resolved;
  core_error_clear();
}

/* Whether the row belongs to the group. */
static bool is_same(const Group *group, StoreQuery *query) {
  const char *settings = store_query_text(query, 0), *program = store_query_text(query, 1);
  const char *machine = store_query_text(query, 5);
  return group->on_gpu == (store_query_int(query, 2) != 0) && strcmp(group->text, settings ? settings : "") == 0 &&
         strcmp(group->machine, machine ? machine : "") == 0 &&
         (!group->is_program || strcmp(group->config.algo.name, program ? program : "") == 0);
}

static int read_group(StoreQuery *query, Group *group) {
  const char *settings = store_query_text(query, 0), *program = store_query_text(query, 1);
  const char *machine = store_query_text(query, 5);
  *group = (Group){.text = core_text_duplicate(settings ? settings : ""), .config = core_config_default(),
                   .is_program = !store_query_text(query, 4), .on_gpu = store_query_int(query, 2) != 0,
                   .machine = core_text_duplicate(machine ? machine : "")};
  if (sscanf(group->machine, "; ranks: %d, threads: %d", &group->ranks, &group->threads) != 2 || group->ranks < 1)
    group->ranks = group->threads = 0;
  if (!group->is_program) read_settings(group->text, group);
  return core_text_copy(group->config.algo.name, sizeof group->config.algo.name, program ? program : "", "algo.name");
}

static int load(StoreQuery *query, SweepSpeeds *speeds) {
  Samples samples = {0};
  bool row;
  int code;
  for (;;) {
    TRY_GOTO(code, out, store_query_step(query, &row));
    if (!row) break;

    if (speeds->count == 0 || !is_same(&speeds->groups[speeds->count - 1], query)) {
      close_group(speeds, &samples);
      speeds->groups = core_memory_resize(speeds->groups, (speeds->count + 1) * sizeof *speeds->groups);
      TRY_GOTO(code, out, read_group(query, &speeds->groups[speeds->count++]));
    }

    if (samples.count == samples.capacity) {
      samples.capacity = samples.capacity ? 2 * samples.capacity : 64;
      samples.sorted = core_memory_resize(samples.sorted, samples.capacity * sizeof *samples.sorted);
    }
    samples.sorted[samples.count++] = store_query_real(query, 3);
  }
  close_group(speeds, &samples);
out:
  free(samples.sorted);
  return code;
}

int sweep_speeds_load(const char *root, SweepSpeeds **speeds) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreQuery *query;
  CoreText sql = {0};

  *speeds = core_memory_zero_allocate(1, sizeof **speeds);
  for (size_t i = 0; i < KEYS; i++) {
    (*speeds)->rows[i] = core_config_find(keys[i]);
    CORE_CHECK((*speeds)->rows[i]);
  }

  int code = store_path_database(root, path);
  if (code == CORE_OK && !core_files_exists(path)) return CORE_OK;
  if (code == CORE_OK) code = store_database_open(path, true, &database);
  if (code == CORE_OK) {
    append_query(&sql);
    code = store_query_open(database, sql.data, &query);
    core_text_free(&sql);
    if (code == CORE_OK) {
      code = load(query, *speeds);
      store_query_close(&query);
    }
    store_database_close(&database);
  }

  if (code != CORE_OK) sweep_speeds_destroy(speeds);
  return code;
}

void sweep_speeds_destroy(SweepSpeeds **speeds) {
  if (!*speeds) return;
  for (size_t i = 0; i < (*speeds)->count; i++) {
    free((*speeds)->groups[i].text);
    free((*speeds)->groups[i].machine);
  }
  free((*speeds)->groups);
  free(*speeds);
  *speeds = NULL;
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

static double log_ratio(int64_t a, int64_t b) { return a > 0 && b > 0 ? fabs(log2((double)a / (double)b)) : a != b; }

/* Whether both have the same value, or neither reads the setting. */
static bool is_same_setting(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row) {
  return core_config_value_equals(a, b, row) || (!core_config_is_read(a, row) && !core_config_is_read(b, row));
}

/* Returns the dissimilarity of a group and a resolved configuration; 0: the same. Width counts twice (cost grows with
 * its square), another encoder or memory more than any width, another task more than that, other settings little. */
static double distance(const SweepSpeeds *speeds, const Group *group, const CoreConfig *config) {
  const CoreConfig *group_config = &group->config;
  double sum = 2 * log_ratio(group_config->net.width, config->net.width) +
               log_ratio(group_config->net.depth, config->net.depth) +
               log_ratio(group_config->ppo.epochs, config->ppo.epochs) +
               log_ratio(group_config->env.num, config->env.num) / 4;
  sum += strcmp(group_config->env.task, config->env.task) == 0 ? 0 : 100;
  const bool has_encoder = strcmp(group_config->net.encoder, config->net.encoder) == 0;
  sum += has_encoder && strcmp(group_config->net.memory, config->net.memory) == 0 ? 0 : 50;
  for (size_t i = 0; i < KEYS; i++) sum += is_same_setting(group_config, config, speeds->rows[i]) ? 0 : 0.1;
  return sum;
}

/* Returns the transitions of all iterations. */
static double trained(const CoreConfig *config) {
  return (double)core_config_iterations(config) * (double)core_config_transitions_per_iteration(config);
}

/* Whether both are of the trainer, or of the same program. */
static bool is_comparable(const Group *group, const CoreConfig *config) {
  if (!config->program || !group->is_program) return !config->program && !group->is_program;
  return strcmp(group->config.algo.name, config->algo.name) == 0;
}

/* Whether the run may have the group's kind of device. */
static bool is_same_device(const Group *group, const CoreConfig *config, const SlurmSettings *settings) {
  if (config->program) return true;
  if (strcmp(config->train.device, "auto") == 0) return !group->on_gpu || !settings || settings->gpus_per_run > 0;
  return group->on_gpu == (strcmp(config->train.device, "cuda") == 0);
}

/* Returns the machine of the group; unknown ranks and threads are as many as those of `settings`. The database has no
 * GPU shares: a group with as many ranks as `settings` has its GPUs, any other group one GPU per rank. */
static SlurmSettings machine_of(const Group *group, const SlurmSettings *settings) {
  SlurmSettings machine = *settings;
  if (group->ranks > 0) machine.ranks_per_run = group->ranks;
  if (group->threads > 0) machine.cpus_per_run = group->threads;
  if (!group->on_gpu) machine.gpus_per_run = 0;
  else if (machine.ranks_per_run != settings->ranks_per_run) machine.gpus_per_run = (double)machine.ranks_per_run;
  return machine;
}

/* Returns the GPUs, or else the processors, that a run of the group uses on the machine. */
static double devices_of(const Group *group, const SlurmSettings *machine) {
  if (group->on_gpu) return sweep_cost_gpus(machine);
  return (double)(machine->ranks_per_run * machine->cpus_per_run);
}

/* Returns the dissimilarity of the group's machine and that of `settings`. An unknown machine counts as one with 16
 * times the devices. */
static double machine_distance(const Group *group, const SlurmSettings *settings) {
  const SlurmSettings measured = machine_of(group, settings);
  const double ratio = devices_of(group, settings) / devices_of(group, &measured);
  if (group->ranks == 0) return 0.1 + log2(16) / 4;
  return ratio == 1 ? 0 : 0.1 + fabs(log2(ratio)) / 4;
}

/* Returns how much faster the model expects the configuration to train on `planned` than the group on `measured`. */
static double expected_ratio(const Group *group, const SlurmSettings *measured, const CoreConfig *config,
                             const SlurmSettings *planned) {
  CoreConfig own = group->config, other = *config;
  const char *device = group->on_gpu ? "cuda" : "cpu";
  if (config->program) return 1;
  snprintf(own.train.device, sizeof own.train.device, "%s", device);
  snprintf(other.train.device, sizeof other.train.device, "%s", device);
  own.train.total_steps = other.train.total_steps = 1000000000; /* whole iterations are a small part of it */
  const double speed = sweep_cost_model(&own, measured).training_s / trained(&own);
  const double expected = sweep_cost_model(&other, planned).training_s / trained(&other);
  return speed > 0 && expected > 0 ? speed / expected : 1;
}

/* Returns the most similar group, of several the one with the most runs; NULL: none. */
static const Group *find_group(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings,
                               double *least) {
  const Group *best = NULL;
  for (size_t i = 0; i < speeds->count; i++) {
    const Group *group = &speeds->groups[i];
    if (!is_same_device(group, config, settings) || !is_comparable(group, config)) continue;
    double d = config->program ? 0 : distance(speeds, group, config);
    if (settings && !config->program) d += machine_distance(group, settings);
    if (best && (d > *least || (d == *least && group->runs <= best->runs))) continue;
    best = group;
    *least = d;
  }
  return best;
}

SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings) {
  const SlurmSettings defaults = slurm_settings_default();
  CoreConfig resolved = *config;
  double least = 0;
  if (!config->program && core_config_resolve(config, &resolved) != CORE_OK) core_error_clear();
  const Group *best = find_group(speeds, &resolved, settings, &least);
  if (!best) return (SweepSpeed){0};
  const SlurmSettings measured = machine_of(best, settings ? settings : &defaults);
  const double ratio = least > 0 ? expected_ratio(best, &measured, &resolved, settings ? settings : &measured) : 1;
  return (SweepSpeed){.steps_per_second = best->median * ratio, .exact = least == 0, .runs = best->runs};
}

SweepCost sweep_speeds_cost(const SweepSpeeds *speeds, const CoreConfig *config, const SlurmSettings *settings,
                            const SweepWork *work, SweepSpeed *speed) {
  const SweepCost model = sweep_cost_model(config, settings);
  *speed = (SweepSpeed){.steps_per_second = work->speed};
  if (work->speed == 0 && speeds) *speed = sweep_speeds_find(speeds, config, work->is_here ? NULL : settings);
  const double total = trained(config);
  const double training_s = speed->steps_per_second > 0 ? work->left / speed->steps_per_second : 0;
  return sweep_cost_remaining(&model, total > 0 ? work->left / total : 0, training_s);
}
