/* Cost of a sweep, for `sweep status --cost`: time in the queue, hours spent and wasted, memory, recommended limits. */
#ifndef SWEEP_COST_H
#define SWEEP_COST_H
#include <stdbool.h>

typedef struct SweepCostOptions {
  bool json, csv; /* as JSON, or as CSV with one line per run */
  bool runs;      /* one line per run in the text */
} SweepCostOptions;

/* Prints the cost of a sweep to stdout. Reads files only, and does not query Slurm. */
int sweep_cost_print(const SweepCostOptions *options, const char *root, const char *name);

#endif
