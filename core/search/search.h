/* Hyperparameter search: a space of settings and the method that proposes trials. Parses a [search NAME] block of an
 * experiment file (sweep/spec/spec.h) for `sweep`, which runs the trials, and for `analyze`, which reports on them.
 * docs/experiments.md describes the syntax.
 *
 *   method = random | sobol | tpe      trials = 64      goal = max final   (a measure: core/config/measures.def)
 *   startup = 10                       tpe: number of random trials at the start
 *   wave    = 8                        tpe: number of trials proposed at once
 *   ppo.learning_rate = log 1e-5 .. 1e-2
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
#include "core/text.h"

enum {
  CORE_SEARCH_AXES_MAX = 32,       /* settings of a search: the dimensions of sobol.h */
  CORE_SEARCH_CHOICES_MAX = 64,    /* values of a choice */
  CORE_SEARCH_TRIALS_MAX = 1000000,
  CORE_SEARCH_MEASURE = 160        /* length of the goal's name with its NUL */
};
#define CORE_SEARCH_NO_PARENT SIZE_MAX

typedef enum CoreSearchMethod { CORE_SEARCH_RANDOM, CORE_SEARCH_SOBOL, CORE_SEARCH_TPE } CoreSearchMethod;

/* A searched setting. The coordinate of a range is the value or its logarithm, that of a choice the value's index. */
typedef struct CoreSearchAxis {
  const CoreConfigRow *row;
  const CoreIniEntry *entry;       /* line in the file; borrowed */
  bool is_log;
  double low, high;                /* inclusive bounds of a range */
  char **choices;                  /* canonical texts of a choice; NULL: a range */
  size_t choice_count;
  size_t parent;                   /* axis of its condition, or CORE_SEARCH_NO_PARENT */
  uint64_t when;                   /* bit c: active if the parent has choice c */
} CoreSearchAxis;

typedef struct CoreSearch {
  CoreSearchMethod method;
  int64_t trials, startup, wave;   /* 0: not set yet */
  bool minimize;
  char measure[CORE_SEARCH_MEASURE]; /* name of the measure, "final"; "": not set yet */
  bool is_metric;                  /* whether it is no measure, but a metric by name (sweep/spec/metric.h) */
  bool is_log;                     /* whether the measure is averaged geometrically (range LOG of measures.def) */
  CoreSearchAxis *axes;            /* in the file's order */
  size_t count;
  size_t *order;                   /* [count] axes, parents before their children */
  const CoreIniEntry *goal;        /* line of the goal; NULL: not set */
  const CoreIniEntry *given[5];    /* private: lines of the keys, to detect repetitions */
} CoreSearch;

/* Parses one line of the block into a zero-initialized search. CORE_USAGE: the message has file, line, column, problem
 * and remedy. The caller calls core_search_free, also after an error. */
int core_search_line(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search);
/* Sets defaults and checks combinations of lines, after the last line. `section`: the block's first line. */
int core_search_finish(const CoreIni *ini, const CoreIniEntry *section, CoreSearch *search);
void core_search_free(CoreSearch *search);

const char *core_search_method_name(CoreSearchMethod method);
/* Appends an axis with its condition in the syntax of core_search_line: "log 1e-5 .. 0.01", "choice ppo, ppo_ewma". */
void core_search_axis_print(const CoreSearch *search, size_t axis, CoreText *text);
/* Appends the block without its header, one line per setting. */
void core_search_print(const CoreSearch *search, CoreText *text);

/* ---- trials ---- */

/* Appends the canonical text of the value at `unit` in [0, 1) of the axis: uniform, log-uniform, or one of the choices.
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
 * setting) with the trial as counter. Sobol' points (sobol.h) are XORed with a number of the same key (digital shift;
 * L'Ecuyer & Lemieux 2002), so that no trial is at a bound. The first trials of a tpe search are random. */
void core_search_draw(const CoreSearch *search, const char *sweep, const char *name, int64_t trial,
                      double *coordinate);
/* Returns the Philox seed of a setting of a search; setting "": of the search itself. */
uint64_t core_search_seed(const char *sweep, const char *name, const char *setting);

#endif
