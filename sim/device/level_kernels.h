/* The kernels of random levels on a device: drawing them and making them ready, a thread a level, and what the no-op
 * filter (filter.h) keeps of those that were played (idle_kernels.h). Listed in kernels.def; launched by
 * level_device.c. Who keeps a level is decided by the same functions as on the host, so the levels are the same. */
#ifndef SIM_LEVEL_KERNELS_H
#define SIM_LEVEL_KERNELS_H
#include "sim/device/idle_kernels.h"

enum { SIM_GROUP_KEPT = SIM_STREAM_GROUP, SIM_GROUP_DRAWN = SIM_FILTER_RATIO * SIM_STREAM_GROUP };

/* ---- levels of known numbers ------------------------------------------------------------------------------------- */

typedef struct SimDeviceRecall {
  SimDeviceMaker maker;
  uint64_t key;
  const uint32_t *numbers;     /* [count] */
  size_t count, place;         /* into places place .. place + count - 1 */
} SimDeviceRecall;

CORE_KERNEL_FN void sim_recall(const CoreDeviceThread *at, const SimDeviceRecall *a) {
  for (size_t i = core_device_first(at); i < a->count; i += core_device_stride(at))
    sim_device_make(&a->maker, a->key, a->numbers[i], a->place + i);
}

/* ---- groups of a sequence (level_stream.h) ----------------------------------------------------------------------- */

/* `groups` whole groups from number `base` of `key` on; candidate c of them is number base + c. Plays take some of each
 * group in the order that they would come up in: ranks first_rank .. first_rank + ranks - 1. */
typedef struct SimDeviceGroups {
  SimCast cast;
  uint64_t key;
  uint32_t base;
  size_t groups, first_rank, ranks;
  const int32_t *lacking;      /* [groups that play]; NULL: all play */
  int32_t *lacks;              /* [groups]: those that too few have been found for ... */
  int64_t *lackers;            /* ... and how many they are */
  int64_t *good;               /* [groups] that do not solve themselves, of those played */
  double *time;                /* [groups][SIM_GROUP_DRAWN]: when it comes up */
  uint8_t *played, *chosen;
  uint32_t *order;             /* [groups][SIM_GROUP_DRAWN]: candidates of the group by time */
  uint32_t *numbers;           /* [groups][SIM_GROUP_KEPT]: the result */
} SimDeviceGroups;

SIM_FN bool sim_group_precedes(const double *time, size_t a, size_t b) {
  return time[a] < time[b] || (time[a] == time[b] && a < b);
}

CORE_KERNEL_FN void sim_group_times(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    a->time[c] = sim_filter_time(a->key, a->base + (uint32_t)c, false);
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

/* Which candidate world i plays. */
SIM_FN size_t sim_group_candidate(const SimDeviceGroups *a, size_t i) {
  const size_t group = a->lacking ? (size_t)a->lacking[i / a->ranks] : i / a->ranks;
  return group * SIM_GROUP_DRAWN + a->order[group * SIM_GROUP_DRAWN + a->first_rank + i % a->ranks];
}

CORE_KERNEL_FN void sim_group_cast(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t i = core_device_first(at); i < a->cast.count; i += core_device_stride(at)) {
    a->cast.key[i] = a->key;
    a->cast.number[i] = a->base + (uint32_t)sim_group_candidate(a, i);
  }
}

CORE_KERNEL_FN void sim_group_judge(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t i = core_device_first(at); i < a->cast.count; i += core_device_stride(at)) {
    const size_t c = sim_group_candidate(a, i);
    a->played[c] = 1;
    if (a->cast.solved[i]) a->time[c] = sim_filter_time(a->key, a->base + (uint32_t)c, true);
    else core_device_atomic_add(&a->good[c / SIM_GROUP_DRAWN], 1);
  }
}

CORE_KERNEL_FN void sim_group_lacks(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t g = core_device_first(at); g < a->groups; g += core_device_stride(at))
    if (a->good[g] < SIM_GROUP_KEPT) a->lacks[core_device_atomic_increment(a->lackers)] = (int32_t)g;
}

/* The candidates played that come up first. Those not played could only have come later. */
CORE_KERNEL_FN void sim_group_choose(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    const size_t first = c - c % SIM_GROUP_DRAWN;
    size_t before = 0;
    for (size_t k = first; k < first + SIM_GROUP_DRAWN; k++)
      before += a->played[k] && sim_group_precedes(a->time, k, c);
    a->chosen[c] = a->played[c] && before < SIM_GROUP_KEPT;
  }
}

