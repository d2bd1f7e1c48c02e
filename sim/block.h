/* Stepping a few dozen worlds together, so that the vector kernels find enough of the same work: the worlds of a block
 * go through every part of a physics step side by side, and all of an environment step before they leave the cache.
 * Same bits as sim_task_step on each of them. */
#ifndef SIM_BLOCK_H
#define SIM_BLOCK_H
#include "sim/lanes.h"
#include "sim/task.h"

enum { SIM_BLOCK_WORLDS = 128, SIM_BLOCK_CONTACTS = 2048 };

/* A thread's working memory. */
typedef struct SimBlock {
  const SimLanesKernels *kernels;
  const SimModel *model[SIM_BLOCK_WORLDS];
  SimWorld *world[SIM_BLOCK_WORLDS];
  SimControl control[SIM_BLOCK_WORLDS];
  SimTaskResult result[SIM_BLOCK_WORLDS]; /* what the caller is after */
  int bits[SIM_BLOCK_WORLDS];
  SimLanesWorld lane[SIM_BLOCK_WORLDS];
  SimContact contact[SIM_BLOCK_CONTACTS];
  int contact_count;
  SimScratch scratch;
} SimBlock;

/* The kernels for this machine; NULL where it has none, and one world after the other is best. The environment variable
 * SIM_KERNELS (scalar, avx2, avx512) may choose lesser ones. */
const SimLanesKernels *sim_block_kernels(void);

/* An environment step of `count` worlds: model, world and control are set, and results are given. */
void sim_block_step(SimBlock *block, const SimTaskRules *rules, int count);

#endif
