/* Code of users that the runs of a grid execute: whether it is trusted, and whether existing runs were made by other
 * code. store/code finds and trusts code; states of runs record it. */
#ifndef SWEEP_CODE_H
#define SWEEP_CODE_H
#include "core/text.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

/* Appends to `message` which code of the grid is not trusted, with a remedy; nothing if all of it is. grant: trusts it
 * from now on. Errors: code that does not exist. */
int sweep_code_find_untrusted(const SweepGrid *grid, bool grant, CoreText *message);
/* Checks that all code is trusted. CORE_USAGE: it is not. */
int sweep_code_check_trust(const SweepGrid *grid, bool grant);

/* Comparison of a grid's runs with the present code. Zero-initialize; free with sweep_code_free. */
typedef struct SweepCodeChanges {
  CoreText current;    /* "HASH <tab> SUMMARY" lines, one per code of the grid; empty: the trainer's only */
  CoreText changed;    /* lines of `current` for which runs by other code exist */
  CoreText difference; /* difference of the first such run */
  size_t finished;     /* finished and diverged runs by other code */
  size_t unfinished;   /* other runs by other code */
  size_t absent;       /* runs of the manifest that the grid lacks and whose program had other code */
  CoreText absent_difference; /* difference of the first such run */
  size_t kept;         /* runs of both kinds whose code the user has accepted (markers.h) */
  size_t remapped;     /* finished runs of a program whose metrics were read and named differently */
  CoreText mapping;    /* first difference of those: "metrics = jsonl, now csv:log.csv" */
} SweepCodeChanges;

/* Compares the code recorded by each run in the workspace with the present code. Runs of older versions, which record
 * none, count as equal, and so do runs whose Python is not trusted. */
int sweep_code_compare(const char *root, const SweepGrid *grid, SweepCodeChanges *codes);
/* Compares the code of a program's runs that the manifest has and the grid lacks, by their config.ini, with the grid's.
 * An edit makes new runs, and these stay. */
void sweep_code_compare_absent(const char *root, const SweepGrid *grid, const SweepManifest *manifest,
                               SweepCodeChanges *codes);
/* Appends "a.py changed since these runs: 6 runs keep the old code"; nothing if there are none. */
void sweep_code_describe_absent(const SweepCodeChanges *codes, CoreText *text);
/* Appends "3 finished runs keep rows that were read with metrics = jsonl, now csv:log.csv"; nothing if there are
 * none. */
void sweep_code_describe_mapping(const SweepCodeChanges *codes, CoreText *text);
/* Appends "12 finished runs were made by other code (pendulous.py changed)"; nothing if there are none. */
void sweep_code_describe(const SweepCodeChanges *codes, CoreText *text);
void sweep_code_free(SweepCodeChanges *codes);

/* Options of the user about code. */
typedef struct SweepCodeChoice {
  bool trust, force, keep;
  FILE *out; /* gets a text that is not trusted yet; NULL: none */
} SweepCodeChoice;

/* Checks that the text of the sweep is trusted (sweep/spec/trust.h), and accepts it: what starts runs looks for it in
 * the user's list. CORE_USAGE: it is not, and `trust` is not set. */
int sweep_code_admit_text(const char *root, const SweepSpec *spec, const SweepCodeChoice *choice);
/* Checks that runs of the grid may start; trusts the sweep (sweep/spec/trust.h) and its code, and accepts other code
 * by `choice`. CORE_USAGE: the sweep or its code is not trusted, or runs were made by other code and neither `force`
 * nor `keep` is set, now or earlier for this code. */
int sweep_code_admit(const char *root, const SweepGrid *grid, const SweepCodeChoice *choice);

#endif
