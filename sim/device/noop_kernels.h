/* Kernels that play levels with no-op actions, for the no-op filter (filter.h). There are two kinds of tasks. One tests
 * whether a level solves itself. The other chooses between the two levels that the filter has for an episode: it plays
 * the early one, and if that solves itself the late one.
 *
 * Each world of a warp (or each thread) has a slot: a world and the constants of its level. Its owner lane draws the
 * levels of one task after the other into the slot. A level is played for SIM_FILTER_STEPS or until its episode ends.
 * All tasks are one launch. Their number may be in device memory, so that the host need not synchronize. Listed in
 * kernels.def; launched by batch_device.c for level_device.c. */
#ifndef SIM_NOOP_KERNELS_H
#define SIM_NOOP_KERNELS_H
#include "sim/batch/filter_key.h"
#include "sim/device/batch_kernels.h"
#include "sim/levels/generate_draw.h"
#include "sim/task/level_ready.h"

/* Generates levels of a batch: draws one and compiles it into a slot. */
typedef struct SimDeviceLevelGenerator {
  SimModel *models;            /* [slots] */
  float *templates;            /* [slots][rules.length] */
  SimSize drawn, size;         /* size of the level: as drawn, and in the batch */
  SimReadyRules rules;
} SimDeviceLevelGenerator;

