/* Statistics per world: loops around the kernels' elementwise formulas (kernels_normalize_each.h), and pooling. */
#include "trainer/wrappers/normalize_each.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_normalize_each.h"
#include "trainer/ranks/ranks.h"

static const double PRIOR = 1e-4; /* observations of mean 0 and variance 1 */

static size_t record_of(int features) { return 1 + 2 * (size_t)features; }
static size_t numbers_of(const NormalizeEach *each) { return (size_t)each->worlds * record_of(each->features); }

void normalize_each_register(NormalizeEach *each, int worlds, int features, CoreArena *arena) {
  *each = (NormalizeEach){.worlds = worlds, .features = features, .device = core_arena_device(arena)};
  CORE_ARENA_DEVICE(arena, each->moments, numbers_of(each), "observation moments [worlds][1 + 2 features]");
}

void normalize_each_start(NormalizeEach *each) {
  const size_t n = numbers_of(each), features = (size_t)each->features, record = record_of(each->features);
  double *moments = core_memory_allocate(n * sizeof *moments);
  for (size_t i = 0; i < n; i++) moments[i] = i % record == 0 || i % record > features ? PRIOR : 0;
  core_device_to_device(each->device, each->moments, moments, n * sizeof *moments);
  free(moments);
}

void normalize_each_add(const NormalizeEach *each, const float *x, const NormalizeLast *last) {
  const size_t worlds = (size_t)each->worlds, features = (size_t)each->features;
  OpsCountEach count = {.x = x, .moments = each->moments, .worlds = worlds, .features = core_divisor(features)};
  if (last) {
    count.last = last->raw;
    count.dones = last->dones;
    count.seen = last->seen;
    count.stride = (size_t)last->seen_stride;
  }
  KERNELS_EACH(each->device, ops_count_features, ops_count_feature, worlds * features, &count);
  KERNELS_EACH(each->device, ops_count_worlds, ops_count_world, worlds, &count);
}

void normalize_each_apply(const NormalizeEach *each, const float *x, float *y, int y_stride) {
  const size_t worlds = (size_t)each->worlds, features = (size_t)each->features;
  const OpsNormalizeEach apply = {x, each->moments, worlds, core_divisor(features), (size_t)y_stride, y};
  KERNELS_EACH(each->device, ops_normalize_features, ops_normalize_feature, worlds * features, &apply);
}

/* ---- moments over all worlds ------------------------------------------------------------------------------------- */

/* Merges records in their order; means first, so that squares are about the final mean. */
static void pool(const double *records, int worlds, int features, double *pooled) {
  const size_t record = record_of(features), n = (size_t)features;
  memset(pooled, 0, record * sizeof *pooled);

  for (int w = 0; w < worlds; w++) {
    const double *of = records + (size_t)w * record;
    pooled[0] += of[0];
    for (size_t k = 0; k < n; k++) pooled[1 + k] += of[0] * of[1 + k];
  }
  for (size_t k = 0; k < n; k++) pooled[1 + k] /= pooled[0];

  for (int w = 0; w < worlds; w++) {
    const double *of = records + (size_t)w * record;
    for (size_t k = 0; k < n; k++) {
      const double d = of[1 + k] - pooled[1 + k];
      pooled[1 + n + k] += of[1 + n + k] + of[0] * d * d;
    }
  }
}

void normalize_each_pool(const NormalizeEach *each, int global_worlds, double *pooled) {
  const size_t bytes = numbers_of(each) * sizeof *each->moments, ranks = (size_t)(global_worlds / each->worlds);
  void *copy;
  const double *moments = core_device_view(each->device, each->moments, bytes, &copy);
  double *gathered = ranks > 1 ? core_memory_allocate(ranks * bytes) : NULL;
  if (gathered) ranks_gather_all(moments, bytes, gathered);
  pool(gathered ? gathered : moments, global_worlds, each->features, pooled);
  free(gathered);
  free(copy);
}

void normalize_each_spread(const double *pooled, int worlds, int features, double *records) {
  const size_t record = record_of(features);
  for (size_t i = 0; i < (size_t)worlds * record; i++) {
    const size_t k = i % record;
    records[i] = k > 0 && k <= (size_t)features ? pooled[k] : pooled[k] / worlds;
  }
}
