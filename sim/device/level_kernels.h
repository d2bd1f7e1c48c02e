/* Kernels of random levels on a device: generating and compiling them, one thread per level, and the selection of the
 * no-op filter (filter.h) among the levels that were played (noop_kernels.h). Listed in kernels.def; launched by
 * level_device.c. The host uses the same functions, so the levels are the same. */
#ifndef SIM_LEVEL_KERNELS_H
#define SIM_LEVEL_KERNELS_H
#include "sim/device/noop_kernels.h"

enum { SIM_GROUP_KEPT = SIM_STREAM_GROUP, SIM_GROUP_DRAWN = SIM_FILTER_RATIO * SIM_STREAM_GROUP };

/* Loop of a thread over n draws of levels: as few lanes of a warp take part as cover them, since lanes that draw
 * different levels diverge, and a GPU runs their branches one after the other. */
typedef struct SimSpread { size_t first, stride; } SimSpread;
SIM_FN SimSpread sim_spread(const CoreDeviceThread *at, size_t n) {
  const size_t warps = core_device_stride(at) / SIM_WARP_LANES, warp = core_device_first(at) / SIM_WARP_LANES;
  const size_t least = (n + warps - 1) / warps, each = least < SIM_WARP_LANES ? least : SIM_WARP_LANES;
  const size_t lane = at->thread % SIM_WARP_LANES;
  const SimSpread spread = {lane < each ? warp * each + lane : n, warps * each};
  return spread;
}

/* ---- levels of known numbers ------------------------------------------------------------------------------------- */

typedef struct SimDeviceRecall {
  SimDeviceLevelGenerator maker;
  uint64_t key;
  const uint32_t *numbers;     /* [count] */
  size_t count, slot;          /* into slots slot .. slot + count - 1 */
} SimDeviceRecall;

CORE_KERNEL_FN void sim_restore(const CoreDeviceThread *at, const SimDeviceRecall *a) {
  const SimSpread spread = sim_spread(at, a->count);
  for (size_t i = spread.first; i < a->count; i += spread.stride)
    sim_device_generate_level(&a->maker, a->key, a->numbers[i], a->slot + i);
}

/* ---- groups of a sequence (level_stream.h) ----------------------------------------------------------------------- */

/* `groups` whole groups of the sequence `key` from number `base` on; candidate c is number base + c. The filter gives
 * each candidate a time (filter_key.h) and keeps the earliest SIM_GROUP_KEPT of a group. A launch tests the candidates
 * of ranks first_rank .. first_rank + ranks - 1 by time in each group. */
typedef struct SimDeviceGroups {
  SimCandidates tested;
  uint64_t key;
  uint32_t base;
  size_t groups, first_rank, ranks;
  const int32_t *lacking;      /* groups to test; NULL: all */
  int32_t *lacks;              /* [groups]: out: groups with too few levels kept so far ... */
  int64_t *lackers;            /* ... and their number */
  int64_t *good;               /* [groups]: tested levels that do not solve themselves */
  double *time;                /* [groups][SIM_GROUP_DRAWN]: time by the filter */
  uint8_t *played, *chosen;
  uint32_t *order;             /* [groups][SIM_GROUP_DRAWN]: candidates of the group by time */
  uint32_t *numbers;           /* [groups][SIM_GROUP_KEPT] out: numbers of the levels kept */
} SimDeviceGroups;

SIM_FN bool sim_group_precedes(const double *time, size_t a, size_t b) {
  return time[a] < time[b] || (time[a] == time[b] && a < b);
}

CORE_KERNEL_FN void sim_group_times(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    a->time[c] = sim_filter_key(a->key, a->base + (uint32_t)c, false);
    a->played[c] = 0;
    if (c % SIM_GROUP_DRAWN == 0) a->good[c / SIM_GROUP_DRAWN] = 0;
  }
}

CORE_KERNEL_FN void sim_group_order(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    const size_t first = c - c % SIM_GROUP_DRAWN;
    size_t rank = 0;
    for (size_t k = first; k < first + SIM_GROUP_DRAWN; k++) rank += sim_group_precedes(a->time, k, c);
    a->order[first + rank] = (uint32_t)(c - first);
  }
}

