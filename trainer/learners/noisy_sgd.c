/* SGD on a noisy parabola, in double (noisy_sgd.h). */
#include "trainer/learners/noisy_sgd.h"

#include <math.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_noisy.h"

int noisy_sgd_register(NoisySgd *sgd, const CoreConfig *config, CoreArena *arena) {
  *sgd = (NoisySgd){.dimensions = (int)config->sgd.dimensions, .noise = config->sgd.noise, .start = config->sgd.start,
                    .seed = (uint64_t)config->train.seed, .device = core_arena_device(arena)};
  TRY(core_schedule_parse("sgd.learning_rate", config->sgd.learning_rate, &sgd->lr));
  CORE_ARENA_DEVICE(arena, sgd->x, (size_t)sgd->dimensions, "x [dimensions]");
  if (sgd->device) CORE_ARENA_DEVICE(arena, sgd->sums, 2, "sums of a step");
  else CORE_ARENA(arena, sgd->noise_now, (size_t)sgd->dimensions, "noise [dimensions]");
  return CORE_OK;
}

/* Draws independent N(0, 1) values, a function of (seed, step). Step 0 of seed 0 is the direction of the start. */
static void draw_normal(uint64_t seed, int64_t step, int n, double *values) {
  for (int i = 0; i < n; i += 2) {
    double normal[2];
    noisy_normals(seed, step, (size_t)i, normal);
    values[i] = normal[0];
    if (i + 1 < n) values[i + 1] = normal[1];
  }
}

static double norm_squared(const double *x, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

void noisy_sgd_start(NoisySgd *sgd) {
  const size_t bytes = (size_t)sgd->dimensions * sizeof *sgd->x;
  double *x = core_memory_allocate(bytes);
  draw_normal(0, 0, sgd->dimensions, x);
  double length = sqrt(norm_squared(x, sgd->dimensions));
  for (int i = 0; i < sgd->dimensions; i++) x[i] *= sgd->start / length;
  core_device_to_device(sgd->device, sgd->x, x, bytes);
  free(x);
}

double noisy_sgd_descend(double *x, const double *noise, int dimensions, double lr) {
  double sum = 0;
  for (int i = 0; i < dimensions; i++) sum += noisy_descend(&x[i], noise[i], lr);
  return sum;
}

/* Steps. sums: squared gradient, and x^2 after the step. A device adds them in another order. */
static void descend(NoisySgd *sgd, int64_t iteration, double lr, double sums[2]) {
  const double scale = sgd->noise / sqrt(sgd->dimensions);
  if (sgd->device) {
    const OpsNoisyStep step = {sgd->x, (size_t)sgd->dimensions, sgd->seed, iteration, scale, lr, sgd->sums};
    sgd->device->launch(sgd->device, &ops_noisy_step_launch, 1, KERNEL_NOISY_THREADS,
                        KERNEL_NOISY_THREADS * sizeof(double), &step);
    core_device_to_host(sgd->device, sums, sgd->sums, 2 * sizeof *sums);
    return;
  }
  draw_normal(sgd->seed, iteration, sgd->dimensions, sgd->noise_now);
  for (int i = 0; i < sgd->dimensions; i++) sgd->noise_now[i] *= scale;
  sums[0] = noisy_sgd_descend(sgd->x, sgd->noise_now, sgd->dimensions, lr);
  sums[1] = norm_squared(sgd->x, sgd->dimensions);
}

int noisy_sgd_step(NoisySgd *sgd, int64_t iteration, StoreIteration *row) {
  double lr = core_schedule_at(&sgd->lr, iteration - 1), sums[2];
  descend(sgd, iteration, lr, sums);
  const double gradient = sqrt(sums[0]), loss = sums[1];
  if (!isfinite(loss))
    return core_error(CORE_FAIL, "f(x) = %f with the learning rate %g; set sgd.learning_rate below 1", loss, lr);
  *row = store_iteration_unmeasured(iteration);
  row->transitions = (double)iteration;
  row->learning_rate = lr;
  row->grad_norm_actor = gradient;
  row->update_norm_actor = lr * gradient;
  row->policy_loss = loss;
  row->distance = sqrt(loss);
  return CORE_OK;
}
