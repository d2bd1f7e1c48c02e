/* SGD on a noisy parabola, in double (noisy_sgd.h). */
#include "trainer/learners/noisy_sgd.h"

#include <math.h>

#include "core/random.h"

int noisy_sgd_register(NoisySgd *sgd, const CoreConfig *config, CoreArena *arena) {
  *sgd = (NoisySgd){.dimensions = (int)config->sgd.dimensions, .noise = config->sgd.noise, .start = config->sgd.start,
                    .seed = (uint64_t)config->train.seed};
  TRY(core_schedule_parse("sgd.learning_rate", config->sgd.learning_rate, &sgd->rate));
  CORE_ARENA(arena, sgd->x, (size_t)sgd->dimensions, "x [dimensions]");
  CORE_ARENA(arena, sgd->noise_now, (size_t)sgd->dimensions, "noise [dimensions]");
  return CORE_OK;
}

/* Independent N(0, 1) numbers, a function of (seed, step); step 0 of seed 0 is the start's direction. */
static void draw_normal(uint64_t seed, int64_t step, int n, double *values) {
  for (int i = 0; i < n; i += 2) {
    double x, y;
    CoreRandom4 words = core_random_4(seed, CORE_RANDOM_NOISE, (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)i);
    core_random_normal_pair(words.v[0], words.v[1], &x, &y);
    values[i] = x;
    if (i + 1 < n) values[i + 1] = y;
  }
}

static double norm_squared(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

void noisy_sgd_start(NoisySgd *sgd) {
  draw_normal(0, 0, sgd->dimensions, sgd->x);
  double length = sqrt(norm_squared(sgd->x, sgd->dimensions));
  for (int i = 0; i < sgd->dimensions; i++) sgd->x[i] *= sgd->start / length;
}

double noisy_sgd_descend(double *x, const double *noise, int dimensions, double rate) {
  double sum = 0;
  for (int i = 0; i < dimensions; i++) {
    double gradient = 2 * x[i] + noise[i];
    sum += gradient * gradient;
    x[i] -= rate * gradient;
  }
  return sum;
}

int noisy_sgd_step(NoisySgd *sgd, int64_t iteration, StoreIteration *row) {
  double rate = core_schedule_at(&sgd->rate, iteration - 1), scale = sgd->noise / sqrt(sgd->dimensions);
  draw_normal(sgd->seed, iteration, sgd->dimensions, sgd->noise_now);
  for (int i = 0; i < sgd->dimensions; i++) sgd->noise_now[i] *= scale;
  double gradient = sqrt(noisy_sgd_descend(sgd->x, sgd->noise_now, sgd->dimensions, rate));
  double loss = norm_squared(sgd->x, sgd->dimensions);
  if (!isfinite(loss))
    return core_error(CORE_FAIL, "f(x) = %f with the learning rate %g; it converges below 1", loss, rate);
  *row = store_iteration_unmeasured(iteration);
  row->transitions = (double)iteration;
  row->learning_rate = rate;
  row->grad_norm_actor = gradient;
  row->update_norm_actor = rate * gradient;
  row->policy_loss = loss;
  row->distance = sqrt(loss);
  return CORE_OK;
}
