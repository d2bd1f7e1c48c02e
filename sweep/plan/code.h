/* The code that the runs of a grid are trained on, beside the trainer's own: may it run, and were runs that are there
 * made by other code? store/code finds and trusts it; the runs' states say what they had. */
#ifndef SWEEP_CODE_H
#define SWEEP_CODE_H
#include "core/text.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/sweep.h"

/* Puts into `message` what of the grid's code is not trusted, and the way out; nothing: all of it is, from now on if
 * `grant`. Errors: code that is not there. */
int sweep_code_look_at_trust(const SweepGrid *grid, bool grant, CoreText *message);
/* The same, where untrusted code is an error, CORE_USAGE. */
int sweep_code_check_trust(const SweepGrid *grid, bool grant);

/* Runs of a grid beside the code that is there now. Zero-initialise; free with sweep_code_free. */
typedef struct SweepCodes {
  CoreText now;     /* "HASH <tab> SUMMARY", a line for each code in the grid; empty: the trainer's alone */
  CoreText changed; /* the lines of those with runs by other code */
  CoreText what;    /* of the first such run: what differs */
  size_t ended;     /* finished and diverged runs by other code */
  size_t begun;     /* runs by other code that have not ended */
  size_t kept;      /* of both: those whose code somebody has kept (kept.h) */
} SweepCodes;

/* Compares the code of each run in the workspace with what it would have now. A run that does not tell its code (of an
 * older version) counts as the same; so does one whose Python may not be started. */
int sweep_code_compare(const char *root, const SweepGrid *grid, SweepCodes *codes);
/* Says it in a sentence: "12 finished runs were made by other code (pendulous.py changed)"; nothing: none were. */
void sweep_code_describe(const SweepCodes *codes, CoreText *text);
void sweep_code_free(SweepCodes *codes);

/* What the user has said about code. */
typedef struct SweepCodeChoice {
  bool trust, force, keep;
  bool dry_run;     /* nothing is recorded */
} SweepCodeChoice;

/* May runs of the grid be started? Trusts, and records what is kept. CORE_USAGE: code is not trusted, or runs were made
 * by other code and neither `force` nor `keep` was given, now or before for this code. */
int sweep_code_admit(const char *root, const SweepGrid *grid, const SweepCodeChoice *choice);
/* The same of a sweep as it was submitted. */
int sweep_code_admit_sweep(const SweepCommon *common, const char *name, const SweepCodeChoice *choice);

#endif
