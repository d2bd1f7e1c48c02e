/* Hyperparameter search: a space of settings and the method that proposes trials. Parses a [search NAME] block of an
 * experiment file (sweep/spec/spec.h) for `sweep`, which runs the trials, and for `analyze`, which reports on them.
 * docs/experiments.md describes the syntax.
 *
 *   method = random | sobol | tpe | optuna:SAMPLER | command:FILE      trials = 64
 *   goal    = max final[, min transitions]                measures of core/config/measures.def, or metrics
 *   startup = 10                       adaptive methods: number of random trials at the start
 *   wave    = 8                        adaptive methods: number of trials proposed at once
 *   timeout = 600                      programs: seconds that they may take for a wave
 *   ppo.learning_rate = log 1e-5 .. 1e-2
 *   ppo.gamma         = logit 0.9 .. 0.9999               uniform in log(x / (1 - x))
 *   env.num           = pow2 64 .. 4096                   powers of two
 *   ppo.epochs        = 1 .. 8                            integers if the setting is one
 *   algo.name         = choice ppo, ppo_ewma
 *   ppo.com           = log 8 .. 512 when algo.name = ppo_ewma
 *
 * A setting with a condition is active in a trial only if its parent, a choice of the same search, has one of the named
 * values. An inactive setting keeps its value from the file's sections. */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ini.h"
#include "core/sha256.h"
#include "core/text.h"

enum {
  CORE_SEARCH_AXES_MAX = 32,       /* settings of a search: the dimensions of sobol.c */
  CORE_SEARCH_CHOICES_MAX = 64,    /* values of a choice */
  CORE_SEARCH_TRIALS_MAX = 1000000,
  CORE_SEARCH_MEASURE = 160,       /* length of a goal's name with its NUL */
  CORE_SEARCH_GOALS_MAX = 2
};
#define CORE_SEARCH_NO_PARENT SIZE_MAX

/* Adaptive methods, from CORE_SEARCH_TPE on, propose waves of trials from the results of earlier ones. Programs, from
 * CORE_SEARCH_OPTUNA on, are asked for them (sweep/search/ask.h). */
typedef enum CoreSearchMethod {
  CORE_SEARCH_RANDOM,
  CORE_SEARCH_SOBOL,
  CORE_SEARCH_TPE,
  CORE_SEARCH_OPTUNA,
  CORE_SEARCH_COMMAND
} CoreSearchMethod;

/* Scale on which a range is uniform. */
typedef enum CoreSearchScale {
  CORE_SEARCH_LINEAR,
  CORE_SEARCH_LOG,
  CORE_SEARCH_LOGIT,               /* log(x / (1 - x)) */
  CORE_SEARCH_POW2                 /* powers of two; the coordinate is the exponent */
} CoreSearchScale;

/* A searched setting. The coordinate of a range is the value on its scale, that of a choice the value's index. */
typedef struct CoreSearchAxis {
  const CoreConfigRow *row;
  const CoreIniEntry *entry;       /* line in the file; borrowed */
  CoreSearchScale scale;
  double low, high;                /* inclusive bounds of a range, as values of the setting */
  char **choices;                  /* canonical texts of a choice; NULL: a range */
  size_t choice_count;
  size_t parent;                   /* axis of its condition, or CORE_SEARCH_NO_PARENT */
  uint64_t when;                   /* bit c: active if the parent has choice c */
} CoreSearchAxis;

typedef struct CoreSearchGoal {
  bool minimize;
  char measure[CORE_SEARCH_MEASURE]; /* name of the measure, "final" */
  bool is_metric;                  /* whether it is no measure, but a metric by name (sweep/spec/metric.h) */
  bool is_log;                     /* whether the measure is averaged geometrically (range LOG of measures.def) */
} CoreSearchGoal;

typedef struct CoreSearch {
  CoreSearchMethod method;
  char *program;                   /* optuna: "CmaEsSampler(sigma0=0.3)"; command: the file; NULL: other methods */
  char program_hash[CORE_SHA256];  /* command: SHA-256 of the file at submission; "": not recorded yet */
  int64_t trials, startup, wave, timeout_s; /* 0: not set yet */
  CoreSearchGoal goals[CORE_SEARCH_GOALS_MAX];
  size_t goal_count;               /* 0: not set yet */
  CoreSearchAxis *axes;            /* in the file's order */
  size_t count;
  size_t *order;                   /* [count] axes, parents before their children */
  const CoreIniEntry *goal, *method_entry; /* lines of the goals and of the method; NULL: not set */
  const CoreIniEntry *given[6];    /* private: lines of the keys, to detect repetitions */
} CoreSearch;

