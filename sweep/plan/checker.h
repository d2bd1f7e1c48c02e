/* Checks configurations by one `trainer check-configs` process, with its input and output on pipes. check.h interprets
 * the results. */
#ifndef SWEEP_CHECKER_H
#define SWEEP_CHECKER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/text.h"

typedef enum SweepCheckOutcome {
  SWEEP_CHECK_PENDING,
  SWEEP_CHECK_OK,
  SWEEP_CHECK_TOO_LARGE,
  SWEEP_CHECK_REFUSED
} SweepCheckOutcome;

typedef struct SweepCheckResult {
  SweepCheckOutcome answer;
  double bytes, bytes_here; /* memory of a rank and of this machine; 0 if refused */
  double device_bytes;      /* GPU memory of a rank; 0: it uses no GPU */
  char *message;            /* NULL unless refused or too large; owned by the caller */
} SweepCheckResult;

/* Machine that a configuration would run on. */
typedef struct SweepCheckMachine {
  int64_t ranks;
  bool has_gpus;
} SweepCheckMachine;

typedef struct SweepChecker {
  const char *root;      /* workspace */
  const char *directory; /* working directory of the runs, for relative paths; NULL: the current one */
  bool is_remote;        /* whether the runs are for other machines, so that this one's GPUs and memory do not matter */
  double seconds;        /* time limit of all checks; 0: none */
  void (*config)(void *context, size_t i, CoreConfig *config); /* gets configuration i */
  /* Returns the machine of configuration i if is_remote; NULL: one rank without a GPU. */
  SweepCheckMachine (*machine)(void *context, size_t i);
  void *context;
  CoreText *warnings; /* gets lines about environments that may be wrong although the runs would start */
} SweepChecker;

/* Fills the first *answered of results[count], which must be zeroed. The others are missing because the time ran out
 * or, if `problem` is not "", because the trainer failed. This is never an error: the runs are not to blame. */
void sweep_checker_run(const SweepChecker *checker, size_t count, SweepCheckResult *results, size_t *answered,
                       char problem[512]);

#endif
