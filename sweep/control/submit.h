/* Options and entry points of `sweep submit` that `sweep extend` shares. */
#ifndef SWEEP_SUBMIT_H
#define SWEEP_SUBMIT_H
#include <stdbool.h>
#include <stdint.h>

#include "core/command/options.h"
#include "sweep/control/output.h"
#include "sweep/spec/sweep.h"

typedef struct SweepSubmitOptions {
  SweepCommon common;
  CoreOptionList where;
  bool wait, force, no_start, local, dry_run, test_only, hold, no_check, trust, keep, json, same_environment;
  int64_t jobs;              /* 0: not set */
  bool is_on_cluster;        /* the last submission went to Slurm */
  bool keep_failed;          /* leave failed runs alone: from the second wave of a search on */
  SweepOutput output;
} SweepSubmitOptions;

/* Parses the options of sweep submit and calls `handler` with a SweepSubmitOptions and the operands. */
int sweep_submit_parse(const CoreManual *manual, int argc, char **argv, CoreHandler handler);

/* Submits the sweep `operand`, a file or a name. */
int sweep_submit_sweep(SweepSubmitOptions *options, const char *operand);

#endif
