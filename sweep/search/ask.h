/* Asks a program for trials: `method = command:FILE`, or the bridge to Optuna (ask_optuna.py). Each wave starts the
 * program once, writes everything it needs to its standard input, and reads its proposals from its standard output.
 * Both are lines of JSON; docs/experiments.md#programs-that-propose describes them:
 *
 *   {"protocol": 1, "sweep": ..., "search": ..., "seed": ..., "goals": [...], "space": [...]}
 *   {"trial": 0, "wave": 0, "state": "ended", "settings": {...}, "values": [0.81]}     for each trial so far
 *   {"refused": {...}, "reason": "..."}                                                for each refusal of this wave
 *   {"ask": 8, "wave": 1, "seed": ...}
 *
 * The program keeps nothing between waves, so that its proposals follow from the record of trials. */
#ifndef SWEEP_ASK_H
#define SWEEP_ASK_H
#include "sweep/search/results.h"
#include "sweep/spec/search.h"

/* Proposal that cannot be run, or repeats a trial. */
typedef struct SweepRefusal {
  double *coordinate; /* [axes] */
  char *reason;
} SweepRefusal;

typedef struct SweepAsk {
  const SweepSpec *spec;
  const SweepSearch *search;         /* trials from `known` on wait: they are proposals of this wave */
  const SweepTrialResult *results;   /* [known] */
  size_t known;
  const SweepRefusal *refusals;      /* [refused] */
  size_t refused;
  size_t wanted;                     /* number of trials; 0: only asks whether it can propose */
  int64_t wave, round;               /* round: number of times that it was asked in this wave before */
} SweepAsk;

/* Fills coordinates[wanted][axes] with valid points of the space, as core_search_coordinate returns them. CORE_USAGE:
 * the program was changed after its submission. CORE_FAIL: it cannot be started, did not end in time, failed, or its
 * answer is not valid; the message says what is wrong with which line. The caller has checked that the user trusts the
 * sweep (sweep/spec/trust.h). */
int sweep_ask(const SweepAsk *ask, double *coordinates);

/* Asks the program of each search whether it can propose trials, so that this is known before anything is trained. */
int sweep_ask_check(const SweepSpec *spec);

#endif
