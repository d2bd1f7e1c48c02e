/* Step and reset on the CPU. Blocks of worlds (block.h) are distributed over OpenMP's threads. A world's result depends
 * only on itself, so that neither the number of threads nor the blocks change it. */
#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/batch/batch_internal.h"
#include "sim/batch/batch_world.h"
#include "sim/simd/block.h"
#include "sim/task/observe_entity.h"

/* Returns the level of world w's current episode. */
static int draw_level(SimBatch *batch, int w) {
  if (sim_batch_has_new_levels(batch)) return sim_batch_prepare_new(batch, w);
  return sim_world_draw_level(batch->options.seed, batch->options.first_world + (uint32_t)w, batch->worlds[w].episode,
                              batch->level_count);
}

void sim_batch_start_world(SimBatch *batch, int w, int level) {
  sim_world_start(&batch->worlds[w], &batch->models[level], level);
}

/* Writes a moving shape's features; `column` has the indices of the observed features from its first one on. */
static void place_moving(const float f[SIM_OBSERVE_MOVING], const int32_t *column, float *row) {
  row[column[SIM_COMPONENT_X]] = f[0];
  row[column[SIM_COMPONENT_Y]] = f[1];
  row[column[SIM_COMPONENT_VX]] = f[2];
  row[column[SIM_COMPONENT_VY]] = f[3];
  row[column[SIM_COMPONENT_SPIN]] = f[4];
  row[column[SIM_COMPONENT_SINE]] = f[5];
  row[column[SIM_COMPONENT_COSINE]] = f[6];
}

/* Copies like memcpy, but faster for rows of some KB: the processor's string instruction (rep movsb) has a longer
 * start-up than this whole copy. */
static void copy_floats(float *to, const float *from, int count) {
  typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));
  enum { QUAD = 4, QUADS = 4 };
  for (; count >= QUADS * QUAD; count -= QUADS * QUAD, to += QUADS * QUAD, from += QUADS * QUAD) {
    quad q[QUADS];
    for (int i = 0; i < QUADS; i++) q[i] = ((const quad *)from)[i];
    for (int i = 0; i < QUADS; i++) ((quad *)to)[i] = q[i];
  }
  memcpy(to, from, (size_t)count * sizeof *to);
}

/* Writes the observed features of a world's flat observation, which always include those of moving bodies. shown:
 * features of the world's moving bodies in order; NULL: compute them. */
static void observe_flat(const SimBatch *batch, const SimWorld *world, const float *template_row,
                         const float (*shown)[SIM_LANES_SHOWN], float *row) {
  const SimModel *model = &batch->models[world->level];
  for (int i = 0; i < batch->run_count; i++) {
    const SimFeatureRun run = batch->runs[i];
    copy_floats(row + run.given, template_row + run.whole, run.length);
  }
  for (int i = 0; i < model->moving_count; i++) {
    const int k = model->moving[i], offset = sim_observe_offset(model->size, k);
    float features[SIM_OBSERVE_MOVING];
    if (offset < 0) continue;
    if (!shown) sim_observe_moving(&world->body[k], features);
    place_moving(shown ? shown[i] : features, batch->given + offset, row);
  }
}

/* Writes world w's observation. shown: as for observe_flat. */
static void observe(const SimBatch *batch, int w, const float (*shown)[SIM_LANES_SHOWN], float *observations) {
  const SimWorld *world = &batch->worlds[w];
  const SimModel *model = &batch->models[world->level];
  if (!observations) return;
  const float *template_row = batch->templates + (size_t)world->level * (size_t)batch->whole_length;
  float *row = observations + (size_t)w * (size_t)batch->observation_length;
  switch (batch->options.observation) {
    case SIM_OBSERVATION_PADDED: sim_observe_padded(model, world, template_row, row); break;
    case SIM_OBSERVATION_ENTITY: sim_observe_entity(model, world, template_row, row); break;
    default: observe_flat(batch, world, template_row, shown, row);
  }
}

void sim_batch_observe(const SimBatch *batch, float *observations) {
  if (batch->backend) {
    batch->backend->observe(batch, observations);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int w = 0; w < batch->options.worlds; w++) observe(batch, w, NULL, observations);
}

