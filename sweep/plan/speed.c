/* Reads measured speeds from results.db, for the estimate of `sweep plan`. Runs that were never imported are
 * missing. */
#include "sweep/plan/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"

typedef struct Group {
  char task[CORE_CONFIG_TEXT], encoder[CORE_CONFIG_TEXT]; /* encoder: also with the kind of memory */
  SweepDevice device;
  int64_t width, depth, epochs, envs;
  double median;
  size_t runs;
} Group;

struct SweepSpeeds {
  Group *groups;
  size_t count;
};

/* ---- loading --------------------------------------------------------------------------------------------------- */

/* Prefix of the name of a user's program, used as task. */
#define PROGRAM "program "

/* Sorted by group, then from slow to fast. Devices named cuda:0 are GPUs, all others processors. */
static const char sql[] =
    "SELECT coalesce(json_extract(config, '$.env.task'), '" PROGRAM "' || json_extract(config, '$.algo.name')) AS task,"
    " json_extract(config, '$.net.width') AS width,"
    "       json_extract(config, '$.net.depth') AS depth, json_extract(config, '$.ppo.epochs') AS epochs,"
    "       coalesce(json_extract(config, '$.net.encoder'), 'none') ||"
    "       CASE coalesce(json_extract(config, '$.net.memory'), 'none') WHEN 'none' THEN '' ELSE ' ' ||"
    "       json_extract(config, '$.net.memory') || ' ' || json_extract(config, '$.net.memory_width') END AS encoder,"
    "       coalesce(device LIKE 'cuda%', 0) AS gpu,"
    "       coalesce(json_extract(config, '$.resolved.env_num'), json_extract(config, '$.env.num')) AS worlds,"
    "       (SELECT steps_per_second FROM iteration WHERE run_id = run.id AND steps_per_second > 0"
    "        ORDER BY iteration DESC LIMIT 1) AS speed"
    "  FROM run WHERE speed IS NOT NULL ORDER BY task, width, depth, epochs, encoder, gpu, worlds, speed";

static bool is_same(const Group *group, const Group *other) {
  return strcmp(group->task, other->task) == 0 && group->width == other->width && group->depth == other->depth &&
         group->epochs == other->epochs && strcmp(group->encoder, other->encoder) == 0 &&
         group->device == other->device && group->envs == other->envs;
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

static int read_group(StoreQuery *query, Group *group) {
  const char *task = store_query_text(query, 0), *encoder = store_query_text(query, 4);
  *group = (Group){.width = store_query_int(query, 1),
                   .depth = store_query_int(query, 2),
                   .epochs = store_query_int(query, 3),
                   .device = store_query_int(query, 5) ? SWEEP_GPU : SWEEP_CPU,
                   .envs = store_query_int(query, 6)};
  TRY(core_text_copy(group->encoder, sizeof group->encoder, encoder ? encoder : "", "net.encoder"));
  return core_text_copy(group->task, sizeof group->task, task ? task : "", "env.task");
}

static int load(StoreQuery *query, SweepSpeeds *speeds) {
  Samples samples = {0};
  bool row;
  int code;
  for (;;) {
    Group group;
    TRY_GOTO(code, out, store_query_step(query, &row));
    if (!row) break;
    TRY_GOTO(code, out, read_group(query, &group));
    if (speeds->count == 0 || !is_same(&speeds->groups[speeds->count - 1], &group)) {
      close_group(speeds, &samples);
      speeds->groups = core_memory_resize(speeds->groups, (speeds->count + 1) * sizeof *speeds->groups);
      speeds->groups[speeds->count++] = group;
    }
    if (samples.count == samples.capacity) {
      samples.capacity = samples.capacity ? 2 * samples.capacity : 64;
      samples.sorted = core_memory_resize(samples.sorted, samples.capacity * sizeof *samples.sorted);
    }
    samples.sorted[samples.count++] = store_query_real(query, 7);
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
  *speeds = core_memory_zero_allocate(1, sizeof **speeds);
  int code = store_path_database(root, path);
  if (code == CORE_OK && !core_files_exists(path)) return CORE_OK;
  if (code == CORE_OK) code = store_database_open(path, true, &database);
  if (code == CORE_OK) {
    code = store_query_open(database, sql, &query);
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
  free((*speeds)->groups);
  free(*speeds);
  *speeds = NULL;
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

static double log_ratio(int64_t a, int64_t b) { return a > 0 && b > 0 ? fabs(log2((double)a / (double)b)) : 1; }

/* Returns the dissimilarity of a group and a configuration; 0: the same. Width counts twice (cost grows with its
 * square), another encoder or memory more than any width, another task more than that. */
static double distance(const Group *group, const CoreConfig *config) {
  char encoder[2 * CORE_CONFIG_TEXT + 32];
  CoreConfig resolved;
  const bool is_resolved = core_config_resolve(config, &resolved) == CORE_OK;
  const int64_t envs = is_resolved ? resolved.env.num : config->env.num;
  if (!is_resolved) core_error_clear();
  const bool is_recurrent = strcmp(config->net.memory, "none") != 0;
  snprintf(encoder, sizeof encoder, "%s", config->net.encoder);
  if (is_recurrent)
    snprintf(encoder, sizeof encoder, "%s %s %lld", config->net.encoder, config->net.memory,
             (long long)config->net.memory_width);
  return 2 * log_ratio(group->width, config->net.width) + log_ratio(group->depth, config->net.depth) +
         log_ratio(group->epochs, config->ppo.epochs) + log_ratio(group->envs, envs) / 4 +
         (strcmp(group->encoder, encoder) == 0 ? 0 : 50) + (strcmp(group->task, config->env.task) == 0 ? 0 : 100);
}

/* Whether both are of the trainer, or of the same program. */
static bool is_comparable(const Group *group, const CoreConfig *config) {
  const bool is_program = strncmp(group->task, PROGRAM, strlen(PROGRAM)) == 0;
  if (!config->program) return !is_program;
  return is_program && strcmp(group->task + strlen(PROGRAM), config->algo.name) == 0;
}

SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, SweepDevice device) {
  const Group *best = NULL;
  double best_distance = 0;
  for (size_t i = 0; i < speeds->count; i++) {
    if (device != SWEEP_ANY_DEVICE && speeds->groups[i].device != device) continue;
    if (!is_comparable(&speeds->groups[i], config)) continue;
    double d = config->program ? 0 : distance(&speeds->groups[i], config);
    if (best && d >= best_distance) continue;
    best = &speeds->groups[i];
    best_distance = d;
  }
  if (!best) return (SweepSpeed){0};
  return (SweepSpeed){.steps_per_second = best->median, .exact = best_distance == 0, .runs = best->runs};
}
