/* Stepping a few dozen worlds together, so that the vector kernels find enough of the same work: the worlds of a block
 * go through every part of a physics step side by side, and all of an environment step before they leave the cache.
 * Same bits as sim_task_step on each of them. */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H
#include "sim/simd/lanes.h"
#include "sim/task/task.h"

enum {
  SIM_BLOCK_WORLDS = 512,
  SIM_BLOCK_PAIRS = 6144,   /* whose boxes meet, in one physics step */
  SIM_BLOCK_PENDING = 16,   /* pairs that are tested together */
};

/* The tests that pairs wait for. */
enum { SIM_BLOCK_POLYGONS, SIM_BLOCK_OVERLAPS, SIM_BLOCK_CIRCLE_POLYGONS, SIM_BLOCK_CIRCLES, SIM_BLOCK_TESTS };

/* Pairs that wait until there are enough of them for a kernel. */
typedef struct SimBlockPending {
  void (*kernel)(const SimLanesPair *pair, int count);
  SimLanesPair pair[SIM_BLOCK_PENDING];
  int count;
} SimBlockPending;

/* A thread's working memory. */
typedef struct SimBlock {
  const SimLanesKernels *kernels;
  const SimModel *model[SIM_BLOCK_WORLDS];
  SimWorld *world[SIM_BLOCK_WORLDS];
  SimControl control[SIM_BLOCK_WORLDS];
  SimTaskResult result[SIM_BLOCK_WORLDS]; /* what the caller is after */
  int bits[SIM_BLOCK_WORLDS];
  /* What moves, in all worlds, for a whole environment step. */
  float *body[SIM_BLOCK_WORLDS * SIM_MAX_SHAPES];
  SimLanesPolygon polygon[SIM_BLOCK_WORLDS * SIM_MAX_POLYGONS];
  SimLanesMotor motor[SIM_BLOCK_WORLDS * SIM_MAX_JOINTS];
  int body_count, polygon_count, motor_end[SIM_BLOCK_WORLDS];
  float spin[SIM_BLOCK_WORLDS][SIM_MAX_JOINTS]; /* of each world's joints */
  SimPlaces places[SIM_BLOCK_WORLDS];
  /* Pairs whose boxes meet, as indices of their model's pairs, how many contacts came of each, and where each world's
   * end. */
  uint8_t pair[SIM_BLOCK_PAIRS], points[SIM_BLOCK_PAIRS];
  int pair_end[SIM_BLOCK_WORLDS];
  SimBlockPending pending[SIM_BLOCK_TESTS];
  SimContact contact[2 * SIM_BLOCK_PAIRS];
  SimLanesWorld lane[SIM_BLOCK_WORLDS];
  SimScratch scratch;
} SimBlock;

/* The kernels for this machine; NULL where it has none, and one world after the other is best. The environment variable
 * SIM_KERNELS (scalar, avx2, avx2x2, avx512) may choose lesser ones. */
const SimLanesKernels *sim_block_kernels(void);

/* An environment step of `count` worlds: model, world and control are set, and results are given. */
void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count);

#endif
