/* Normalising, and the column of blocks (observer.h). */
#include "trainer/wrappers/observer.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels_each.h"
#include "trainer/ops/kernels/kernels_observe.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/ranks.h"

int observer_blocks(const CoreConfig *config) {
  return strcmp(config->algo.name, "sapg") == 0 ? (int)config->sapg.blocks : 0;
}

int observer_features(const CoreConfig *config, const Env *env) {
  return env->observation_length + (observer_blocks(config) > 0);
}

void observer_register(Observer *observer, const CoreConfig *config, const Env *env, const Shards *shards,
                       CoreArena *arena) {
  const int worlds = shards->worlds, all_worlds = shards->all_worlds;
  const NormaliseRule rule = normalise_rule(config->env.normalize_observations);
  *observer = (Observer){.shown = env->observation_length, .seen = observer_features(config, env), .worlds = worlds,
                         .all_worlds = all_worlds, .first_world = shards->first_world,
                         .device = core_arena_device(arena), .blocks = observer_blocks(config),
                         .warm_up = rule == NORMALISE_STOIX ? (int)config->env.normalize_warmup : 0};
  if (observer->blocks > 0)
    observer->first_reported = all_worlds - all_worlds / observer->blocks - observer->first_world;
  observer->is_half = strcmp(config->train.observation_storage, "float16") == 0;
  observer->has_moments = rule != NORMALISE_NONE || observer->blocks > 0;
  observer->active = observer->has_moments || observer->is_half;
  if (!observer->active) return;
  CORE_ARENA_DEVICE(arena, observer->raw, (size_t)worlds * (size_t)observer->shown,
                    "raw observations [worlds][features]");
  if (!observer->has_moments) return;
  observer->is_each = rule == NORMALISE_CLEANRL_EACH;
  if (observer->is_each) normalise_each_register(&observer->each, worlds, observer->shown, arena);
  else if (all_worlds > worlds && core_arena_device(arena) == NULL)
    CORE_ARENA(arena, observer->all, (size_t)all_worlds * (size_t)observer->shown, "observations of all ranks");
  normalise_register(&observer->normaliser, rule, observer->shown, shards, arena);
}

void observer_start(Observer *observer) {
  if (observer->has_moments) normalise_start(&observer->normaliser);
  if (observer->is_each) normalise_each_start(&observer->each);
}

static void count(Observer *observer, bool arrived) {
  const NormaliseRule rule = observer->normaliser.rule;
  const bool counts = observer->has_moments && !observer->is_each && rule != NORMALISE_NONE;
  if (!counts || (rule == NORMALISE_CLEANRL) != arrived) return;
  const size_t bytes = (size_t)observer->worlds * (size_t)observer->shown * sizeof *observer->raw;
  if (observer->all == NULL) {
    normalise_add(&observer->normaliser, observer->raw, observer->worlds);
    return;
  }
  ranks_gather_all(observer->raw, bytes, observer->all);
  normalise_add(&observer->normaliser, observer->all, observer->all_worlds);
}

void observer_count_arrived(Observer *observer, const ObserverLast *last) {
  if (!observer->is_each) {
    count(observer, true);
    return;
  }
  const NormaliseLast ends = {last ? last->dones : NULL, last ? last->raw : NULL, last ? last->seen : NULL,
                              observer->seen};
  normalise_each_add(&observer->each, observer->raw, last ? &ends : NULL);
}
void observer_count_acted_on(Observer *observer) { count(observer, false); }

static void round_to_halves(CoreDevice *device, float *x, size_t n) {
  if (device) kernels_launch(device, &ops_round_halves_launch, n, &(OpsRoundHalves){x, n});
  else ops_round_to_halves(x, n);
}

static void round_rows(const Observer *observer, float *seen, int worlds) {
  if (observer->is_half) round_to_halves(observer->device, seen, (size_t)worlds * (size_t)observer->seen);
}

/* All but the column of blocks, whose numbers are whole and small. */
static void transform(const Observer *observer, const float *raw, int worlds, float *seen) {
  const size_t rows = (size_t)worlds;
  if (observer->has_moments) normalise_apply(&observer->normaliser, raw, worlds, seen, observer->seen);
  else core_device_copy(observer->device, seen, raw, rows * (size_t)observer->shown * sizeof *seen);
  round_rows(observer, seen, worlds);
}

static void mark_blocks(const Observer *observer, float *seen) {
  const OpsMarkWorlds mark = {seen, (size_t)observer->worlds, (size_t)observer->seen, observer->first_world,
                              observer->blocks, observer->all_worlds};
  if (observer->blocks > 0) KERNELS_EACH(observer->device, ops_mark_worlds, ops_mark_world, mark.rows, &mark);
}

void observer_see(const Observer *observer, float *seen) {
  if (observer->is_each) {
    normalise_each_apply(&observer->each, observer->raw, seen, observer->seen);
    round_rows(observer, seen, observer->worlds);
  } else {
    transform(observer, observer->raw, observer->worlds, seen);
  }
  mark_blocks(observer, seen);
}

void observer_see_last(const Observer *observer, const ObserverLast *last) {
  if (observer->is_each) round_rows(observer, last->seen, observer->worlds); /* the rest was done when they arrived */
  else transform(observer, last->raw, observer->worlds, last->seen);
  mark_blocks(observer, last->seen);
}

void observer_pool(Observer *observer) {
  Normaliser *normaliser = &observer->normaliser;
  if (!observer->is_each) return;
  double *pooled = core_memory_allocate(observer_section_bytes(observer));
  normalise_each_pool(&observer->each, observer->all_worlds, pooled);
  core_device_to_device(observer->device, normaliser->moments, pooled, observer_section_bytes(observer));
  free(pooled);
  normalise_restored(normaliser);
}

void observer_lead(const Observer *observer, float *seen, int worlds) {
  const OpsMarkRows mark = {seen, (size_t)worlds, (size_t)observer->seen, NULL, 0, (float)(observer->blocks - 1)};
  KERNELS_EACH(observer->device, ops_mark_rows, ops_mark_row, mark.rows, &mark);
}

void observer_look(const Observer *observer, const float *raw, int worlds, float *seen) {
  transform(observer, raw, worlds, seen);
  if (observer->blocks > 0) observer_lead(observer, seen, worlds);
}

void observer_advance(Observer *observer) {
  if (observer->has_moments) normalise_advance(&observer->normaliser);
}
