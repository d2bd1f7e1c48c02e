/* Steps a block of worlds together, so that every vector kernel has enough work of one kind. All worlds complete one
 * phase of a physics step before the next phase starts, and a block completes a whole environment step, so that it
 * stays in the cache. Results have the same bits as sim_task_step on each world. */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H
#include "sim/simd/lanes.h"
#include "sim/task/task.h"

enum {
  SIM_BLOCK_WORLDS = 512,
  SIM_BLOCK_PAIRS = 6144,   /* pairs with overlapping boxes in one physics step */
  SIM_BLOCK_PENDING = 16,   /* pairs that a kernel tests in one call */
};

/* Kinds of narrow-phase tests. */
enum { SIM_BLOCK_POLYGONS, SIM_BLOCK_OVERLAPS, SIM_BLOCK_CIRCLE_POLYGONS, SIM_BLOCK_CIRCLES, SIM_BLOCK_TESTS };

/* Pairs queued for a kernel, which runs once SIM_BLOCK_PENDING are queued. */
typedef struct SimBlockPending {
  void (*kernel)(const SimLanesPair *pair, int count);
  SimLanesPair pair[SIM_BLOCK_PENDING];
  int count;
} SimBlockPending;

/* Order in which a world's contacts are solved, cached between steps: it depends only on the level's constants, on the
 * pairs with overlapping boxes and on the number of contacts of each. Most steps change none of them. */
typedef struct SimBlockPlan {
  SimLanesWorld lane;
  const SimModel *model;      /* model of the plan; NULL: no plan yet */
  int pair_count, bits;       /* bits: rewards of the touching pairs */
  uint8_t pair[SIM_PAIRS_MAX + 7], points[SIM_PAIRS_MAX + 7]; /* [pair_count] copies of SimBlock's pair and points */
  uint32_t overlap_pairs[(SIM_PAIRS_MAX + 31) / 32]; /* copied to SimWorld */
  uint64_t warm[SIM_WARM_WORDS];
} SimBlockPlan;

/* Working memory of one thread. */
typedef struct SimBlock {
  const SimLanesKernels *kernels;
  void *solver_memory;          /* solve_bytes of memory for the kernels */
  const SimModel *model[SIM_BLOCK_WORLDS];
  SimWorld *world[SIM_BLOCK_WORLDS];
  SimControl control[SIM_BLOCK_WORLDS];
  SimTaskResult result[SIM_BLOCK_WORLDS]; /* output */
  SimBlockPlan *plan; /* [world] */
  SimBlockPlan own_plan[SIM_BLOCK_WORLDS]; /* plans of worlds that keep none between steps */
  /* Moving bodies, moving polygons and driven motors of all worlds, constant for an environment step. */
  float *body[SIM_BLOCK_WORLDS * SIM_SHAPES_MAX];
  SimLanesPolygon polygon[SIM_BLOCK_WORLDS * SIM_POLYGONS_MAX];
  SimLanesMotor motor[SIM_BLOCK_WORLDS * SIM_JOINTS_MAX];
  int body_count, polygon_count, motor_end[SIM_BLOCK_WORLDS], body_end[SIM_BLOCK_WORLDS];
  bool shows;                   /* whether to write flat observations */
  /* [moving body] observed features, if `shows`; output */
  float shown[SIM_BLOCK_WORLDS * SIM_SHAPES_MAX][SIM_LANES_SHOWN];
  float spin[SIM_BLOCK_WORLDS][SIM_JOINTS_MAX]; /* angular impulses of the motors */
  SimGeometry geometry[SIM_BLOCK_WORLDS];
  /* Pairs with overlapping boxes as indices into SimModel.pair, the number of contacts of each, and the end of each
   * world's pairs. Padded so that eight bytes may be read from any element. */
  uint8_t pair[SIM_BLOCK_PAIRS + 7], points[SIM_BLOCK_PAIRS + 7];
  int pair_end[SIM_BLOCK_WORLDS];
  SimBlockPending pending[SIM_BLOCK_TESTS];
  SimContact contact[2 * SIM_BLOCK_PAIRS];
  SimScratch scratch;
} SimBlock;

/* Returns the fastest kernels that the processor supports; NULL: none, use the scalar step. The environment variable
 * SIM_KERNELS (scalar, avx2, avx2x2, avx512) overrides the choice. */
const SimLanesKernels *sim_block_kernels(void);

/* Runs one environment step of `count` <= SIM_BLOCK_WORLDS worlds. The caller sets model, world and control of each
 * world, `shows` and `plan`; a plan is zero or the result of earlier steps of the same world. Clear plan->model when a
 * model's contents change. Writes `result` and `shown`. */
void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count);

#endif
