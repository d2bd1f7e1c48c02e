/* How fast a run would be on many GPUs, worked out from its configuration: the bytes of each sum over ranks, how much
 * of it hides behind the backward pass, and what is left to wait for. A model with published figures, no measurement;
 * `trainer scaling` prints it. Each GPU has env.num worlds of its own (weak scaling).
 *
 * A sum takes what NCCL's own cost model says of the better of ring and tree (src/graph/tuning.cc of NCCL 2.2x: a
 * latency for the call and one for each step, by protocol), plus bytes over bandwidth: all of a ring's links carry 2
 * (n-1)/n bytes, a tree's 2. Links: NVLink 4, 450 GB/s each way a GPU (H100 and H200 data sheets: 900 both ways);
 * InfiniBand NDR, 400 Gb/s = 50 GB/s, one port a GPU. */
#ifndef TRAINER_SCALING_H
#define TRAINER_SCALING_H
#include "trainer/update/gradient.h"

typedef struct ScalingMachine {
  int gpus_per_node;
  double nvlink_gb, network_gb;  /* GB/s each way: of a GPU within its node, of a GPU's port between nodes */
} ScalingMachine;
#define SCALING_H200 ((ScalingMachine){8, 450, 50})

/* What one GPU does alone. */
typedef struct ScalingRun {
  double transitions;          /* of an iteration, a GPU */
  double steps_per_second;     /* of training: measured, or hoped for */
  double update_share;         /* of the iteration's time, in minibatches */
  double minibatches;          /* of an iteration, all epochs */
  double minibatch_rows;       /* a GPU's share */
  double unit_rows;            /* rows that are drawn together: 1, a sequence, or an environment's */
  bool is_equal;               /* ppo.shuffle = blocks: each GPU has its exact share of every minibatch */
  double search_levels;        /* SFL: levels per search, all GPUs; 0: there are no searches */
  double search_steps;         /* environment steps per level */
  double search_batch;         /* levels that a GPU plays at a time, at most */
  double search_batches;       /* batches as configured, of which GPUs play several at once (level_search.c) */
  double search_period;        /* iterations between searches */
} ScalingRun;

typedef struct ScalingPoint {
  int gpus, calls;
  double bytes;                /* of a minibatch's sums, a GPU */
  double minibatch_us;         /* of one GPU alone */
  double sum_us, window_us;    /* what the calls take, and what they could hide behind */
  double exposed_us;           /* what of the calls the GPU waits for */
  double filled_us;            /* for the padding of pieces in recorded updates (minibatch_capacity) */
  double search_us;            /* an iteration's share of a search */
  double host_us;              /* synchronisations of a minibatch, where the host decides on each step
                                * (comm.library = mpi, and iterations that measure more) */
  double uneven_us;            /* and then for the rank that drew most rows; 0 where all have equally many */
  /* Efficiency: steps/s per GPU relative to one GPU without searches. */
  double efficiency;           /* efficiency with captured updates (captured.h) */
  double waiting;              /* efficiency where the host decides */
} ScalingPoint;

/* Time of a step of few environments on a GPU, kernels that are launched one by one: what a search's step takes at
 * least. */
#define SCALING_STEP_US 100

/* Microseconds of one sum over so many GPUs: the best of NCCL's algorithms and protocols. */
double scaling_sum_us(const ScalingMachine *machine, int gpus, double bytes);
ScalingPoint scaling_predict(const ScalingMachine *machine, const ScalingRun *run, const Agent *agent,
                             size_t bucket_bytes, int gpus);

/* `trainer scaling` */
int trainer_scaling(int argc, char **argv);

#endif
