/* Speed of worlds under random actions: environment steps (two physics steps, reward, observation, auto-reset)
 * and bare physics steps ("engine"), on the loco512 sets and on the S, M and L levels in the directory
 * KINETIX_LEVELS, if set; with one and with all threads; and sequentially instead of side by side. And the limit: the
 * floating-point operations of a step, counted from its pairs, contacts and joints, its bytes, and their fraction of
 * this machine's peak (bench_peak.h). */
#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/terminal.h"
#include "sim/batch/batch_internal.h"
#include "sim/levels/level_set.h"
#include "tests/bench/bench_peak.h"

enum { WORLDS = 1024, ACTION_SETS = 64, EPISODE = 256 };

/* A batch with all that steps need. */
typedef struct Bench {
  SimBatch *batch;
  float *observations, *reward;
  uint8_t *done, *actions; /* actions: [ACTION_SETS][WORLDS][SIM_ACTIONS] */
} Bench;

static int bench_create(const SimLevelSet *levels, bool engine, Bench *b) {
  SimBatchOptions options = sim_batch_options_default();
  options.worlds = WORLDS;
  options.frame_skip = engine ? 1 : 2;
  TRY(sim_batch_create(&options, levels, &b->batch));
  b->observations = core_memory_allocate(WORLDS * (size_t)sim_batch_observation_length(b->batch) * sizeof(float));
  b->reward = core_memory_allocate(WORLDS * sizeof *b->reward);
  b->done = core_memory_allocate(WORLDS);
  b->actions = core_memory_allocate((size_t)ACTION_SETS * WORLDS * SIM_ACTIONS);
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  for (size_t i = 0; i < (size_t)ACTION_SETS * WORLDS * SIM_ACTIONS; i++)
    b->actions[i] = (uint8_t)core_random_below(core_random_next(&stream), i % SIM_ACTIONS < SIM_MOTOR_BINDINGS ? 3 : 2);
  return CORE_OK;
}

static void bench_destroy(Bench *b) {
  free(b->observations), free(b->reward), free(b->done), free(b->actions);
  sim_batch_destroy(&b->batch);
}

static const uint8_t *actions_of(const Bench *b, int step) {
  return b->actions + (size_t)(step % ACTION_SETS) * WORLDS * SIM_ACTIONS;
}

/* Steps per second, physics steps with `engine`; 0 when the batch cannot be made. */
static double steps_per_second(const SimLevelSet *levels, bool engine, int threads) {
  Bench b;
  if (bench_create(levels, engine, &b) != CORE_OK) return 0;
  omp_set_num_threads(threads);
  sim_batch_reset(b.batch, b.observations);
  const SimStepOut all = {.observations = b.observations, .reward = b.reward, .done = b.done}, nothing = {0};
  int64_t steps = 0;
  double start = 0;
  for (int i = 0; i == 0 || core_clock_s() - start < 2; i++) {
    if (i == 32) start = core_clock_s(), steps = 0; /* after warm-up */
    if (start == 0) start = core_clock_s();
    sim_batch_step(b.batch, actions_of(&b, i), engine ? &nothing : &all);
    steps += WORLDS;
  }
  const double rate = (double)steps / (core_clock_s() - start);
  bench_destroy(&b);
  return rate;
}

/* Additions, subtractions, multiplications, divisions, roots, minima and maxima, as collide.h ... step.h write them;
 * sine and cosine together are 29, selects and comparisons none. Pairs whose boxes do not meet count nothing. */
enum {
  OPERATIONS_BODY = 2 + 12 + 29,  /* falls, moves, turns */
  OPERATIONS_POLYGON = 32 + 12,   /* corners and their box */
  OPERATIONS_OVERLAP = 64 + 128,  /* corners in the other's frame, eight faces */
  OPERATIONS_MANIFOLD = 30 + 60 + 24,
  OPERATIONS_CIRCLE_POLYGON = 4 * 26 + 34,
  OPERATIONS_CIRCLES = 14,
  OPERATIONS_CONTACT = 14 + 24,   /* restitution, warm start */
  OPERATIONS_APPLY_CONTACT = 129,
  OPERATIONS_JOINT = 14 + 24,     /* arms, limits, warm start */
  OPERATIONS_APPLY_JOINT = 95,
  OPERATIONS_OBSERVE = 28 + 14,   /* tanh, clips; once an environment step */
  OPERATIONS_DISTANCE = 6,        /* distance of a green and a blue shape */
};

/* Cost of a physics step. */
static double operations_of(const SimModel *model, const SimScratch *s) {
  double sum = OPERATIONS_BODY * model->moving_count;
  for (int i = 0; i < model->moving_count; i++)
    sum += model->moving[i] < model->size.polygons ? OPERATIONS_POLYGON : 4;
  for (int i = 0; i < s->overlap_pair_count; i++) {
    const int pair = s->overlap_pairs[i].pair;
    if (pair >= model->pair_end[SIM_CR]) sum += OPERATIONS_CIRCLES;
    else if (pair >= model->pair_end[SIM_RR]) sum += OPERATIONS_CIRCLE_POLYGON;
    else sum += OPERATIONS_OVERLAP + (model->pair[pair].resolved ? OPERATIONS_MANIFOLD : 0);
  }
  sum += s->contact_count * (OPERATIONS_CONTACT + SIM_SOLVER_ITERATIONS * OPERATIONS_APPLY_CONTACT);
  return sum + model->joint_count * (OPERATIONS_JOINT + SIM_SOLVER_ITERATIONS * OPERATIONS_APPLY_JOINT);
}

