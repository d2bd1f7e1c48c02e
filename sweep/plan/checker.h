/* Asks the trainer whether runs would start: one `trainer check-configs` for any number of configurations, with its
 * input and output on pipes. check.h says what is asked and what the answers mean. */
#ifndef SWEEP_CHECKER_H
#define SWEEP_CHECKER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/text.h"

typedef enum SweepAnswer { SWEEP_UNANSWERED, SWEEP_STARTS, SWEEP_TOO_LARGE, SWEEP_REFUSED } SweepAnswer;

typedef struct SweepVerdict {
  SweepAnswer answer;
  double bytes, bytes_here;  /* memory that a rank takes, and that this machine has; 0 when refused */
  double device_bytes;       /* memory that a rank takes of a GPU; 0: it uses none */
  char *message;             /* NULL unless refused or too large; free it */
} SweepVerdict;

/* Machine that a configuration would run on. */
typedef struct SweepCheckPlace {
  int64_t ranks;
  bool has_gpus;
} SweepCheckPlace;

typedef struct SweepChecker {
  const char *root;          /* the workspace */
  const char *folder;        /* where the runs will work: relative paths count from there; NULL: here */
  bool elsewhere;            /* on other machines: this one's GPUs and memory do not count */
  double seconds;            /* for all of it; 0: as long as it takes */
  void (*config)(void *context, size_t i, CoreConfig *config); /* gives configuration i */
  SweepCheckPlace (*place)(void *context, size_t i); /* its place, with `elsewhere`; NULL: one rank without a GPU */
  void *context;
  CoreText *remarks;         /* gets lines on what may be wrong with environments though the runs would start */
} SweepChecker;

/* Fills verdicts[0 .. count-1] (zero-initialised) in order; *answered of them. The first not answered is where the time
 * ran out, or where `problem` says why the trainer did not go on ("": no problem). Only a message, never an error: that
 * nobody could look is no fault of the runs. */
void sweep_checker_run(const SweepChecker *checker, size_t count, SweepVerdict *verdicts, size_t *answered,
                       char problem[512]);

#endif
