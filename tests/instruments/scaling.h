/* Predicts the speed of a run on many GPUs from its configuration: the bytes of each all-reduce, the part overlapped
 * with the backward pass, and the exposed part. A model with published figures, not a measurement; `instruments
 * scaling` prints it. Each GPU has env.num worlds (weak scaling).
 *
 * An all-reduce takes the time of NCCL's own cost model for the better of ring and tree (src/graph/tuning.cc of NCCL
 * 2.2x: a latency per call and one per step, by protocol), plus bytes over bandwidth: each link of a ring carries
 * 2 (n-1)/n times the data, a tree's 2 times. Links: NVLink 4, 450 GB/s per direction and GPU (H100 and H200 data
 * sheets: 900 in both); InfiniBand NDR, 400 Gb/s = 50 GB/s, one port per GPU. */
#ifndef TESTS_SCALING_H
#define TESTS_SCALING_H
#include "trainer/update/gradient.h"

typedef struct ScalingMachine {
  int gpus_per_node;
  double nvlink_gb, network_gb;  /* GB/s per direction and GPU: within a node, and between nodes */
} ScalingMachine;
#define SCALING_H200 ((ScalingMachine){8, 450, 50})

/* A run on one GPU. */
typedef struct ScalingRun {
  double transitions;          /* transitions per iteration and GPU */
  double steps_per_second;     /* training speed, measured or assumed */
  double update_share;         /* fraction of the iteration's time spent in minibatches */
  double minibatches;          /* minibatches per iteration, over all epochs */
  double minibatch_rows;       /* rows per GPU */
  double unit_rows;            /* rows that are sampled together: 1, a sequence's, or an environment's */
  bool is_equal;               /* whether GPUs have equal parts of each minibatch (ppo.shuffle = blocks) */
  double slices;               /* minibatches per epoch, if slices of neighbors (ppo.shuffle = none); else 0 */
  double search_levels;        /* levels per SFL search, over all GPUs; 0: no searches */
  double search_steps;         /* environment steps per level */
  double search_batch;         /* maximum number of levels that a GPU plays at a time */
  double search_batches;       /* configured batches, several of which are played concurrently (level_search.c) */
  double search_period;        /* iterations between searches */
} ScalingRun;

typedef struct ScalingPoint {
  int gpus, calls;
  double bytes;                /* bytes all-reduced per minibatch and GPU */
  double minibatch_us;         /* time of a minibatch on one GPU */
  double sum_us, window_us;    /* time of the calls, and of the computation that they may overlap */
  double exposed_us;           /* time of the calls that is not overlapped */
  double padding_us;           /* time for padding rows in captured updates (minibatch_capacity) */
  double search_us;            /* time of a search, averaged over iterations */
  double host_us;              /* synchronizations per minibatch if the host decides each step
                                * (comm.library = mpi, and iterations with more metrics) */
  double imbalance_us;         /* then also: extra time of the rank with the most rows; 0: all have equally many */
  /* Efficiency: steps/s per GPU relative to one GPU without searches. */
  double efficiency;           /* efficiency with captured updates (captured.h) */
  double host_efficiency;      /* efficiency if the host decides each step */
} ScalingPoint;

/* Minimum time of a search's step: that of few environments on a GPU. */
#define SCALING_STEP_US 100

/* Returns the microseconds of one all-reduce: the minimum over NCCL's algorithms and protocols. */
double scaling_all_reduce_us(const ScalingMachine *machine, int gpus, double bytes);
/* Predicts one number of GPUs. bucket_bytes: size of gradient buckets. */
ScalingPoint scaling_predict(const ScalingMachine *machine, const ScalingRun *run, const Agent *agent,
                             size_t bucket_bytes, int gpus);

/* The command; argv[0] is its name. Returns a CORE_ code. */
int instrument_scaling(int argc, char **argv);

#endif