/* Resets all worlds. level: [world]; NULL: drawn. */
static void reset_all(SimBatch *batch, const int32_t *level, float *observations) {
  if (batch->backend) {
    batch->backend->reset(batch, level, observations);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int w = 0; w < batch->options.worlds; w++) {
    batch->worlds[w].episode = 0;
    batch->worlds[w].keeps_level = level != NULL || batch->options.reset == SIM_RESET_SAME;
    sim_batch_start_world(batch, w, level ? level[w] : draw_level(batch, w));
    observe(batch, w, NULL, observations);
  }
}

void sim_batch_reset(SimBatch *batch, float *observations) { reset_all(batch, NULL, observations); }

void sim_batch_reset_to(SimBatch *batch, const int32_t *level, float *observations) {
  for (int w = 0; w < batch->options.worlds; w++) CORE_CHECK(level[w] >= 0 && level[w] < batch->level_count);
  reset_all(batch, level, observations);
}

SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const SimCommand *command, SimScratch *scratch) {
  SimWorld *world = &batch->worlds[w];
  return sim_task_step(&batch->rules, &batch->models[world->level], world, command, scratch);
}

/* Destinations of a step's results. */
typedef struct Outputs {
  const SimStepOut *out;
  float *final_observations; /* [world][length] of episodes that end; may be NULL */
} Outputs;

/* Writes world w's results and starts the next episode if this one has ended. */
static void finish_step(SimBatch *batch, int w, const SimTaskResult *result, const float (*shown)[SIM_LANES_SHOWN],
                        const Outputs *outputs) {
  const SimStepOut *out = outputs->out;
  sim_world_report(&batch->worlds[w], result, batch->level_count, (size_t)w, out);
  if (batch->options.done_reason && result->late && out->done) out->done[w] = 2;
  if (result->done) observe(batch, w, shown, outputs->final_observations);
  const bool starts = result->done && batch->options.auto_reset;
  if (starts) {
    SimWorld *world = &batch->worlds[w];
    world->episode++;
    sim_batch_start_world(batch, w, world->keeps_level ? world->level : draw_level(batch, w));
  }
  observe(batch, w, starts ? NULL : shown, out->observations);
}

/* from this number on, the levels' constants exceed the near caches */
enum { MANY_LEVELS = 128 };

/* Prefetches the constant part of world w's flat observation. */
static void fetch_template(const SimBatch *batch, int w) {
  enum { LINE = 64 / sizeof(float) };
  const float *row = batch->templates + (size_t)batch->worlds[w].level * (size_t)batch->whole_length;
  for (int i = 0; i < batch->whole_length; i += LINE) __builtin_prefetch(row + i);
}

/* Steps worlds first .. first + count - 1 together. */
static int64_t step_block(SimBatch *batch, int first, int count, const void *actions, const Outputs *outputs,
                          SimBlock *block) {
  int64_t nonfinite = 0;
  block->plan = first + count <= sim_batch_planned(batch) ? batch->plans + first : block->own_plan;
  if (block->plan == block->own_plan) {
    for (int i = 0; i < count; i++) block->own_plan[i].model = NULL;
  }
  block->shows = outputs->out->observations && batch->options.observation == SIM_OBSERVATION_FLAT;

  for (int i = 0; i < count; i++) {
    block->world[i] = &batch->worlds[first + i];
    block->model[i] = &batch->models[block->world[i]->level];
    const SimCommand command = sim_task_command(batch->options.actions, actions, (size_t)(first + i));
    block->control[i] = sim_task_control(block->model[i], &command);
  }

  sim_block_step(block, &batch->rules, count);
  for (int i = 0; i < count; i++) {
    const float (*shown)[SIM_LANES_SHOWN] = block->shown + (i > 0 ? block->body_end[i - 1] : 0);
    if (block->shows && batch->level_count > MANY_LEVELS && i + 1 < count) fetch_template(batch, first + i + 1);
    finish_step(batch, first + i, &block->result[i], block->shows ? shown : NULL, outputs);
    nonfinite += block->result[i].nonfinite;
  }

  return nonfinite;
}

/* Returns the worlds per block, chosen so that every thread has equally many blocks of equal size. Blocks are smaller
 * where nearly every world has constants of its own, so that a block fits the cache. */
