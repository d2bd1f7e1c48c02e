/* Levels of each iteration. */
#include "trainer/evaluate/curriculum.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"

/* Returns the key of an iteration's sequence of levels. Key 0 and keys below 2^32 belong to the tasks' fixed sets and
 * to sequences that simulators draw themselves; seeds have 32 bits. */
static uint64_t key_of(uint64_t seed, int64_t iteration) { return (seed + 1) << 32 ^ (uint64_t)iteration; }

/* Returns the slots of this rank's batch. */
static int own_slots(const Curriculum *curriculum) {
  return curriculum->own_generated + curriculum->buffer.capacity;
}

/* Returns how many of the run's worlds 0 .. worlds - 1 play new levels: the first ones, or spread evenly over all. A
 * world's new level has the number of worlds before it that play one. */
static int new_before(const Curriculum *curriculum, int worlds) {
  if (!curriculum->is_spread) return worlds < curriculum->generated ? worlds : curriculum->generated;
  return (int)((int64_t)worlds * curriculum->generated / curriculum->worlds);
}

int curriculum_check(const CoreConfig *config, const Env *levels) {
  if (levels->levels && levels->generator) return CORE_OK;
  return env_unsupported(levels, "env.curriculum", config->env.curriculum, "a generator of levels",
                   "env.curriculum to none");
}

void curriculum_register(Curriculum *curriculum, const CoreConfig *config, const Env *levels, const Shards *shards,
                         CoreArena *arena) {
  int worlds = (int)config->env.num, sampled = (int)llround(config->sfl.sampled_ratio * worlds);
  int kept = sampled > 0 ? (int)config->sfl.buffer_size : 0;
  *curriculum = (Curriculum){.worlds = worlds, .generated = worlds - sampled, .period = config->sfl.period,
                              .first_world = shards->first_world, .own_worlds = shards->worlds};
  curriculum->is_spread = strcmp(config->sfl.placement, "spread") == 0;
  curriculum->first_generated = new_before(curriculum, shards->first_world);
  curriculum->own_generated =
    new_before(curriculum, shards->first_world + shards->worlds) - curriculum->first_generated;

  if (kept > 0) {
    level_search_register(&curriculum->search, config, levels, shards, arena);
    level_buffer_register(&curriculum->buffer, kept, arena);
  }

  size_t max_levels = (size_t)(curriculum->own_generated > kept ? curriculum->own_generated : kept);
  CORE_ARENA(arena, curriculum->slot, (size_t)curriculum->own_worlds, "slots played [worlds]");
  CORE_ARENA_DEVICE(arena, curriculum->level_of_slot, (size_t)own_slots(curriculum), "levels of slots [slots]");
  CORE_ARENA(arena, curriculum->numbers, max_levels, "numbers of levels [levels]");
}

int curriculum_levels(const Curriculum *curriculum) { return curriculum->generated + curriculum->buffer.capacity; }

/* Numbers this rank's slots: the new levels of its worlds, then the buffer. */
static void number_places(Curriculum *curriculum, CoreDevice *device) {
  const int slots = own_slots(curriculum), generated = curriculum->own_generated;
  int32_t *level = core_memory_allocate((size_t)slots * sizeof *level);
  for (int i = 0; i < slots; i++)
    level[i] = i < generated ? curriculum->first_generated + i : curriculum->generated + i - generated;
  core_device_to_device(device, curriculum->level_of_slot, level, (size_t)slots * sizeof *level);
  free(level);
}

int curriculum_create(Curriculum *curriculum, const Env *levels, uint64_t seed, CoreDevice *device, Env **env) {
  const EnvBatch batch = {.worlds = curriculum->own_worlds, .seed = seed, .device = device};
  if (curriculum->buffer.capacity > 0) TRY(level_search_create(&curriculum->search, levels, seed, device));
  number_places(curriculum, device);
  return levels->generator->create_slots(levels, &batch, own_slots(curriculum), env);
}

void curriculum_destroy(Curriculum *curriculum) { level_search_destroy(&curriculum->search); }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int bytes_with(const Env *levels, int worlds, int slots, double *bytes) {
  Env *env = NULL;
  TRY(levels->generator->create_slots(levels, &(EnvBatch){.worlds = worlds}, slots, &env));
  *bytes = (double)env->bytes(env);
  env_destroy(&env);
  return CORE_OK;
}

int curriculum_estimate_bytes(const Curriculum *curriculum, const Env *levels, double *training, double *search) {
  enum { SMALL = 64 };
  double both, more_worlds, more_places;
  TRY(bytes_with(levels, SMALL, SMALL, &both));
  TRY(bytes_with(levels, 2 * SMALL, SMALL, &more_worlds));
  TRY(bytes_with(levels, SMALL, 2 * SMALL, &more_places));
  double a_world = (more_worlds - both) / SMALL, a_place = (more_places - both) / SMALL;
  double remainder = both - SMALL * (a_world + a_place);
  *training = remainder + a_world * curriculum->own_worlds + a_place * own_slots(curriculum);
  *search = curriculum->buffer.capacity > 0 ? remainder + (a_world + a_place) * curriculum->search.own : 0;
  return CORE_OK;
}

/* ---- an iteration ------------------------------------------------------------------------------------------------ */

