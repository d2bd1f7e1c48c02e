/* Steps a block of worlds together, so that the vector kernels have enough of the same work. All worlds go through one
 * part of a physics step before the next part. A block does a whole environment step, so that it stays in the cache.
 * Same bits as sim_task_step on each world. */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H
#include "sim/simd/lanes.h"
#include "sim/task/task.h"

enum {
  SIM_BLOCK_WORLDS = 512,
  SIM_BLOCK_PAIRS = 6144,   /* whose boxes overlap, in one physics step */
  SIM_BLOCK_PENDING = 16,   /* pairs that a kernel tests together */
};

/* Kinds of narrow-phase tests. */
enum { SIM_BLOCK_POLYGONS, SIM_BLOCK_OVERLAPS, SIM_BLOCK_CIRCLE_POLYGONS, SIM_BLOCK_CIRCLES, SIM_BLOCK_TESTS };

/* Pairs gathered for a kernel; it runs when there are SIM_BLOCK_PENDING. */
typedef struct SimBlockPending {
  void (*kernel)(const SimLanesPair *pair, int count);
  SimLanesPair pair[SIM_BLOCK_PENDING];
  int count;
} SimBlockPending;

/* The order in which a world's contacts are solved, kept from step to step: it depends on nothing but the level's
 * constants, which pairs have meeting boxes, and how many contacts each has. Most steps change none of them. */
typedef struct SimBlockPlan {
  SimLanesWorld lane;
  const SimModel *model;      /* that it is of; NULL: of nothing yet */
  int pair_count, bits;       /* bits: the pairs' reward */
  uint8_t pair[SIM_MAX_PAIRS + 7], points[SIM_MAX_PAIRS + 7]; /* [pair_count], as SimBlock has them */
  uint32_t overlap_pairs[(SIM_MAX_PAIRS + 31) / 32];       /* what SimWorld gets */
  uint64_t warm[SIM_WARM_WORDS];
} SimBlockPlan;

/* A thread's working memory. */
typedef struct SimBlock {
  const SimLanesKernels *kernels;
  void *solver_room;          /* the kernels' solve_bytes */
  const SimModel *model[SIM_BLOCK_WORLDS];
  SimWorld *world[SIM_BLOCK_WORLDS];
  SimControl control[SIM_BLOCK_WORLDS];
  SimTaskResult result[SIM_BLOCK_WORLDS]; /* out */
  SimBlockPlan *plan; /* of each world */
  SimBlockPlan own_plan[SIM_BLOCK_WORLDS]; /* for worlds that keep none from step to step */
  /* Moving bodies, moving polygons and driven motors of all worlds, for a whole environment step. */
  float *body[SIM_BLOCK_WORLDS * SIM_MAX_SHAPES];
  SimLanesPolygon polygon[SIM_BLOCK_WORLDS * SIM_MAX_POLYGONS];
  SimLanesMotor motor[SIM_BLOCK_WORLDS * SIM_MAX_JOINTS];
  int body_count, polygon_count, motor_end[SIM_BLOCK_WORLDS], body_end[SIM_BLOCK_WORLDS];
  bool shows;         /* are flat observations wanted? */
  float shown[SIM_BLOCK_WORLDS * SIM_MAX_SHAPES][SIM_LANES_SHOWN]; /* of each moving body, if so; out */
  float spin[SIM_BLOCK_WORLDS][SIM_MAX_JOINTS]; /* angular impulses of motors */
  SimGeometry geometry[SIM_BLOCK_WORLDS];
  /* Pairs whose boxes overlap, as indices in SimModel.pair; the number of contacts of each; where each world's pairs
   * end. Eight bytes can be read at each. */
  uint8_t pair[SIM_BLOCK_PAIRS + 7], points[SIM_BLOCK_PAIRS + 7];
  int pair_end[SIM_BLOCK_WORLDS];
  SimBlockPending pending[SIM_BLOCK_TESTS];
  SimContact contact[2 * SIM_BLOCK_PAIRS];
  SimScratch scratch;
} SimBlock;

/* The fastest kernels that this processor supports; NULL: none, use the scalar step. The environment variable
 * SIM_KERNELS (scalar, avx2, avx2x2, avx512) selects others. */
const SimLanesKernels *sim_block_kernels(void);

/* An environment step of `count` <= SIM_BLOCK_WORLDS worlds. The caller sets model, world and control of each, `shows`
 * and `plan`, which is zero or of earlier steps of the same worlds. Where a model has other contents now, the caller
 * takes it from the plan. Writes `result` and `shown`. */
void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count);

#endif
