/* Normalising, and the column of blocks (observer.h). */
#include "trainer/observer.h"

#include <string.h>

#include "trainer/ops/ops.h"
#include "trainer/ranks.h"

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
                         .blocks = observer_blocks(config),
                         .warm_up = rule == NORMALISE_STOIX ? (int)config->env.normalize_warmup : 0};
  if (observer->blocks > 0) observer->first_reported = all_worlds - all_worlds / observer->blocks - observer->first_world;
  observer->is_half = strcmp(config->train.observation_storage, "float16") == 0;
  observer->has_moments = rule != NORMALISE_NONE || observer->blocks > 0;
  observer->active = observer->has_moments || observer->is_half;
  if (!observer->active) return;
  CORE_ARENA_DEVICE(arena, observer->raw, (size_t)worlds * (size_t)observer->shown, "raw observations [worlds][features]");
  if (!observer->has_moments) return;
  if (all_worlds > worlds && core_arena_device(arena) == NULL)
    CORE_ARENA(arena, observer->all, (size_t)all_worlds * (size_t)observer->shown, "observations of all ranks");
  normalise_register(&observer->normaliser, rule, observer->shown, shards, arena);
}

void observer_start(Observer *observer) {
  if (observer->has_moments) normalise_start(&observer->normaliser);
}

static void count(Observer *observer, bool arrived) {
  const NormaliseRule rule = observer->normaliser.rule;
  if (!observer->has_moments || rule == NORMALISE_NONE || (rule == NORMALISE_CLEANRL) != arrived) return;
  const size_t bytes = (size_t)observer->worlds * (size_t)observer->shown * sizeof *observer->raw;
  if (observer->all == NULL) {
    normalise_add(&observer->normaliser, observer->raw, observer->worlds);
    return;
  }
  ranks_gather_all(observer->raw, bytes, observer->all);
  normalise_add(&observer->normaliser, observer->all, observer->all_worlds);
}

void observer_count_arrived(Observer *observer) { count(observer, true); }
void observer_count_acted_on(Observer *observer) { count(observer, false); }

/* All but the column of blocks, whose numbers are whole and small. */
static void transform(const Observer *observer, const float *raw, int worlds, float *seen) {
  if (observer->has_moments) normalise_apply(&observer->normaliser, raw, worlds, seen, observer->seen);
  else memcpy(seen, raw, (size_t)worlds * (size_t)observer->shown * sizeof *seen);
  if (observer->is_half) ops_round_to_halves(seen, (size_t)worlds * (size_t)observer->seen);
}

void observer_see(const Observer *observer, float *seen) {
  transform(observer, observer->raw, observer->worlds, seen);
  for (int w = 0; observer->blocks > 0 && w < observer->worlds; w++)
    seen[(size_t)(w + 1) * (size_t)observer->seen - 1] =
      (float)((int64_t)(observer->first_world + w) * observer->blocks / observer->all_worlds);
}

void observer_look(CoreDevice *device, const Observer *observer, const float *raw, int worlds, float *seen) {
  if (!observer->active) {
    core_device_copy(device, seen, raw, (size_t)worlds * (size_t)observer->shown * sizeof *seen);
    return;
  }
  transform(observer, raw, worlds, seen);
  for (int w = 0; observer->blocks > 0 && w < worlds; w++)
    seen[(size_t)(w + 1) * (size_t)observer->seen - 1] = (float)(observer->blocks - 1);
}

void observer_advance(Observer *observer) {
  if (observer->has_moments) normalise_advance(&observer->normaliser);
}
