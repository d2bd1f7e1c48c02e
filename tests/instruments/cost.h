/* `instruments cost`: device memory that an iteration reads and writes, and its launches, by phase and kernel, an
 * encoder's apart. Small versions of the run are trained on the emulator, which counts (core/device/access_counts.h);
 * sizes are extrapolated from four of them. What an epoch does once, the shuffle, counts for each minibatch, and a
 * step's own kernels for each part of it; measurements count as one pass. */
#ifndef TESTS_COST_H
#define TESTS_COST_H
#include "core/config/config.h"
#include "core/device/device.h"
#include "core/device/emulated_code.h"
#include "trainer/nets/agent.h"

enum { COST_KERNELS_MAX = 1024 };

typedef struct CostSum { double launches, read, written; } CostSum; /* bytes */

typedef struct CostKernel {
  const char *name;
  CoreDevicePhase phase;
  bool is_encoding;            /* whether an encoder launches it */
  CostSum sum;                 /* sum of an iteration without measurements, or of one search */
} CostKernel;

/* Products of a row: multiply-adds in the forward pass, as many in gradients of weights, and those in gradients of
 * rows; bytes that it reads of kernels in one pass, which a tile of rows shares, and that tiles of gradients of weights
 * read. */
typedef struct CostProducts { double forward, backward, kernels, tiles; } CostProducts;

typedef struct Cost {
  double transitions;          /* transitions of an iteration */
  double minibatches, pieces;  /* steps of an iteration; parts of a minibatch, over which all but the step repeats */
  CostSum phase[CORE_PHASES], measured[CORE_PHASES]; /* measured: of an iteration with representation metrics */
  CostSum encoder[CORE_PHASES]; /* sums of the encoder in a phase */
  double search_share;         /* searches per iteration */
  double worlds[CORE_PHASES], steps[CORE_PHASES]; /* worlds that step together, and their steps; of a search, all */
  double rows[CORE_PHASES];    /* rows of the networks' passes, as far as they are known */
  CostProducts encoder_products, tower_products;
  CostKernel kernel[COST_KERNELS_MAX];
  int kernels;
} Cost;

/* Computes the cost of a configuration. CORE_USAGE or CORE_FAIL: it cannot be trained on a device, or this build does
 * not count. */
int cost_of(const CoreConfig *config, Cost *cost);
/* Returns the bytes that an iteration without measurements reads and writes per transition, search included. */
double cost_bytes_per_transition(const Cost *cost);

/* cost_times.c: expected times on an H200, by its model. */
typedef struct CostTime {
  double memory_s, products_s, factors_s, launches_s, all_s; /* factors: of products, from the L2 */
  int blocks;                  /* blocks of a multiprocessor at once; 0: not known */
} CostTime;
/* Sets the multiply-adds of a planned agent. */
void cost_count_products(const Agent *agent, Cost *cost);
/* Returns the time of a kernel's launches in an iteration, or in a search. */
CostTime cost_time(const Cost *cost, const CostKernel *kernel);
/* Returns the time of an iteration, searches included. */
double cost_seconds(const Cost *cost);
/* Prints the kernels with the longest times, whose order in `cost` changes. */
void cost_print_times(Cost *cost);
/* Writes a kernel's name and what launches it; text >= 64. */
const char *cost_kernel_text(const CostKernel *kernel, char *text);

/* The command; argv[0] is its name. Returns a CORE_ code. */
int instrument_cost(int argc, char **argv);

/* Kernel bodies that count their loads and stores, each table ended by a NULL name. They are compiled a second time,
 * with calls at every load and store (COUNTED_FLAGS of the Makefile). */
extern const CoreEmulatedBody ops_counted_bodies[], sim_counted_bodies[];

#endif
