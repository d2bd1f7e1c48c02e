/* Kernels that play levels with idle hands, for the no-op filter (filter.h). A task is a level that may solve itself, or
 * a choice between the two levels that the filter has for an episode: its first level is played, and if that solves
 * itself the other one. A team of lanes (or a thread) draws levels into a place of its own, plays them for as long as the
 * filter asks or until their first episode ends, and judges, for one task after the other and all in one launch. How many
 * tasks there are may stand in device memory, so that nobody waits for their number. Listed in kernels.def; launched by
 * batch_device.c for level_device.c. */
#ifndef SIM_IDLE_KERNELS_H
#define SIM_IDLE_KERNELS_H
#include "sim/batch_kernels.h"
#include "sim/filter_time.h"
#include "sim/generate_draw.h"
#include "sim/level_ready.h"

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
  SimDeviceTeamStep team;      /* of the batch whose places are played in */
  SimDeviceMaker maker;
  SimIdleKind kind;
  SimCast cast;
  SimChoices choices;
  size_t first, places;        /* places first .. first + places - 1 are this launch's */
} SimDeviceIdle;

/* What a team is at. All of its lanes know it alike. */
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

/* The level being played is over: is the task? Its result is then written by who `writes`. */
CORE_KERNEL_FN bool sim_idle_conclude(const SimDeviceIdle *a, SimIdleTask *t, bool solved, bool writes) {
  const bool chooses = a->kind != SIM_IDLE_CAST;
  if (chooses && solved && !t->second) {
    t->second = true;
    t->steps = 0;
    return false;
  }
  const bool late = chooses && t->second && !sim_filter_keeps_early(t->key, t->pair, solved);
  if (!writes) return true;
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
  sim_world_start(&a->team.step.batch.worlds[place], &a->maker.models[place], (int)place);
}

SIM_FN bool sim_idle_solved(const SimTaskResult *result) {
  return result->done && result->reward > SIM_FILTER_SOLVED_REWARD;
}

/* ---- playing ----------------------------------------------------------------------------------------------------- */

/* Beginnings of levels and steps are one loop, so that teams of a warp step together whatever each of them is at. */

/* A thread a task. */
CORE_KERNEL_FN void sim_idle_alone(const CoreDeviceThread *at, const SimDeviceIdle *a) {
  const size_t threads = core_device_stride(at) < a->places ? core_device_stride(at) : a->places;
  const size_t tasks = sim_idle_tasks(a), own = core_device_first(at), place = a->first + own;
  const SimCommand idle = {0};
  SimScratch scratch;
  SimIdleTask task;
  if (own >= threads) return;
  task.number = own;
  for (sim_idle_seek(a, tasks, threads, &task); task.number < tasks;) {
    if (task.steps == 0) sim_idle_begin(a, &task, place);
    const SimTaskResult result = sim_task_step(&a->team.step.rules, &a->maker.models[place],
                                               &a->team.step.batch.worlds[place], &idle, &scratch);
    if (++task.steps < SIM_FILTER_STEPS && !result.done) continue;
    if (!sim_idle_conclude(a, &task, sim_idle_solved(&result), true)) continue;
    task.number += threads;
    sim_idle_seek(a, tasks, threads, &task);
  }
}

/* An environment step of the team's world: is its episode over, and was it solved? To every lane. */
CORE_KERNEL_FN bool sim_idle_step(SimTeam *t, const SimTaskRules *rules, bool *solved) {
  const SimCommand idle = {0};
  const SimTaskResult result = sim_device_play_step(t, rules, &idle);
  const bool done = sim_team_ballot(t, t->lane == 0 && result.done) != 0;
  *solved = done && sim_team_ballot(t, t->lane == 0 && sim_idle_solved(&result)) != 0;
  sim_team_barrier(t); /* the world is read by all in its next step */
  return done;
}

/* A team of `lanes` a task. The first lane draws, which the others wait for. */
CORE_KERNEL_FN void sim_idle_team(const CoreDeviceThread *at, const SimDeviceIdle *a, unsigned lanes) {
  const size_t all = core_device_stride(at) / lanes, teams = all < a->places ? all : a->places;
  const size_t tasks = sim_idle_tasks(a), own = core_device_first(at) / lanes, place = a->first + own;
  SimTeam t = sim_device_team(at, lanes, &a->team);
  SimIdleTask task;
  if (own >= teams) return;
  t.overflow = a->team.overflow + place * (size_t)a->team.layout.overflow;
  t.world = &a->team.step.batch.worlds[place];
  t.model = &a->maker.models[place];
  task.number = own;
  for (sim_idle_seek(a, tasks, teams, &task); task.number < tasks;) {
    bool solved;
    if (task.steps == 0) {
      if (t.lane == 0) sim_idle_begin(a, &task, place);
      sim_team_barrier(&t);
    }
    const bool done = sim_idle_step(&t, &a->team.step.rules, &solved);
    if (++task.steps < SIM_FILTER_STEPS && !done) continue;
    if (!sim_idle_conclude(a, &task, solved, t.lane == 0)) continue;
    task.number += teams;
    sim_idle_seek(a, tasks, teams, &task);
  }
}
CORE_KERNEL_FN void sim_idle_team_4(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 4); }
CORE_KERNEL_FN void sim_idle_team_8(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 8); }
CORE_KERNEL_FN void sim_idle_team_16(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 16); }

#endif
