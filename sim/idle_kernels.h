/* Kernels that play levels with idle hands, for the no-op filter (filter.h): a task is a level of the generator, which a
 * team of lanes (or a thread) draws into a place of its own, plays for as long as the filter asks or until its first
 * episode ends, and judges, all in one launch. Tasks may be more than places, and how many they are may stand in device
 * memory, so that nobody waits for their number. Listed in kernels.def; launched by batch_device.c for level_device.c. */
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

CORE_KERNEL_FN void sim_device_make(const SimDeviceMaker *m, uint64_t key, uint32_t number, size_t place) {
  SimLevel level;
  sim_generate_draw(m->drawn, key, number, &level);
  sim_level_grow(&level, m->size);
  sim_level_ready(&level, &m->rules, &m->models[place], m->templates + place * (size_t)m->rules.length);
}

/* Levels to play. */
typedef struct SimCast {
  uint64_t *key;               /* [tasks] of the generator */
  uint32_t *number;
  uint8_t *solved;             /* the result: do they solve themselves? */
  const int64_t *counted;      /* how many tasks there are, in device memory; NULL: */
  size_t count;
} SimCast;

SIM_FN size_t sim_cast_count(const SimCast *cast) { return cast->counted ? (size_t)*cast->counted : cast->count; }

typedef struct SimDeviceIdle {
  SimDeviceTeamStep team;      /* of the batch whose places are played in */
  SimDeviceMaker maker;
  SimCast cast;
  size_t first, places;        /* places first .. first + places - 1 are this launch's */
} SimDeviceIdle;

SIM_FN bool sim_idle_solved(const SimTaskResult *result) { return result->done && result->reward > SIM_FILTER_SOLVED_REWARD; }

/* Draws task i and puts it at its start. */
CORE_KERNEL_FN SimWorld *sim_idle_begin(const SimDeviceIdle *a, size_t i, size_t place) {
  SimWorld *world = &a->team.step.batch.worlds[place];
  sim_device_make(&a->maker, a->cast.key[i], a->cast.number[i], place);
  sim_world_start(world, &a->maker.models[place], (int)place);
  return world;
}

/* A thread a task. */
CORE_KERNEL_FN void sim_idle_alone(const CoreDeviceThread *at, const SimDeviceIdle *a) {
  const size_t threads = core_device_stride(at) < a->places ? core_device_stride(at) : a->places;
  const size_t tasks = sim_cast_count(&a->cast), own = core_device_first(at);
  const SimCommand idle = {0};
  SimScratch scratch;
  for (size_t i = own; own < threads && i < tasks; i += threads) {
    SimWorld *world = sim_idle_begin(a, i, a->first + own);
    SimTaskResult result = {0};
    for (int step = 0; step < SIM_FILTER_STEPS && !result.done; step++)
      result = sim_task_step(&a->team.step.rules, &a->maker.models[a->first + own], world, &idle, &scratch);
    a->cast.solved[i] = sim_idle_solved(&result);
  }
}

/* An environment step of the team's world: is its episode over, to every lane? *solved is the first lane's. */
CORE_KERNEL_FN bool sim_idle_step(SimTeam *t, const SimTaskRules *rules, bool *solved) {
  const SimCommand idle = {0};
  SimTaskResult result = {0};
  SimTeamJoint joint;
  sim_team_begin(t, &idle, &joint);
  for (int k = 0; k < rules->frame_skip; k++) {
    const int bits = sim_team_step(t, &idle, &joint);
    sim_task_judge(t->model, t->body, bits, &result);
  }
  const bool nonfinite = sim_team_end_steps(t, &joint);
  sim_team_barrier(t);
  if (t->lane == 0) {
    sim_task_close(rules, nonfinite, t->world, &result);
    *solved = sim_idle_solved(&result);
  }
  sim_team_barrier(t); /* the world is read by all in its next step */
  return sim_team_ballot(t, t->lane == 0 && result.done) != 0;
}

/* A team of `lanes` a task. The first lane draws, which the others wait for. */
CORE_KERNEL_FN void sim_idle_team(const CoreDeviceThread *at, const SimDeviceIdle *a, unsigned lanes) {
  const size_t all = core_device_stride(at) / lanes, teams = all < a->places ? all : a->places;
  const size_t tasks = sim_cast_count(&a->cast), own = core_device_first(at) / lanes, place = a->first + own;
  SimTeam t = sim_device_team(at, lanes, &a->team);
  if (own >= teams) return;
  t.overflow = a->team.overflow + place * (size_t)a->team.layout.overflow;
  t.world = &a->team.step.batch.worlds[place];
  t.model = &a->maker.models[place];
  for (size_t i = own; i < tasks; i += teams) {
    bool solved = false, done = false;
    if (t.lane == 0) sim_idle_begin(a, i, place);
    sim_team_barrier(&t);
    for (int step = 0; step < SIM_FILTER_STEPS && !done; step++) done = sim_idle_step(&t, &a->team.step.rules, &solved);
    if (t.lane == 0) a->cast.solved[i] = solved;
    sim_team_barrier(&t);
  }
}
CORE_KERNEL_FN void sim_idle_team_4(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 4); }
CORE_KERNEL_FN void sim_idle_team_8(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 8); }
CORE_KERNEL_FN void sim_idle_team_16(const CoreDeviceThread *at, const SimDeviceIdle *a) { sim_idle_team(at, a, 16); }

#endif
