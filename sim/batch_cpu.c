/* Stepping and resetting on the CPU: worlds are divided over OpenMP's threads in equal blocks. A world's result depends
 * on nothing but itself, so neither the number of threads nor the division matters. */
#include "core/random.h"
#include "sim/batch_internal.h"

static int draw_level(const SimBatch *batch, int w, uint32_t episode) {
  uint32_t number = batch->options.first_world + (uint32_t)w;
  CoreRandom4 words = core_random_4(batch->options.seed, CORE_RANDOM_RESET, number, episode, 0);
  return (int)core_random_below(words.v[0], (uint32_t)batch->level_count);
}

void sim_batch_start_world(SimBatch *batch, int w, int level) {
  SimWorld *world = &batch->worlds[w];
  uint32_t episode = world->episode;
  int32_t keeps_level = world->keeps_level;
  memset(world, 0, sizeof *world);
  memcpy(world->body, batch->models[level].start, sizeof world->body);
  world->last_distance = -1.0f;
  world->level = level;
  world->episode = episode;
  world->keeps_level = keeps_level;
}

static void observe(const SimBatch *batch, int w, float *observations) {
  const SimWorld *world = &batch->worlds[w];
  if (!observations) return;
  const int all = batch->whole_length, length = batch->observation_length;
  const float *template_row = batch->templates + (size_t)world->level * (size_t)all;
  float *given = observations + (size_t)w * (size_t)length;
  if (length == all) {
    sim_observe(&batch->models[world->level], world, template_row, all, given);
    return;
  }
  float row[SIM_OBSERVE_MAX];
  sim_observe(&batch->models[world->level], world, template_row, all, row);
  for (int i = 0; i < length; i++) given[i] = row[batch->features[i]];
}

/* level NULL: drawn. */
static void reset_all(SimBatch *batch, const int32_t *level, float *observations) {
#pragma omp parallel for schedule(static)
  for (int w = 0; w < batch->options.worlds; w++) {
    batch->worlds[w].episode = 0;
    batch->worlds[w].keeps_level = level != NULL;
    sim_batch_start_world(batch, w, level ? level[w] : draw_level(batch, w, 0));
    observe(batch, w, observations);
  }
}

void sim_batch_reset(SimBatch *batch, float *observations) { reset_all(batch, NULL, observations); }

void sim_batch_reset_to(SimBatch *batch, const int32_t *level, float *observations) {
  for (int w = 0; w < batch->options.worlds; w++) CORE_CHECK(level[w] >= 0 && level[w] < batch->level_count);
  reset_all(batch, level, observations);
}

SimTaskResult sim_batch_step_world(SimBatch *batch, int w, const uint8_t action[SIM_ACTIONS], SimScratch *scratch) {
  SimWorld *world = &batch->worlds[w];
  return sim_task_step(&batch->rules, &batch->models[world->level], world, action, scratch);
}

void sim_batch_physics_step(SimBatch *batch, int w, const SimControl *control, SimScratch *scratch) {
  SimWorld *world = &batch->worlds[w];
  sim_step_begin_level(&batch->models[world->level], scratch);
  sim_step(&batch->models[world->level], world, control, scratch);
}

static void next_episode(SimBatch *batch, int w) {
  SimWorld *world = &batch->worlds[w];
  world->episode++;
  sim_batch_start_world(batch, w, world->keeps_level ? world->level : draw_level(batch, w, world->episode));
}

static bool step_one(SimBatch *batch, int w, const uint8_t *actions, const SimStepOut *out, SimScratch *scratch) {
  const SimWorld *world = &batch->worlds[w];
  SimTaskResult result = sim_batch_step_world(batch, w, actions + (size_t)w * SIM_ACTIONS, scratch);
  if (out->reward) out->reward[w] = result.reward;
  if (out->done) out->done[w] = result.done;
  if (out->solved) out->solved[w] = result.done && result.solved;
  if (out->level) out->level[w] = world->level;
  if (out->episode_steps) out->episode_steps[w] = world->timestep;
  if (result.done && batch->options.auto_reset) next_episode(batch, w);
  observe(batch, w, out->observations);
  return result.nonfinite;
}

void sim_batch_step(SimBatch *batch, const uint8_t *actions, const SimStepOut *out) {
  int64_t nonfinite = 0;
#pragma omp parallel reduction(+ : nonfinite)
  {
    SimScratch scratch;
#pragma omp for schedule(static)
    for (int w = 0; w < batch->options.worlds; w++) nonfinite += step_one(batch, w, actions, out, &scratch);
  }
  batch->nonfinite += nonfinite;
}
