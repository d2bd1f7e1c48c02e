/* `instruments cost`: device memory that an iteration reads and writes, and its launches, by phase and kernel, an
 * encoder's apart. Small versions of the run are trained on the emulator, which counts (core/device/access_counts.h);
 * sizes are extrapolated from four of them. What an epoch does once, the shuffle, counts for each minibatch, and a
 * step's own kernels for each part of it; measurements count as one pass. */
#ifndef TESTS_COST_H
#define TESTS_COST_H
#include "core/config/config.h"
#include "core/device/device.h"
#include "core/device/emulated_code.h"

enum { COST_KERNELS_MAX = 1024 };

typedef struct CostSum { double launches, read, written; } CostSum; /* bytes */

typedef struct CostKernel {
  const char *name;
  CoreDevicePhase phase;
  bool is_encoding;            /* whether an encoder launches it */
  CostSum sum;                 /* sum of an iteration without measurements, or of one search */
} CostKernel;

typedef struct Cost {
  double transitions;          /* transitions of an iteration */
  double minibatches, pieces;  /* steps of an iteration; parts of a minibatch, over which all but the step repeats */
  CostSum phase[CORE_PHASES], measured[CORE_PHASES]; /* measured: of an iteration with representation metrics */
  CostSum encoder[CORE_PHASES]; /* sums of the encoder in a phase */
  double search_share;         /* searches per iteration */
  CostKernel kernel[COST_KERNELS_MAX];
  int kernels;
} Cost;

/* Computes the cost of a configuration. CORE_USAGE or CORE_FAIL: it cannot be trained on a device, or this build does
 * not count. */
int cost_of(const CoreConfig *config, Cost *cost);
/* Returns the bytes that an iteration without measurements reads and writes per transition, search included. */
double cost_bytes_per_transition(const Cost *cost);
/* The command; argv[0] is its name. Returns a CORE_ code. */
int instrument_cost(int argc, char **argv);

/* Kernel bodies that count their loads and stores, each table ended by a NULL name. They are compiled a second time,
 * with calls at every load and store (COUNTED_FLAGS of the Makefile). */
extern const CoreEmulatedBody ops_counted_bodies[], sim_counted_bodies[];

#endif