/* Floating-point operations that a step needs, mean over EPISODE steps of some worlds: of physics alone, and of the
 * environment, whose two physics steps count twice what the last of them needs. */
typedef struct Needs { double engine, environment; } Needs;

static Needs count_needs(const SimLevelSet *levels) {
  Bench b;
  SimScratch scratch;
  Needs sum = {0, 0};
  int64_t steps = 0;
  if (bench_create(levels, false, &b) != CORE_OK) return sum;
  for (int w = 0; w < WORLDS; w += 4) {
    for (int t = 0; t < EPISODE; t++, steps++) {
      const SimCommand command = sim_task_command(SIM_MULTI_DISCRETE, actions_of(&b, t), (size_t)w);
      SimTaskResult result = sim_batch_step_world(b.batch, w, &command, &scratch);
      const SimModel *model = &b.batch->models[b.batch->worlds[w].level];
      const double physics = operations_of(model, &scratch);
      sum.engine += physics;
      sum.environment += b.batch->rules.frame_skip * (physics + OPERATIONS_DISTANCE * model->goal_count) +
                         OPERATIONS_OBSERVE * model->moving_count;
      if (result.done) sim_batch_start_world(b.batch, w, b.batch->worlds[w].level);
    }
  }
  bench_destroy(&b);
  return (Needs){sum.engine / (double)steps, sum.environment / (double)steps};
}

/* Bytes that an environment step must move when worlds do not stay in a cache: a world's state in and out, where it is
 * in use, and the observation out. */
static double bytes_per_step(const SimLevelSet *levels) {
  Bench b;
  if (bench_create(levels, false, &b) != CORE_OK) return 0;
  const double state = (double)sim_batch_state_bytes(b.batch) / WORLDS;
  const double row = (double)sizeof(float) * sim_batch_observation_length(b.batch);
  bench_destroy(&b);
  return 2 * state + row;
}

/* Measures the machine's peak with 1 and with all threads. */
typedef struct Peak { double operations, bytes; } Peak;

static void bench_threads(const char *name, const SimLevelSet *levels, Needs needs, Peak peak, int threads) {
  char env[64], engine[64], text[64];
  snprintf(env, sizeof env, "env_%s", name);
  snprintf(engine, sizeof engine, "engine_%s", name);
  const double physics = steps_per_second(levels, true, threads), steps = steps_per_second(levels, false, threads);
  bench_row("sim", engine, "steps_per_second", physics, "physics steps/s", threads);
  bench_row("sim", engine, "operations_per_second", 1e-9 * physics * needs.engine, "GFLOP/s", threads);
  bench_row("sim", env, "steps_per_second", steps, "environment steps/s", threads);
  snprintf(text, sizeof text, "peak_share_%s", name);
  if (peak.operations > 0)
    bench_row("sim", text, "operations", steps * needs.environment / peak.operations, "of peak", threads);
  bench_row("sim", text, "bytes", steps * bytes_per_step(levels) / peak.bytes, "of memory's peak", threads);
  if (threads > 1) return;
  setenv("SIM_KERNELS", "scalar", 1);
  const double alone = steps_per_second(levels, false, threads);
  unsetenv("SIM_KERNELS");
  bench_row("sim", env, "scalar_steps_per_second", alone, "environment steps/s", threads);
  bench_row("sim", env, "times_scalar", steps / alone, "times", threads);
}

static void bench_set(const char *name, SimLevelSet *levels, const Peak peak[2]) {
  const int procs = omp_get_num_procs();
  const Needs needs = count_needs(levels);
  char text[64];
  snprintf(text, sizeof text, "engine_%s", name);
  bench_row("sim", text, "operations_per_step", needs.engine, "floating-point operations", 1);
  snprintf(text, sizeof text, "flops_per_step_%s", name);
  bench_row("sim", text, "operations", needs.environment, "floating-point operations", 1);
  bench_row("sim", text, "bytes", bytes_per_step(levels), "bytes", 1);
  bench_threads(name, levels, needs, peak[0], 1);
  if (procs > 1) bench_threads(name, levels, needs, peak[1], procs);
  sim_level_set_free(levels);
}

static Peak measure_peak(int threads) {
  const Peak peak = {bench_peak_operations(threads), bench_peak_bytes(threads)};
  if (peak.operations > 0)
    bench_row("sim", "peak", "operations_per_second", 1e-9 * peak.operations, "GFLOP/s", threads);
  bench_row("sim", "peak", "bytes_per_second", 1e-9 * peak.bytes, "GB/s", threads);
  return peak;
}

int main(void) {
  SimLevelSet levels;
  const int procs = omp_get_num_procs();
  const Peak one = measure_peak(1), peak[2] = {one, procs > 1 ? measure_peak(procs) : one};
  if (sim_morphology_set("public", "all", 512, &levels) == CORE_OK) bench_set("loco_public", &levels, peak);
  if (sim_morphology_set("all", "all", 512, &levels) == CORE_OK) bench_set("loco_families", &levels, peak);
  const char *directory = getenv("KINETIX_LEVELS");
  for (const char *size = "sml"; directory && *size; size++) {
    char path[4096], name[8];
    snprintf(path, sizeof path, "%s/%c", directory, *size);
    snprintf(name, sizeof name, "%c", *size);
    if (sim_level_set_read(path, "", &levels) == CORE_OK) bench_set(name, &levels, peak);
  }
  return 0;
}