/* Returns the candidate of test i. */
SIM_FN size_t sim_group_candidate(const SimDeviceGroups *a, size_t i) {
  const size_t group = a->lacking ? (size_t)a->lacking[i / a->ranks] : i / a->ranks;
  return group * SIM_GROUP_DRAWN + a->order[group * SIM_GROUP_DRAWN + a->first_rank + i % a->ranks];
}

CORE_KERNEL_FN void sim_group_candidates(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t i = core_device_first(at); i < a->tested.count; i += core_device_stride(at)) {
    a->tested.key[i] = a->key;
    a->tested.number[i] = a->base + (uint32_t)sim_group_candidate(a, i);
  }
}

CORE_KERNEL_FN void sim_group_evaluate(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t i = core_device_first(at); i < a->tested.count; i += core_device_stride(at)) {
    const size_t c = sim_group_candidate(a, i);
    a->played[c] = 1;
    if (a->tested.solved[i]) a->time[c] = sim_filter_key(a->key, a->base + (uint32_t)c, true);
    else core_device_atomic_add(&a->good[c / SIM_GROUP_DRAWN], 1);
  }
}

CORE_KERNEL_FN void sim_group_lacks(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t g = core_device_first(at); g < a->groups; g += core_device_stride(at))
    if (a->good[g] < SIM_GROUP_KEPT) a->lacks[core_device_atomic_increment(a->lackers)] = (int32_t)g;
}

/* Chooses the earliest of the tested candidates. Those not tested could only be later. */
CORE_KERNEL_FN void sim_group_choose(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    const size_t first = c - c % SIM_GROUP_DRAWN;
    size_t before = 0;
    for (size_t k = first; k < first + SIM_GROUP_DRAWN; k++)
      before += a->played[k] && sim_group_precedes(a->time, k, c);
    a->chosen[c] = a->played[c] && before < SIM_GROUP_KEPT;
  }
}

/* Writes the chosen candidates' numbers in ascending order. */
CORE_KERNEL_FN void sim_group_number(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    const size_t first = c - c % SIM_GROUP_DRAWN;
    size_t before = 0;
    for (size_t k = first; k < c; k++) before += a->chosen[k];
    if (a->chosen[c]) a->numbers[c / SIM_GROUP_DRAWN * SIM_GROUP_KEPT + before] = a->base + (uint32_t)c;
  }
}

/* ---- new levels of single worlds --------------------------------------------------------------------------------- */

/* Lists the worlds for which another round of choices may be made ahead. */
CORE_KERNEL_FN void sim_choose_ahead(const CoreDeviceThread *at, const SimChoices *a) {
  for (size_t w = core_device_first(at); w < (size_t)a->batch.count; w += core_device_stride(at)) {
    const SimWorld *world = &a->batch.worlds[w];
    const uint32_t last = a->until[w] + SIM_AHEAD_ROUND - 1;
    if (world->keeps_level || a->until[w] <= world->episode || last > world->episode + SIM_AHEAD) continue;
    const int64_t entry = core_device_atomic_increment(a->ahead_count);
    a->ahead_world[entry] = (int32_t)w;
    a->ahead_episode[entry] = a->until[w];
  }
}

/* Stores the choices made ahead, unless a world needed one earlier and made it itself (WAITING). */
CORE_KERNEL_FN void sim_choose_publish(const CoreDeviceThread *at, const SimChoices *a) {
  for (size_t i = core_device_first(at); i < (size_t)*a->ahead_count; i += core_device_stride(at)) {
    const size_t w = (size_t)a->ahead_world[i];
    for (uint32_t k = 0; k < SIM_AHEAD_ROUND; k++)
      if (a->ahead_episode[i] + k >= a->until[w])
        sim_choice_store(a, w, a->ahead_episode[i] + k, a->ahead_chosen[i * SIM_AHEAD_ROUND + k] != 0);
  }
}

/* Levels of worlds' next episodes, drawn before they are needed, in a stream concurrent with steps: up to `depth` per
 * world. That of episode e of world w is number w * depth + e % depth of an array. */