static int block_worlds(const SimBatch *batch, int threads) {
  const bool many = batch->level_count > MANY_LEVELS || sim_batch_has_new_levels(batch);
  const int most = many ? SIM_BLOCK_WORLDS / 2 : SIM_BLOCK_WORLDS;
  const int share = (batch->options.worlds + threads - 1) / threads;
  const int blocks = (share + most - 1) / most;
  return (share + blocks - 1) / blocks;
}

/* Working memory of a thread. It takes some MB, more than threads' stacks are sure to have: they are 2 MB under
 * `ulimit -s unlimited`. */
typedef union ThreadMemory { SimScratch scratch; SimBlock block; } ThreadMemory;

/* Returns the calling thread's working memory, allocated on first use so that the thread touches it first (NUMA). The
 * solvers' memory follows the union. */
static ThreadMemory *get_thread_memory(SimBatch *batch) {
  const size_t header = (sizeof(ThreadMemory) + SIM_LANES_ALIGNMENT - 1) / SIM_LANES_ALIGNMENT * SIM_LANES_ALIGNMENT;
  void **memory = &batch->thread_memory[omp_get_thread_num()];
  if (*memory) return *memory;
  const size_t solvers = batch->kernels ? batch->kernels->solve_bytes : 0;
  ThreadMemory *thread_memory = core_memory_allocate_aligned(SIM_LANES_ALIGNMENT, header + solvers);
  thread_memory->block.kernels = batch->kernels;
  thread_memory->block.solver_memory = (char *)thread_memory + header;
  return *memory = thread_memory;
}

static void reserve_thread_memory(SimBatch *batch, int threads) {
  if (threads <= batch->thread_count) return;
  batch->thread_memory = core_memory_resize(batch->thread_memory, (size_t)threads * sizeof *batch->thread_memory);
  for (; batch->thread_count < threads; batch->thread_count++) batch->thread_memory[batch->thread_count] = NULL;
}

void sim_batch_free_thread_memory(SimBatch *batch) {
  for (int i = 0; i < batch->thread_count; i++) free(batch->thread_memory[i]);
  free(batch->thread_memory);
}

static void step_all(SimBatch *batch, const void *actions, const Outputs *outputs) {
  const int worlds = batch->options.worlds, threads = omp_get_max_threads(), each = block_worlds(batch, threads);
  int64_t nonfinite = 0;

  reserve_thread_memory(batch, threads);
#pragma omp parallel reduction(+ : nonfinite)
  {
    ThreadMemory *memory = get_thread_memory(batch);
    if (batch->kernels) {
#pragma omp for schedule(static)
      for (int first = 0; first < worlds; first += each)
        nonfinite +=
          step_block(batch, first, worlds - first < each ? worlds - first : each, actions, outputs, &memory->block);
    } else {
#pragma omp for schedule(static)
      for (int w = 0; w < worlds; w++) {
        const SimCommand command = sim_task_command(batch->options.actions, actions, (size_t)w);
        const SimTaskResult result = sim_batch_step_world(batch, w, &command, &memory->scratch);
        finish_step(batch, w, &result, NULL, outputs);
        nonfinite += result.nonfinite;
      }
    }
  }

  batch->nonfinite += nonfinite;
}

void sim_batch_step(SimBatch *batch, const void *actions, const SimStepOut *out) {
  if (batch->backend) batch->backend->step(batch, 0, batch->options.worlds, actions, out);
  else step_all(batch, actions, &(Outputs){.out = out});
}

void sim_batch_step_final(SimBatch *batch, const void *actions, const SimStepOut *out, float *final_observations) {
  CORE_CHECK(!batch->backend);
  step_all(batch, actions, &(Outputs){.out = out, .final_observations = final_observations});
}

void sim_batch_step_part(SimBatch *batch, int first, int count, const void *actions, const SimStepOut *out) {
  CORE_CHECK(batch->backend && first >= 0 && count > 0 && count <= batch->options.worlds - first);
  batch->backend->step(batch, first, count, actions, out);
}

void sim_batch_synchronize(SimBatch *batch) {
  if (batch->backend) batch->backend->synchronize(batch);
}