SIM_CALLED_FN void sim_device_generate_level(const SimDeviceLevelGenerator *m, uint64_t key, uint32_t number,
                                             size_t slot) {
  SimLevel level;
  sim_generate_draw(m->drawn, key, number, &level);
  sim_level_grow(&level, m->size);
  sim_level_ready(&level, &m->rules, &m->models[slot], m->templates + slot * (size_t)m->rules.length);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* Levels to test. */
typedef struct SimCandidates {
  uint64_t *key;               /* [count]: with number, the arguments of the generator */
  uint32_t *number;
  uint8_t *solved;             /* out: whether each solves itself */
  size_t count;
} SimCandidates;

/* Choices of levels for the episodes of a batch's worlds. Where possible they are made before they are needed: up to
 * SIM_AHEAD episodes of a world, SIM_AHEAD_ROUND of them in a round. */
enum { SIM_AHEAD = 8, SIM_AHEAD_ROUND = 2, SIM_AHEAD_BITS = 32 };
typedef struct SimChoices {
  SimDeviceBatch batch;
  uint32_t *until;             /* [worlds]: choices are made for episodes before this one */
  uint32_t *late;              /* [worlds]: bit (episode % SIM_AHEAD_BITS) is 1 where the late level was chosen */
  /* Choices being made ahead, in a stream concurrent with steps: */
  int32_t *ahead_world;        /* [ahead_count] */
  int64_t *ahead_count;
  uint32_t *ahead_episode;     /* [ahead_count]: of the world, the first of SIM_AHEAD_ROUND episodes */
  uint8_t *ahead_chosen;       /* [ahead_count][SIM_AHEAD_ROUND] out: 1 the late level, 0 the early one */
} SimChoices;

/* Stores the choice for an episode of world w. */
CORE_KERNEL_FN void sim_choice_store(const SimChoices *a, size_t w, uint32_t episode, bool late) {
  const uint32_t bit = (uint32_t)1 << episode % SIM_AHEAD_BITS;
  a->late[w] = late ? a->late[w] | bit : a->late[w] & ~bit;
  a->until[w] = episode + 1;
}

/* CANDIDATES: tests of levels. WAITING: choices that worlds need now (batch.waiting) and that were not made ahead; they
 * are stored. AHEAD: choices being made ahead. */
typedef enum SimNoopKind { SIM_NOOP_CANDIDATES, SIM_NOOP_WAITING, SIM_NOOP_AHEAD } SimNoopKind;

typedef struct SimDeviceNoop {
  SimDeviceWarpStep warp;      /* step of the batch whose worlds are the slots */
  SimDeviceLevelGenerator maker;
  SimNoopKind kind;
  SimCandidates tested;        /* candidates of the CANDIDATES tasks */
  SimChoices choices;
  unsigned first;              /* block of slots of the launch's first block */
} SimDeviceNoop;

/* Current task of a slot. */
typedef struct SimNoopTask {
  size_t number, world;
  uint32_t episode;
  uint64_t key;
  SimFilterPair pair;          /* CANDIDATES: the level is the early one */
  bool second;                 /* whether the late level is being played */
  int steps;                   /* environment steps played on the level */
} SimNoopTask;

SIM_FN size_t sim_noop_tasks(const SimDeviceNoop *a) {
  return a->kind == SIM_NOOP_CANDIDATES      ? a->tested.count
         : a->kind == SIM_NOOP_WAITING ? (size_t)*a->choices.batch.waiters
                                       : (size_t)*a->choices.ahead_count * SIM_AHEAD_ROUND;
}

/* Reads task t->number. Returns false if nothing is to be played for it, since its choice is made. */
SIM_FN bool sim_noop_read_task(const SimDeviceNoop *a, SimNoopTask *t) {
  const SimChoices *c = &a->choices;
  t->second = false;
  t->steps = 0;

  if (a->kind == SIM_NOOP_CANDIDATES) {
    t->key = a->tested.key[t->number];
    t->pair.early = a->tested.number[t->number];
    return true;
  }

  const bool ahead = a->kind == SIM_NOOP_AHEAD;
  const size_t at = ahead ? t->number / SIM_AHEAD_ROUND : t->number;
  t->world = (size_t)(ahead ? c->ahead_world : c->batch.waiting)[at];
  t->episode = ahead ? c->ahead_episode[at] + (uint32_t)(t->number % SIM_AHEAD_ROUND)
                     : c->batch.worlds[t->world].episode;
  if (!ahead && t->episode < c->until[t->world]) return false;

  t->key = sim_world_level_key(c->batch.seed, c->batch.first_world + (uint32_t)t->world);
  t->pair = sim_filter_pair(t->key, t->episode * SIM_FILTER_RATIO);
  return true;
}

/* Advances t->number by strides to the next task that needs playing; `tasks` or above: none. */
SIM_FN void sim_noop_next_task(const SimDeviceNoop *a, size_t tasks, size_t stride, SimNoopTask *t) {
  while (t->number < tasks && !sim_noop_read_task(a, t)) t->number += stride;
}

SIM_FN bool sim_noop_solved(const SimTaskResult *result) {
  return result->done && result->reward > SIM_FILTER_SOLVED_REWARD;
}

/* Processes a step of a task's level. Returns true if the task is done; its result is then written. A level ends after
 * SIM_FILTER_STEPS, or with its episode. */
CORE_KERNEL_FN bool sim_noop_finish_task(const SimDeviceNoop *a, SimNoopTask *t, const SimTaskResult *result) {
  const bool chooses = a->kind != SIM_NOOP_CANDIDATES, solved = sim_noop_solved(result);
  if (++t->steps < SIM_FILTER_STEPS && !result->done) return false;
  if (chooses && solved && !t->second) {
    t->second = true;
    t->steps = 0;
    return false;
  }
  const bool late = chooses && t->second && !sim_filter_keeps_early(t->key, t->pair, solved);
  switch (a->kind) {
    case SIM_NOOP_CANDIDATES: a->tested.solved[t->number] = solved; break;
    case SIM_NOOP_WAITING: sim_choice_store(&a->choices, t->world, t->episode, late); break;
    case SIM_NOOP_AHEAD: a->choices.ahead_chosen[t->number] = late; break;
  }
  return true;
}

/* Generates the task's current level in its slot and starts an episode on it. */
CORE_KERNEL_FN void sim_noop_begin(const SimDeviceNoop *a, const SimNoopTask *t, size_t slot) {
  sim_device_generate_level(&a->maker, t->key, t->second ? t->pair.late : t->pair.early, slot);
  sim_world_start(&a->warp.step.batch.worlds[slot], &a->maker.models[slot], (int)slot);
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* Starting levels and stepping share one loop, so that the worlds of a warp step together. */

/* One thread per slot. */
CORE_KERNEL_FN void sim_noop_alone(const CoreDeviceThread *at, const SimDeviceNoop *a) {
  const size_t tasks = sim_noop_tasks(a), slot = (size_t)a->first * at->threads + core_device_first(at);
  const SimCommand idle = {0};
  SimScratch scratch;
  SimNoopTask task = {.number = core_device_first(at)};
  for (sim_noop_next_task(a, tasks, core_device_stride(at), &task); task.number < tasks;) {
    if (task.steps == 0) sim_noop_begin(a, &task, slot);
    const SimTaskResult result = sim_task_step(&a->warp.step.rules, &a->maker.models[slot],
                                               &a->warp.step.batch.worlds[slot], &idle, &scratch);
    if (!sim_noop_finish_task(a, &task, &result)) continue;
    task.number += core_device_stride(at);
    sim_noop_next_task(a, tasks, core_device_stride(at), &task);
  }
}

/* One warp for several slots, an owner lane each. Slots without a task keep stepping while others have one. */
CORE_KERNEL_FN void sim_noop_warp(const CoreDeviceThread *at, const SimDeviceNoop *a) {
  const size_t worlds = (size_t)a->warp.layout.worlds, stride = at->blocks * worlds, tasks = sim_noop_tasks(a);
  SimWarp t = sim_warp_of(at, &a->warp.layout, a->warp.spill);
  const size_t slot = (a->first + at->block) * worlds + t.lane;
  const SimCommand idle = {0};
  SimNoopTask task = {.number = t.lane < worlds ? at->block * worlds + t.lane : tasks};

  sim_noop_next_task(a, tasks, stride, &task);
  for (uint32_t busy; (busy = sim_warp_ballot(&t, task.number < tasks)) != 0;) {
    for (t.count = 0; busy != 0; busy >>= 1) t.count++;
    if (sim_warp_owns(&t)) {
      SimWarpWorld *world = &t.world[t.lane];
      world->state = &a->warp.step.batch.worlds[slot];
      world->model = &a->maker.models[slot];
      world->command = idle;
      if (task.number < tasks && task.steps == 0) sim_noop_begin(a, &task, slot);
    }

    const SimTaskResult result = sim_device_play_step(&t, &a->warp.step.rules);
    if (task.number >= tasks || !sim_noop_finish_task(a, &task, &result)) continue;
    task.number += stride;
    sim_noop_next_task(a, tasks, stride, &task);
  }
}

#endif