typedef struct SimDrawTask {
  uint32_t world, episode, number;
  int32_t choice;              /* not -1: of the choices being made ahead, the one that decides the number */
} SimDrawTask;
typedef struct SimDrawnLevels {
  SimLevel *level;             /* [worlds][depth]: of the batch's size */
  uint32_t *ready;             /* [worlds][depth]: 1 + the episode of a level that has been drawn; 0: none */
  SimDrawTask *task;           /* [tasks]: levels being drawn */
  int64_t *tasks;
  int64_t *late;               /* levels that were drawn within a step so far */
  uint32_t depth;              /* 0: none is drawn ahead */
} SimDrawnLevels;

/* Arguments of the kernels that draw levels of single worlds. */
typedef struct SimDeviceRenew {
  SimChoices choices;          /* with the batch; unfiltered: until is NULL */
  SimDeviceLevelGenerator maker;
  SimDrawnLevels drawn;
  int start;                   /* also start an episode on it */
} SimDeviceRenew;

SIM_FN uint64_t sim_renew_key(const SimDeviceRenew *a, size_t w) {
  return sim_world_level_key(a->choices.batch.seed, a->choices.batch.first_world + (uint32_t)w);
}

/* Returns the number of the level of an episode, of the filter's two the late one or the early one. */
SIM_FN uint32_t sim_renew_number_of(const SimDeviceRenew *a, size_t w, uint32_t episode, bool late) {
  const SimFilterPair pair = sim_filter_pair(sim_renew_key(a, w), episode * SIM_FILTER_RATIO);
  return late ? pair.late : pair.early;
}

/* Returns the number of the level of an episode, whose choice has been made. */
SIM_FN uint32_t sim_renew_number(const SimDeviceRenew *a, size_t w, uint32_t episode) {
  if (!a->choices.until) return episode;
  return sim_renew_number_of(a, w, episode, a->choices.late[w] >> episode % SIM_AHEAD_BITS & 1);
}

SIM_FN size_t sim_drawn_slot(const SimDrawnLevels *drawn, size_t w, uint32_t episode) {
  return w * drawn->depth + episode % drawn->depth;
}

/* Returns the level of an episode; NULL if it has not been drawn ahead. */
SIM_FN const SimLevel *sim_drawn_level(const SimDrawnLevels *drawn, size_t w, uint32_t episode) {
  if (drawn->depth == 0) return 0;
  const size_t slot = sim_drawn_slot(drawn, w, episode);
  return drawn->ready[slot] == episode + 1 ? &drawn->level[slot] : 0;
}

CORE_KERNEL_FN void sim_list_draw(const SimDeviceRenew *a, SimDrawTask task) {
  if (sim_drawn_level(&a->drawn, task.world, task.episode)) return;
  a->drawn.task[core_device_atomic_increment(a->drawn.tasks)] = task;
}

/* Lists the levels of next episodes that are not drawn yet: with the filter, those that are chosen, and those that are
 * being chosen ahead. */
CORE_KERNEL_FN void sim_list_draws(const CoreDeviceThread *at, const SimDeviceRenew *a) {
  const SimChoices *choices = &a->choices;
  const size_t chosen = choices->until ? (size_t)*choices->ahead_count : 0;

  for (size_t w = core_device_first(at); w < (size_t)choices->batch.count; w += core_device_stride(at)) {
    const SimWorld *world = &choices->batch.worlds[w];
    uint32_t end = world->episode + a->drawn.depth + 1;
    if (choices->until && end > choices->until[w]) end = choices->until[w];
    for (uint32_t episode = world->episode + 1; episode < end && !world->keeps_level; episode++) {
      const SimDrawTask task = {(uint32_t)w, episode, sim_renew_number(a, w, episode), -1};
      sim_list_draw(a, task);
    }
  }

  for (size_t i = core_device_first(at); i < chosen * SIM_AHEAD_ROUND; i += core_device_stride(at)) {
    const uint32_t w = (uint32_t)choices->ahead_world[i / SIM_AHEAD_ROUND];
    const SimDrawTask task = {w, choices->ahead_episode[i / SIM_AHEAD_ROUND] + (uint32_t)(i % SIM_AHEAD_ROUND), 0,
                              (int32_t)i};
    if (task.episode <= choices->batch.worlds[w].episode + a->drawn.depth) sim_list_draw(a, task);
  }
}