bool curriculum_search_due(const Curriculum *curriculum, int64_t iteration) {
  return curriculum->buffer.capacity > 0 && (iteration - 1) % curriculum->period == 0;
}

/* Puts the buffer's levels in the slots after the new ones, where they stay until the next search. */
static void place_buffer(Curriculum *curriculum, Env *env) {
  const LevelBuffer *buffer = &curriculum->buffer;
  for (int i = 0; i < buffer->count; i++) curriculum->numbers[i] = buffer->entry[i].number;
  env->generator->regenerate(env, curriculum->position.key, curriculum->numbers, buffer->count,
                         curriculum->own_generated);
}

static int search(Curriculum *curriculum, Env *env, const EvalPlayer *player, uint64_t seed, int64_t iteration) {
  uint64_t key = key_of(seed, iteration);
  TRY(level_search_run(&curriculum->search, player, seed, key, iteration, &curriculum->buffer, &curriculum->summary));
  curriculum->position = (CurriculumPosition){key, iteration, curriculum->buffer.count};
  place_buffer(curriculum, env);
  return CORE_OK;
}

/* Samples a level of the buffer for world number `world` of the run, independently of the other worlds. */
static int32_t draw_from_buffer(const Curriculum *curriculum, uint64_t seed, int64_t iteration, int world) {
  CoreRandom4 words = core_random_4(seed, CORE_RANDOM_BUFFER, (uint32_t)world, (uint32_t)iteration,
                                    (uint32_t)(iteration >> 32));
  return (int32_t)core_random_below(words.v[0], (uint32_t)curriculum->buffer.count);
}

static void choose_places(Curriculum *curriculum, uint64_t seed, int64_t iteration) {
  const int generated = curriculum->own_generated;
  for (int w = 0; w < curriculum->own_worlds; w++) {
    const int world = curriculum->first_world + w, number = new_before(curriculum, world);
    curriculum->slot[w] = new_before(curriculum, world + 1) > number
                            ? number - curriculum->first_generated
                            : generated + draw_from_buffer(curriculum, seed, iteration, world);
  }
}

int curriculum_begin(Curriculum *curriculum, Env *env, Ops *ops, const Agent *agent, Rollout *rollout, uint64_t seed,
                     int64_t iteration) {
  curriculum->searched_now = curriculum_search_due(curriculum, iteration);
  const EvalPlayer player = {agent, &rollout->pipeline, ops};
  if (curriculum->searched_now) obs_pool_statistics(&rollout->pipeline);
  if (curriculum->searched_now) TRY(search(curriculum, env, &player, seed, iteration));
  if (curriculum->own_generated > 0)
    env->generator->generate(env, key_of(seed, iteration), curriculum->first_generated, curriculum->own_generated, 0,
                         curriculum->numbers);
  choose_places(curriculum, seed, iteration);
  rollout->level_of_slot = curriculum->own_worlds < curriculum->worlds ? curriculum->level_of_slot : NULL;
  rollout_start_on(rollout, env, curriculum->slot);
  return CORE_OK;
}

/* Returns the mean over the levels first .. end - 1 on which an episode ended. */
static double solve_rate(const Rollout *rollout, int first, int end) {
  double rates = 0;
  int64_t levels = 0;
  for (int i = first; i < end; i++) {
    if (rollout->attempts[i] == 0) continue;
    rates += (double)rollout->solutions[i] / rollout->attempts[i];
    levels++;
  }
  return levels > 0 ? rates / (double)levels : NAN;
}

void curriculum_fill_row(const Curriculum *curriculum, const Rollout *rollout, StoreIteration *row) {
  row->solve_rate_new = solve_rate(rollout, 0, curriculum->generated);
  row->solve_rate_sampled = solve_rate(rollout, curriculum->generated, curriculum_levels(curriculum));
  if (!curriculum->searched_now) return;
  row->search_solve_rate = curriculum->summary.solve_rate;
  row->search_learnability = curriculum->summary.learnability;
  row->buffer_learnability = curriculum->summary.found;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

void curriculum_add_sections(Curriculum *curriculum, Checkpoint *checkpoint) {
  if (curriculum->buffer.capacity == 0) return;
  checkpoint_add(checkpoint, "curriculum", &curriculum->position, sizeof curriculum->position);
  checkpoint_add(checkpoint, "level buffer", curriculum->buffer.entry,
                 (size_t)curriculum->buffer.capacity * sizeof *curriculum->buffer.entry);
}

int curriculum_after_load(Curriculum *curriculum, Env *env, int64_t iteration) {
  const CurriculumPosition *position = &curriculum->position;
  LevelBuffer *buffer = &curriculum->buffer;
  if (buffer->capacity == 0) return CORE_OK;
  if (iteration == 0) return CORE_OK; /* no search yet */
  if (position->searched < 1 || position->searched > iteration || position->count != buffer->capacity)
    return core_error(CORE_USAGE, "saved curriculum: a buffer of %" PRId64 " levels from iteration %" PRId64
                      ", which is invalid at iteration %" PRId64 " of this run", position->count, position->searched,
                      iteration);
  buffer->count = (int)position->count;
  place_buffer(curriculum, env);
  return CORE_OK;
}
