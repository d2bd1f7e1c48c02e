/* Expected times of kernels on an H200 by a small model, since there may be none. It assumes:
 * - Device memory moves 4.8 TB/s, of which a copy reaches 89% (docs/cuda-measurements.md). Each four bytes move once
 *   per launch: the L2 holds what a launch accesses again, and delivers 5.5 TB/s. Of those the factors of products
 *   count, which every tile reads.
 * - Tensor cores compute 989 TFLOP/s in bf16, of which mma.sync reaches 45%: it cannot use more than 62% of a Hopper,
 *   and a product waits for its first stages. Tiles are full; what is computed without tensor cores is not counted.
 * - Factors arrive while others are multiplied. A multiprocessor holds as many blocks as its 228 KB of shared memory
 *   and 65 536 registers allow. With two and more, one moves memory while another multiplies, so the longest counts;
 *   with one, memory is added.
 * - A launch takes 3 us, and nothing overlaps: launches run one after the other.
 * - A step of all worlds takes 0.15 ms, and no less than 137 M steps/s allow: what was measured of 2048 worlds of
 *   loco512 and 65 536 of size S. The simulator's kernels are in these times, not in those of their bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/instruments/cost.h"
#include "trainer/nets/encoder_entities.h"
#include "trainer/ops/kernels/kernels_bodies.h"

#define MEMORY_BYTES_PER_S (0.89 * 4.8e12)
#define FACTORS_BYTES_PER_S 5.5e12
#define FLOPS_PER_S (0.45 * 989e12)
#define LAUNCH_S 3e-6
#define WORLDS_PER_S 137e6
#define STEP_S 0.15e-3
enum { SHARED_BYTES = 228 * 1024, SHARED_OF_BLOCK = 1024, REGISTERS = 65536, TILE = OPS_ENCODER_ROWS, SHOWN = 14 };

/* Kernels with products on tensor cores, as nvcc 13.0 compiles them for sm_90, and which products these are. */
typedef struct Fused { const char *kernel; bool is_encoding; int shared, registers, forward, backward, weights; } Fused;
static const Fused FUSED[] = {
  {"ops_encoder", true, OPS_ENCODER_SHARED, 222, 1, 0, 0},
  {"ops_encoder_backward", true, OPS_ENCODER_BACKWARD_SHARED, 172, 0, 1, 0},
  {"ops_weights", true, OPS_WEIGHTS_BYTES, 128, 0, 0, 1},
  {"ops_weights", false, OPS_WEIGHTS_BYTES, 128, 0, 0, 1},
  {"ops_mlp_forward", false, OPS_MLP_FORWARD_BYTES, 255, 1, 0, 0},
  {"ops_mlp_backward", false, OPS_MLP_BACKWARD_BYTES, 209, 0, 1, 0},
  {"ops_mlp_learn", false, OPS_MLP_BACKWARD_BYTES, 254, 1, 1, 0},
};

static const Fused *fused_of(const CostKernel *kernel) {
  for (size_t i = 0; i < sizeof FUSED / sizeof *FUSED; i++)
    if (FUSED[i].is_encoding == kernel->is_encoding && strcmp(FUSED[i].kernel, kernel->name) == 0) return &FUSED[i];
  return NULL;
}

static bool is_of_simulator(const CostKernel *kernel) {
  for (const CoreEmulatedBody *body = sim_counted_bodies; body->name; body++)
    if (strcmp(body->name, kernel->name) == 0) return true;
  return false;
}

static int resident_blocks(const Fused *fused, int threads) {
  const int by_shared = SHARED_BYTES / (fused->shared + SHARED_OF_BLOCK);
  const int by_registers = REGISTERS / (fused->registers * threads);
  return by_shared < by_registers ? by_shared : by_registers;
}

CostTime cost_time(const Cost *cost, const CostKernel *kernel) {
  const Fused *fused = fused_of(kernel);
  CostTime time = {.launches_s = kernel->sum.launches * LAUNCH_S};
  if (is_of_simulator(kernel)) return (CostTime){0};
  time.memory_s = (kernel->sum.read + kernel->sum.written) / MEMORY_BYTES_PER_S;
  time.all_s = time.launches_s + time.memory_s;
  if (fused == NULL) return time;

  const CostProducts *products = kernel->is_encoding ? &cost->encoder_products : &cost->tower_products;
  const double rows = cost->rows[kernel->phase];
  const double adds = (fused->forward + fused->weights) * products->forward + fused->backward * products->backward;
  const double factors = (fused->forward + fused->backward) * products->kernels + fused->weights * products->tiles;
  time.blocks = resident_blocks(fused, OPS_WEIGHTS_THREADS);
  time.products_s = 2 * adds * rows / FLOPS_PER_S;
  time.factors_s = factors * rows / FACTORS_BYTES_PER_S;
  const double multiplied = fmax(time.products_s, time.factors_s);
  time.all_s = time.launches_s + (time.blocks > 1 ? fmax(time.memory_s, multiplied) : time.memory_s + multiplied);
  return time;
}