/* Draws the listed levels. */
CORE_KERNEL_FN void sim_draw_ahead(const CoreDeviceThread *at, const SimDeviceRenew *a) {
  const size_t tasks = (size_t)*a->drawn.tasks;
  const SimSpread spread = sim_spread(at, tasks);
  for (size_t i = spread.first; i < tasks; i += spread.stride) {
    const SimDrawTask *task = &a->drawn.task[i];
    const uint32_t number = task->choice < 0 ? task->number
                            : sim_renew_number_of(a, task->world, task->episode,
                                                  a->choices.ahead_chosen[task->choice] != 0);
    SimLevel level;
    sim_generate_draw(a->maker.drawn, sim_renew_key(a, task->world), number, &level);
    sim_level_grow(&level, a->maker.size);
    sim_level_copy(&a->drawn.level[sim_drawn_slot(&a->drawn, task->world, task->episode)], &level);
  }
}

CORE_KERNEL_FN void sim_publish_draws(const CoreDeviceThread *at, const SimDeviceRenew *a) {
  for (size_t i = core_device_first(at); i < (size_t)*a->drawn.tasks; i += core_device_stride(at)) {
    const SimDrawTask *task = &a->drawn.task[i];
    a->drawn.ready[sim_drawn_slot(&a->drawn, task->world, task->episode)] = task->episode + 1;
  }
}

/* Gives the worlds in batch.waiting new levels: drawn ahead, or else now. Each world has a separate slot, after those
 * of the set. */
CORE_KERNEL_FN void sim_renew(const CoreDeviceThread *at, const SimDeviceRenew *a) {
  const size_t waiters = (size_t)*a->choices.batch.waiters;
  const SimSpread spread = sim_spread(at, waiters);

  for (size_t i = spread.first; i < waiters; i += spread.stride) {
    const size_t w = (size_t)a->choices.batch.waiting[i], slot = (size_t)a->choices.batch.levels + w;
    SimWorld *world = &a->choices.batch.worlds[w];
    const SimLevel *level = sim_drawn_level(&a->drawn, w, world->episode);
    SimLevel now;
    a->choices.batch.numbers[w] = sim_renew_number(a, w, world->episode);
    if (!level) {
      sim_generate_draw(a->maker.drawn, sim_renew_key(a, w), a->choices.batch.numbers[w], &now);
      sim_level_grow(&now, a->maker.size);
      level = &now;
      if (a->drawn.late) core_device_atomic_add(a->drawn.late, 1);
    }

    sim_level_ready(level, &a->maker.rules, &a->maker.models[slot],
                    a->maker.templates + slot * (size_t)a->maker.rules.length);
    if (a->start) sim_world_start(world, &a->choices.batch.models[slot], (int)slot);
  }
}

/* ---- observations of replaced levels ----------------------------------------------------------------------------- */

typedef struct SimDeviceRegenerateConstants {
  SimDeviceLevelGenerator maker;
  uint64_t seed;
  uint32_t first_world;
  const uint32_t *index;       /* [rows], as in sim_batch_regenerate_constants */
  const int32_t *level;
  size_t rows, worlds;
  float *observations;
} SimDeviceRegenerateConstants;

CORE_KERNEL_FN void sim_regenerate_constants(const CoreDeviceThread *at, const SimDeviceRegenerateConstants *a) {
  for (size_t i = core_device_first(at); i < a->rows; i += core_device_stride(at)) {
    const int32_t number = a->level[a->index[i]];
    SimLevel level;
    if (number >= 0) continue;
    sim_generate_draw(a->maker.drawn, sim_world_level_key(a->seed, a->first_world + a->index[i] % (uint32_t)a->worlds),
                      (uint32_t)(-1 - number), &level);
    sim_level_grow(&level, a->maker.size);
    sim_ready_row(&level, a->maker.rules.observation, a->observations + i * (size_t)a->maker.rules.length);
  }
}

#endif