/* In the order of their numbers. */
CORE_KERNEL_FN void sim_group_number(const CoreDeviceThread *at, const SimDeviceGroups *a) {
  for (size_t c = core_device_first(at); c < a->groups * SIM_GROUP_DRAWN; c += core_device_stride(at)) {
    const size_t first = c - c % SIM_GROUP_DRAWN;
    size_t before = 0;
    for (size_t k = first; k < c; k++) before += a->chosen[k];
    if (a->chosen[c]) a->numbers[c / SIM_GROUP_DRAWN * SIM_GROUP_KEPT + before] = a->base + (uint32_t)c;
  }
}

/* ---- new levels of single worlds --------------------------------------------------------------------------------- */

/* Lists the worlds of which a round more may be decided, from the first episode on that is not. */
CORE_KERNEL_FN void sim_choose_ahead(const CoreDeviceThread *at, const SimChoices *a) {
  for (size_t w = core_device_first(at); w < (size_t)a->batch.count; w += core_device_stride(at)) {
    const SimWorld *world = &a->batch.worlds[w];
    const uint32_t last = a->until[w] + SIM_AHEAD_ROUND - 1;
    if (world->keeps_level || a->until[w] <= world->episode || last > world->episode + SIM_AHEAD) continue;
    const int64_t place = core_device_atomic_increment(a->listed);
    a->who[place] = (int32_t)w;
    a->episode[place] = a->until[w];
  }
}

/* Settles what was listed and then chosen, unless a world could not wait and has come to its choice by itself. */
CORE_KERNEL_FN void sim_choose_publish(const CoreDeviceThread *at, const SimChoices *a) {
  for (size_t i = core_device_first(at); i < (size_t)*a->listed; i += core_device_stride(at)) {
    const size_t w = (size_t)a->who[i];
    for (uint32_t k = 0; k < SIM_AHEAD_ROUND; k++)
      if (a->episode[i] + k >= a->until[w])
        sim_choice_settle(a, w, a->episode[i] + k, a->chosen[i * SIM_AHEAD_ROUND + k] != 0);
  }
}

/* The worlds that wait for a new level, batch.waiting. */
typedef struct SimDeviceRenew {
  SimDeviceBatch batch;
  SimDeviceMaker maker;
  const uint32_t *late;        /* as in SimChoices, all decided; NULL: unfiltered */
  int start;                   /* put the world at the level's start, too */
} SimDeviceRenew;

/* Makes the levels in their worlds' own places, behind the set's. */
CORE_KERNEL_FN void sim_renew(const CoreDeviceThread *at, const SimDeviceRenew *a) {
  for (size_t i = core_device_first(at); i < (size_t)*a->batch.waiters; i += core_device_stride(at)) {
    const size_t w = (size_t)a->batch.waiting[i], place = (size_t)a->batch.levels + w;
    SimWorld *world = &a->batch.worlds[w];
    const uint64_t key = sim_world_level_key(a->batch.seed, a->batch.first_world + (uint32_t)w);
    uint32_t number = world->episode;
    if (a->late) {
      const SimFilterPair pair = sim_filter_pair(key, world->episode * SIM_FILTER_RATIO);
      number = a->late[w] >> world->episode % SIM_AHEAD_BITS & 1 ? pair.late : pair.early;
    }
    a->batch.numbers[w] = number;
    sim_device_make(&a->maker, key, number, place);
    if (a->start) sim_world_start(world, &a->batch.models[place], (int)place);
  }
}

/* ---- constants of levels that are gone --------------------------------------------------------------------------- */

typedef struct SimDeviceShowAgain {
  SimDeviceMaker maker;
  uint64_t seed;
  uint32_t first_world;
  const uint32_t *index;       /* [rows], as sim_batch_show_again has it */
  const int32_t *level;
  size_t rows, worlds;
  float *observations;
} SimDeviceShowAgain;

CORE_KERNEL_FN void sim_show_again(const CoreDeviceThread *at, const SimDeviceShowAgain *a) {
  for (size_t i = core_device_first(at); i < a->rows; i += core_device_stride(at)) {
    const int32_t number = a->level[a->index[i]];
    SimLevel level;
    if (number >= 0) continue;
    sim_generate_draw(a->maker.drawn, sim_world_level_key(a->seed, a->first_world + a->index[i] % (uint32_t)a->worlds),
                      (uint32_t)(-1 - number), &level);
    sim_level_grow(&level, a->maker.size);
    sim_observe_make_template(&level, a->observations + i * (size_t)a->maker.rules.length);
  }
}

#endif