static double step_s(const Cost *cost, int phase) {
  return cost->steps[phase] * fmax(STEP_S, cost->worlds[phase] / WORLDS_PER_S);
}

double cost_seconds(const Cost *cost) {
  double sum = step_s(cost, CORE_PHASE_ROLLOUT) + cost->search_share * step_s(cost, CORE_PHASE_SEARCH);
  for (int i = 0; i < cost->kernels; i++) {
    const double share = cost->kernel[i].phase == CORE_PHASE_SEARCH ? cost->search_share : 1;
    sum += share * cost_time(cost, &cost->kernel[i]).all_s;
  }
  return sum;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Returns how many entities of a row pass through a kernel of the transformer. */
static double entities_of(const EncoderShape *shape, const EncoderTensor *tensor) {
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) {
    const EncoderEntities e = encoder_entities(&shape->layout, kind);
    if (strstr(tensor->name, e.name)) return e.count;
  }
  return 1 + shape->layout.shapes;
}

/* Adds those of a kernel, through which `times` of a row's entities pass; a tile has tile_rows rows. */
static void add_kernel(CostProducts *products, double in, double out, double times, double tile_rows,
                       bool has_gradient) {
  enum { FACTORS = 2 * OPS_WEIGHTS_SIDE * 2 }; /* bytes of a row's inputs and gradients that a block reads */
  products->forward += times * in * out;
  if (has_gradient) products->backward += times * in * out;
  products->kernels += 2 * in * out / tile_rows;
  products->tiles += FACTORS * times * ceil(in / OPS_WEIGHTS_SIDE) * ceil(out / OPS_WEIGHTS_SIDE);
}

void cost_count_products(const Agent *agent, Cost *cost) {
  const EncoderShape *encoder = &agent->encoder.shape;
  const AgentNetwork *const network[2] = {&agent->actor, &agent->critic};
  for (int i = 0; i < encoder->tensors; i++) {
    const EncoderTensor *t = &encoder->tensor[i];
    const bool is_of_layer = strncmp(t->name, "layer", 5) == 0; /* features have no gradient */
    if (t->rows > 1)
      add_kernel(&cost->encoder_products, t->rows, t->columns, entities_of(encoder, t),
                 floor((double)TILE / (1 + encoder->layout.shapes)), is_of_layer);
  }

  for (int n = 0; n < 2; n++)
    for (int l = 0; network[n]->n > 0 && l < network[n]->shape.layers; l++)
      add_kernel(&cost->tower_products, network[n]->shape.width[l], network[n]->shape.width[l + 1], 1, TILE,
                 l > 0 || encoder->tensors > 0);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static const Cost *sorted; /* costs whose kernels are compared */
static int longer(const void *a, const void *b) {
  const double x = cost_time(sorted, a).all_s, y = cost_time(sorted, b).all_s;
  return (x < y) - (x > y);
}

static const char *longest_of(const CostTime *time) {
  const double multiplied = fmax(time->products_s, time->factors_s);
  if (time->launches_s >= fmax(time->memory_s, multiplied)) return "launches";
  if (time->memory_s >= multiplied) return "memory";
  return time->products_s >= time->factors_s ? "products" : "L2";
}

void cost_print_times(Cost *cost) {
  const double seconds = cost_seconds(cost);
  printf("\n%-40s %10s %9s %9s %9s %9s %7s  %s\n", "expected on an H200, us a launch", "launches", "memory",
         "products", "L2", "all", "blocks", "longest");
  sorted = cost;
  qsort(cost->kernel, (size_t)cost->kernels, sizeof *cost->kernel, longer);
  for (int i = 0; i < cost->kernels && i < SHOWN; i++) {
    const CostKernel *k = &cost->kernel[i];
    const CostTime time = cost_time(cost, k);
    const double us = k->sum.launches > 0 ? 1e6 / k->sum.launches : 0;
    char text[64], blocks[16] = "";
    if (time.blocks > 0) snprintf(blocks, sizeof blocks, "%d", time.blocks);
    printf("%-40s %10.0f %9.1f %9.1f %9.1f %9.1f %7s  %s\n", cost_kernel_text(k, text), k->sum.launches,
           us * time.memory_s, us * time.products_s, us * time.factors_s, us * time.all_s, blocks, longest_of(&time));
  }
  printf("an iteration %.3f s, of which the environment's steps %.3f s: %.3g M steps/s\n", seconds,
         step_s(cost, CORE_PHASE_ROLLOUT) + cost->search_share * step_s(cost, CORE_PHASE_SEARCH),
         cost->transitions / seconds / 1e6);
}
