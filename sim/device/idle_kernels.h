/* Kernels that play levels with idle hands, for the no-op filter (filter.h). A task is a level that may solve itself,
 * or a choice between the two levels that the filter has for an episode: its first level is played, and if that solves
 * itself the other one. Each world of a warp (or each thread) has a place of its own, into which its keeper draws
 * levels, one task after the other; they are played for as long as the filter asks or until their first episode ends,
 * all in one launch. How many tasks there are may stand in device memory, so that nobody waits for their number. Listed
 * in kernels.def; launched by batch_device.c for level_device.c. */
#ifndef SIM_IDLE_KERNELS_H
#define SIM_IDLE_KERNELS_H
#include "sim/batch/filter_time.h"
#include "sim/device/batch_kernels.h"
#include "sim/levels/generate_draw.h"
#include "sim/task/level_ready.h"

/* How drawn levels become a batch's. */
typedef struct SimDeviceMaker {
  SimModel *models;            /* [places] */
  float *templates;            /* [places][rules.length] */
  SimSize drawn, size;         /* slots when drawn, slots in the batch */
  SimReadyRules rules;
} SimDeviceMaker;

SIM_CALLED_FN void sim_device_make(const SimDeviceMaker *m, uint64_t key, uint32_t number, size_t place) {
  SimLevel level;
  sim_generate_draw(m->drawn, key, number, &level);
  sim_level_grow(&level, m->size);
  sim_level_ready(&level, &m->rules, &m->models[place], m->templates + place * (size_t)m->rules.length);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* Levels. */
typedef struct SimCast {
  uint64_t *key;               /* [count] of the generator */
  uint32_t *number;
  uint8_t *solved;             /* the result: do they solve themselves? */
  size_t count;
} SimCast;

/* Choices for episodes of a batch's worlds, which are decided ahead of their time where that can be: up to SIM_AHEAD a
 * world, a bit each, SIM_AHEAD_ROUND of them in a round. */
enum { SIM_AHEAD = 8, SIM_AHEAD_ROUND = 2, SIM_AHEAD_BITS = 32 };
typedef struct SimChoices {
  SimDeviceBatch batch;
  uint32_t *until;             /* [worlds]: episodes before this one are decided */
  uint32_t *late;              /* [worlds]: bit (episode % SIM_AHEAD_BITS): the level that comes up later is kept */
  /* Those that are made ahead, beside steps: */
  int32_t *who;                /* [worlds] for these worlds ... */
  int64_t *listed;             /* ... so many, ... */
  uint32_t *episode;           /* [worlds] for this episode of each and those after it; */
  uint8_t *chosen;             /* [worlds][SIM_AHEAD_ROUND] and the result, 1: the later level */
} SimChoices;

CORE_KERNEL_FN void sim_choice_settle(const SimChoices *a, size_t w, uint32_t episode, bool late) {
  const uint32_t bit = (uint32_t)1 << episode % SIM_AHEAD_BITS;
  a->late[w] = late ? a->late[w] | bit : a->late[w] & ~bit;
  a->until[w] = episode + 1;
}

/* WAITING: choices that worlds wait for now (batch.waiting) and nobody made before; they are settled. */
typedef enum SimIdleKind { SIM_IDLE_CAST, SIM_IDLE_WAITING, SIM_IDLE_AHEAD } SimIdleKind;

typedef struct SimDeviceIdle {
  SimDeviceWarpStep warp;      /* of the batch whose places are played in */
  SimDeviceMaker maker;
  SimIdleKind kind;
  SimCast cast;
  SimChoices choices;
  unsigned first;              /* block of places that this launch's first block plays in */
} SimDeviceIdle;

/* What a place is at. */
typedef struct SimIdleTask {
  size_t number, world;
  uint32_t episode;
  uint64_t key;
  SimFilterPair pair;          /* of a cast: the level is the early one */
  bool second;                 /* the late one is played */
  int steps;                   /* that it was played for */
} SimIdleTask;

SIM_FN size_t sim_idle_tasks(const SimDeviceIdle *a) {
  return a->kind == SIM_IDLE_CAST      ? a->cast.count
         : a->kind == SIM_IDLE_WAITING ? (size_t)*a->choices.batch.waiters
                                       : (size_t)*a->choices.listed * SIM_AHEAD_ROUND;
}

/* Reads task number t->number; is there anything to play for it? */
SIM_FN bool sim_idle_read(const SimDeviceIdle *a, SimIdleTask *t) {
  const SimChoices *c = &a->choices;
  t->second = false;
  t->steps = 0;
  if (a->kind == SIM_IDLE_CAST) {
    t->key = a->cast.key[t->number];
    t->pair.early = a->cast.number[t->number];
    return true;
  }
  const bool ahead = a->kind == SIM_IDLE_AHEAD;
  const size_t place = ahead ? t->number / SIM_AHEAD_ROUND : t->number;
  t->world = (size_t)(ahead ? c->who : c->batch.waiting)[place];
  t->episode = ahead ? c->episode[place] + (uint32_t)(t->number % SIM_AHEAD_ROUND) : c->batch.worlds[t->world].episode;
  if (!ahead && t->episode < c->until[t->world]) return false;
  t->key = sim_world_level_key(c->batch.seed, c->batch.first_world + (uint32_t)t->world);
  t->pair = sim_filter_pair(t->key, t->episode * SIM_FILTER_RATIO);
  return true;
}

/* From t->number on, of every stride-th: the first task that is to be played for. Number `tasks` or above: none. */
SIM_FN void sim_idle_seek(const SimDeviceIdle *a, size_t tasks, size_t stride, SimIdleTask *t) {
  while (t->number < tasks && !sim_idle_read(a, t)) t->number += stride;
}

SIM_FN bool sim_idle_solved(const SimTaskResult *result) {
  return result->done && result->reward > SIM_FILTER_SOLVED_REWARD;
}

/* After a step: is the task done, and its result written? A level is over after SIM_FILTER_STEPS, or
 * with its episode. */
CORE_KERNEL_FN bool sim_idle_conclude(const SimDeviceIdle *a, SimIdleTask *t, const SimTaskResult *result) {
  const bool chooses = a->kind != SIM_IDLE_CAST, solved = sim_idle_solved(result);
  if (++t->steps < SIM_FILTER_STEPS && !result->done) return false;
  if (chooses && solved && !t->second) {
    t->second = true;
    t->steps = 0;
    return false;
  }
  const bool late = chooses && t->second && !sim_filter_keeps_early(t->key, t->pair, solved);
  switch (a->kind) {
    case SIM_IDLE_CAST: a->cast.solved[t->number] = solved; break;
    case SIM_IDLE_WAITING: sim_choice_settle(&a->choices, t->world, t->episode, late); break;
    case SIM_IDLE_AHEAD: a->choices.chosen[t->number] = late; break;
  }
  return true;
}

/* Draws the level that the task is at and puts it at its start. */
CORE_KERNEL_FN void sim_idle_begin(const SimDeviceIdle *a, const SimIdleTask *t, size_t place) {
  sim_device_make(&a->maker, t->key, t->second ? t->pair.late : t->pair.early, place);
  sim_world_start(&a->warp.step.batch.worlds[place], &a->maker.models[place], (int)place);
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* Beginnings of levels and steps are one loop, so that worlds of a warp step together whatever each of them is at. */

/* A thread a task. */
CORE_KERNEL_FN void sim_idle_alone(const CoreDeviceThread *at, const SimDeviceIdle *a) {
  const size_t tasks = sim_idle_tasks(a), place = (size_t)a->first * at->threads + core_device_first(at);
  const SimCommand idle = {0};
  SimScratch scratch;
  SimIdleTask task = {.number = core_device_first(at)};
  for (sim_idle_seek(a, tasks, core_device_stride(at), &task); task.number < tasks;) {
    if (task.steps == 0) sim_idle_begin(a, &task, place);
    const SimTaskResult result = sim_task_step(&a->warp.step.rules, &a->maker.models[place],
                                               &a->warp.step.batch.worlds[place], &idle, &scratch);
    if (!sim_idle_conclude(a, &task, &result)) continue;
    task.number += core_device_stride(at);
    sim_idle_seek(a, tasks, core_device_stride(at), &task);
  }
}

/* Keepers' tasks. Those that have none left when others do just step on in their places, up to the last one's. */
CORE_KERNEL_FN void sim_idle_team(const CoreDeviceThread *at, const SimDeviceIdle *a) {
  const size_t worlds = (size_t)a->warp.layout.worlds, stride = at->blocks * worlds, tasks = sim_idle_tasks(a);
  SimWarp t = sim_warp_of(at, &a->warp.layout, a->warp.far_memory);
  const size_t place = (a->first + at->block) * worlds + t.lane;
  const SimCommand idle = {0};
  SimIdleTask task = {.number = t.lane < worlds ? at->block * worlds + t.lane : tasks};
  sim_idle_seek(a, tasks, stride, &task);
  for (uint32_t busy; (busy = sim_warp_ballot(&t, task.number < tasks)) != 0;) {
    for (t.count = 0; busy != 0; busy >>= 1) t.count++;
    if (sim_warp_keeps(&t)) {
      SimWarpWorld *world = &t.world[t.lane];
      world->state = &a->warp.step.batch.worlds[place];
      world->model = &a->maker.models[place];
      world->command = idle;
      if (task.number < tasks && task.steps == 0) sim_idle_begin(a, &task, place);
    }
    const SimTaskResult result = sim_device_play_step(&t, &a->warp.step.rules);
    if (task.number >= tasks || !sim_idle_conclude(a, &task, &result)) continue;
    task.number += stride;
    sim_idle_seek(a, tasks, stride, &task);
  }
}

#endif
