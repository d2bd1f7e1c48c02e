/* Measured speeds, for the estimate of `sweep plan`. Reads results.db only: what was never imported is not known. */
#include "sweep/plan/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"

typedef struct Shape {
  char task[CORE_CONFIG_TEXT], encoder[CORE_CONFIG_TEXT]; /* the latter with the memory, where there is one */
  SweepDevice device;
  int64_t width, depth, epochs, worlds;
  double median;
  size_t runs;
} Shape;

struct SweepSpeeds {
  Shape *shapes;
  size_t count;
};

/* ---- loading --------------------------------------------------------------------------------------------------- */

/* Prefix of a user's program, whose name stands for a task. */
#define PROGRAM "program "

/* Sorted, so that a shape's runs follow each other from slow to fast. A device of cuda:0 is a GPU,
 * all else processors. */
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

static bool is_same(const Shape *shape, const Shape *other) {
  return strcmp(shape->task, other->task) == 0 && shape->width == other->width && shape->depth == other->depth &&
         shape->epochs == other->epochs && strcmp(shape->encoder, other->encoder) == 0 &&
         shape->device == other->device && shape->worlds == other->worlds;
}

typedef struct Group { double *sorted; size_t count, capacity; } Group;

static void close_group(SweepSpeeds *speeds, Group *group) {
  if (group->count == 0) return;
  Shape *shape = &speeds->shapes[speeds->count - 1];
  size_t middle = group->count / 2;
  shape->runs = group->count;
  shape->median = group->count % 2 ? group->sorted[middle] : (group->sorted[middle - 1] + group->sorted[middle]) / 2;
  group->count = 0;
}

static int read_shape(StoreQuery *query, Shape *shape) {
  const char *task = store_query_text(query, 0), *encoder = store_query_text(query, 4);
  *shape = (Shape){.width = store_query_int(query, 1), .depth = store_query_int(query, 2),
                   .epochs = store_query_int(query, 3), .device = store_query_int(query, 5) ? SWEEP_GPU : SWEEP_CPU,
                   .worlds = store_query_int(query, 6)};
  TRY(core_text_copy(shape->encoder, sizeof shape->encoder, encoder ? encoder : "", "net.encoder"));
  return core_text_copy(shape->task, sizeof shape->task, task ? task : "", "env.task");
}

static int load(StoreQuery *query, SweepSpeeds *speeds) {
  Group group = {0};
  bool row;
  int code;
  for (;;) {
    Shape shape;
    TRY_GOTO(code, out, store_query_step(query, &row));
    if (!row) break;
    TRY_GOTO(code, out, read_shape(query, &shape));
    if (speeds->count == 0 || !is_same(&speeds->shapes[speeds->count - 1], &shape)) {
      close_group(speeds, &group);
      speeds->shapes = core_memory_resize(speeds->shapes, (speeds->count + 1) * sizeof *speeds->shapes);
      speeds->shapes[speeds->count++] = shape;
    }
    if (group.count == group.capacity) {
      group.capacity = group.capacity ? 2 * group.capacity : 64;
      group.sorted = core_memory_resize(group.sorted, group.capacity * sizeof *group.sorted);
    }
    group.sorted[group.count++] = store_query_real(query, 7);
  }
  close_group(speeds, &group);
out:
  free(group.sorted);
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
  free((*speeds)->shapes);
  free(*speeds);
  *speeds = NULL;
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

static double log_ratio(int64_t a, int64_t b) { return a > 0 && b > 0 ? fabs(log2((double)a / (double)b)) : 1; }

/* 0: the same. A width counts twice (its square decides), another encoder or memory more than any width, another task
 * more than that. */
static double distance(const Shape *shape, const CoreConfig *config) {
  char encoder[2 * CORE_CONFIG_TEXT + 32];
  CoreConfig resolved;
  const bool is_resolved = core_config_resolve(config, &resolved) == CORE_OK;
  const int64_t worlds = is_resolved ? resolved.env.num : config->env.num;
  if (!is_resolved) core_error_clear();
  const bool remembers = strcmp(config->net.memory, "none") != 0;
  snprintf(encoder, sizeof encoder, "%s", config->net.encoder);
  if (remembers)
    snprintf(encoder, sizeof encoder, "%s %s %lld", config->net.encoder, config->net.memory,
             (long long)config->net.memory_width);
  return 2 * log_ratio(shape->width, config->net.width) + log_ratio(shape->depth, config->net.depth) +
         log_ratio(shape->epochs, config->ppo.epochs) + log_ratio(shape->worlds, worlds) / 4 +
         (strcmp(shape->encoder, encoder) == 0 ? 0 : 50) + (strcmp(shape->task, config->env.task) == 0 ? 0 : 100);
}

/* Speeds of a program say nothing of the trainer's, nor of another program's. */
static bool is_comparable(const Shape *shape, const CoreConfig *config) {
  const bool is_program = strncmp(shape->task, PROGRAM, strlen(PROGRAM)) == 0;
  if (!config->program) return !is_program;
  return is_program && strcmp(shape->task + strlen(PROGRAM), config->algo.name) == 0;
}

SweepSpeed sweep_speeds_find(const SweepSpeeds *speeds, const CoreConfig *config, SweepDevice device) {
  const Shape *best = NULL;
  double least = 0;
  for (size_t i = 0; i < speeds->count; i++) {
    if (device != SWEEP_ANY_DEVICE && speeds->shapes[i].device != device) continue;
    if (!is_comparable(&speeds->shapes[i], config)) continue;
    double d = config->program ? 0 : distance(&speeds->shapes[i], config);
    if (best && d >= least) continue;
    best = &speeds->shapes[i];
    least = d;
  }
  if (!best) return (SweepSpeed){0};
  return (SweepSpeed){.steps_per_second = best->median, .exact = least == 0, .runs = best->runs};
}
