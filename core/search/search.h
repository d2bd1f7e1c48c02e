/* A search: a space of settings, and how its trials are chosen. The text of one [search NAME] block of an experiment
 * file (sweep/spec/spec.h) is read here, for `sweep`, which draws and runs the trials, and for `analyze`, which says
 * what came of them. The grammar for people: docs/experiments.md.
 *
 *   method = random | sobol | tpe      trials = 64      goal = max final   (a measure: core/config/measures.def)
 *   startup = 10                       tpe: so many random trials first
 *   wave    = 8                        tpe: so many trials are proposed at once
 *   ppo.learning_rate = log 1e-5 .. 1e-2
 *   ppo.epochs        = 1 .. 8                            whole numbers where the setting is one
 *   algo.name         = choice ppo, ppo_ewma
 *   ppo.com           = log 8 .. 512 when algo.name = ppo_ewma
 *
 * A setting with a condition takes part in a trial only when its parent, a choice of the same search, has one of the
 * named values there. Otherwise the run has the value of the file's sections. */
#ifndef CORE_SEARCH_H
#define CORE_SEARCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ini.h"
#include "core/text.h"

enum {
  CORE_SEARCH_AXES_MAX = 32,       /* settings of a search: Sobol' points have as many dimensions here */
  CORE_SEARCH_CHOICES_MAX = 64,    /* values of a choice */
  CORE_SEARCH_TRIALS_MAX = 1000000
};
#define CORE_SEARCH_NO_PARENT SIZE_MAX

typedef enum CoreSearchMethod { CORE_SEARCH_RANDOM, CORE_SEARCH_SOBOL, CORE_SEARCH_TPE } CoreSearchMethod;

/* One setting. A range's coordinate is its value, or the logarithm of it; a choice's the number of its value. */
typedef struct CoreSearchAxis {
  const CoreConfigRow *row;
  const CoreIniEntry *entry;       /* its line; borrowed */
  bool is_log;
  double low, high;                /* of a range: both may be drawn */
  char **choices;                  /* of a choice: canonical texts; NULL: a range */
  size_t choice_count;
  size_t parent;                   /* the axis that its condition is on, or CORE_SEARCH_NO_PARENT */
  uint64_t when;                   /* bit c: takes part where the parent has its choice c */
} CoreSearchAxis;

typedef struct CoreSearch {
  CoreSearchMethod method;
  int64_t trials, startup, wave;   /* 0: not given yet */
  bool minimise;
  const char *measure;             /* "final"; of static storage */
  bool is_log;                     /* of its values geometric means are taken (range LOG of measures.def) */
  CoreSearchAxis *axes;            /* in the file's order */
  size_t count;
  size_t *order;                   /* [count]: parents before those that have conditions on them */
  const CoreIniEntry *goal;        /* the line of the goal; NULL: none was given */
  const CoreIniEntry *given[5];    /* private: the lines that were read, to find repetitions */
} CoreSearch;

/* Takes one line of the block. Zero-initialise the search before the first. CORE_USAGE names file, line, column, what
 * is wrong and the way out. Caller calls core_search_free, also after an error. */
int core_search_line(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search);
/* After the last line: defaults, and the checks between lines. `section`: the block's first line. */
int core_search_finish(const CoreIni *ini, const CoreIniEntry *section, CoreSearch *search);
void core_search_free(CoreSearch *search);

const char *core_search_method_name(CoreSearchMethod method);
/* "log 1e-5 .. 0.01", "choice ppo, ppo_ewma", with its condition: what core_search_line reads back. Appends. */
void core_search_axis_print(const CoreSearch *search, size_t axis, CoreText *text);
/* The whole block but for its head, a line a setting. Appends. */
void core_search_print(const CoreSearch *search, CoreText *text);

/* ---- trials ---- */

/* Text of the value at `unit`, in [0, 1), of the axis: uniform, uniform in the logarithm, or among the choices. Numbers
 * have six significant digits, so that other machines' logarithms give the same settings. Canonical; appends nothing
 * else. */
const char *core_search_value(const CoreSearchAxis *axis, double unit, CoreText *text);
/* The same from a coordinate, which is rounded and bounded to what the axis has. */
const char *core_search_value_at(const CoreSearchAxis *axis, double coordinate, CoreText *text);
/* The coordinate of a value; NaN when the axis does not have it (a range has what lies between its bounds). */
double core_search_coordinate(const CoreSearchAxis *axis, const char *value);
/* Where between 0 and 1 a coordinate lies on the axis: choices and whole numbers in the middles of equal parts. */
double core_search_unit(const CoreSearchAxis *axis, double coordinate);

/* Does the axis take part in the trial? coordinate[count], NaN: does not. Only the parents need to be there. */
bool core_search_is_active(const CoreSearch *search, size_t axis, const double *coordinate);

/* Values of trial `trial` by random or Sobol' points: coordinate[count], NaN where an axis does not take part. Random:
 * Philox, keyed by (sweep, search, setting), counted by the trial. Sobol': core/search/sobol.h, XORed with a number of
 * the same key (a digital shift; L'Ecuyer & Lemieux 2002), so that no trial stands at the bounds. A tpe search's first
 * trials are random ones. */
void core_search_draw(const CoreSearch *search, const char *sweep, const char *name, int64_t trial,
                      double *coordinate);
/* The Philox seed of one setting of a search; setting "" for what is of none. */
uint64_t core_search_seed(const char *sweep, const char *name, const char *setting);

#endif