/* Parses one line of the block into a zero-initialized search. CORE_USAGE: the message has file, line, column, problem
 * and remedy. The caller calls core_search_free, also after an error. */
int core_search_line(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search);
/* Sets defaults and checks combinations of lines, after the last line. `section`: the block's first line. */
int core_search_finish(const CoreIni *ini, const CoreIniEntry *section, CoreSearch *search);
void core_search_free(CoreSearch *search);

/* Whether trials are proposed from results, in waves. */
static inline bool core_search_is_adaptive(const CoreSearch *search) { return search->method >= CORE_SEARCH_TPE; }
/* Whether a program proposes them. */
static inline bool core_search_has_program(const CoreSearch *search) { return search->method >= CORE_SEARCH_OPTUNA; }
/* Appends the method as in the file, "optuna:CmaEsSampler(sigma0=0.3)", without a recorded hash. Returns the text. */
const char *core_search_method_print(const CoreSearch *search, CoreText *text);
/* Appends "max final, min transitions". Returns the text. */
const char *core_search_goals_print(const CoreSearch *search, CoreText *text);
/* Appends an axis with its condition in the syntax of core_search_line: "log 1e-5 .. 0.01", "choice ppo, ppo_ewma". */
void core_search_axis_print(const CoreSearch *search, size_t axis, CoreText *text);
/* Appends the block without its header, one line per setting. */
void core_search_print(const CoreSearch *search, CoreText *text);

/* ---- trials ---- */

/* Gets the bounds of a range's coordinate. Integers and powers of two are cells of width 1 centered on them, also in
 * the logarithm of integers, so that all are equally likely. */
void core_search_bounds(const CoreSearchAxis *axis, double *low, double *high);
/* Gets the bounds of the cell that has a coordinate of a range. False: its values are real numbers. */
bool core_search_cell(const CoreSearchAxis *axis, double coordinate, double *low, double *high);
/* Appends the canonical text of the value at `unit` in [0, 1) of the axis: uniform on its scale, or one of the choices.
 * Numbers have six significant digits, so that settings do not depend on a machine's logarithm. */
const char *core_search_value(const CoreSearchAxis *axis, double unit, CoreText *text);
/* Appends the text of a coordinate, rounded and clamped to the axis. */
const char *core_search_value_at(const CoreSearchAxis *axis, double coordinate, CoreText *text);
/* Returns the coordinate of a value; NaN if the value is not on the axis. */
double core_search_coordinate(const CoreSearchAxis *axis, const char *value);
/* Maps a coordinate to [0, 1]; choices and integers map to the centers of equal intervals. */
double core_search_unit(const CoreSearchAxis *axis, double coordinate);

/* Whether the axis is active in the trial coordinate[count], where NaN means inactive. Only parents need to be set. */
bool core_search_is_active(const CoreSearch *search, size_t axis, const double *coordinate);

/* Draws trial `trial` into coordinate[count], NaN for inactive axes. Random points: Philox keyed by (sweep, search,
 * setting) with the trial as counter. Sobol' points (sobol.c) are XORed with a number of the same key (digital shift;
 * L'Ecuyer & Lemieux 2002), so that no trial is at a bound. The first trials of a tpe search are random. */
void core_search_draw(const CoreSearch *search, const char *sweep, const char *name, int64_t trial,
                      double *coordinate);
/* Returns the Philox seed of a setting of a search; setting "": of the search itself. */
uint64_t core_search_seed(const char *sweep, const char *name, const char *setting);

enum { CORE_SOBOL_DIMENSIONS = 32 };

/* Returns coordinate `dimension` of point `index` as a 32-bit binary fraction, in Gray code order (Antonov & Saleev
 * 1979) like scipy.stats.qmc.Sobol without scrambling. Point 0 is the origin. */
uint32_t core_sobol(uint32_t index, size_t dimension);

#endif
