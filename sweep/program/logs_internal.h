/* State of logs.h: logs.c places records, logs_write.c reads and writes run logs. */
#ifndef SWEEP_PROGRAM_LOGS_INTERNAL_H
#define SWEEP_PROGRAM_LOGS_INTERNAL_H
#include <math.h>

#include "core/files.h"
#include "store/runlog/runlog.h"
#include "sweep/program/logs.h"
#include "sweep/program/rows.h"

#define PROGRAM_SCORE_SET "train" /* level set of the score */

typedef enum ProgramKeyKind {
  PROGRAM_ROW,                  /* that there is a record at this step */
  PROGRAM_COLUMN,               /* a column of stats */
  PROGRAM_METRIC,               /* a line of metrics */
  PROGRAM_EVALUATION,           /* a column of an evaluation */
} ProgramKeyKind;

/* Metric of the run. */
typedef struct ProgramKey {
  ProgramKeyKind kind;
  char name[PROGRAM_NAME_MAX], level_set[64];
  size_t column;                /* offset in StoreIteration or StoreEvaluation; 0: none */
  bool is_kl, is_goal;
  bool is_loaded;               /* earlier logs have it */
  double last;                  /* largest step in this attempt; NaN: none */
  int64_t steps;                /* number of times that `last` has grown */
  double jump_from;             /* step from which it may have jumped to `last`; NaN: none */
} ProgramKey;

/* Use of a name by the program. */
typedef struct ProgramUse {
  uint32_t key;                 /* metric outside of evaluations; 0: not known yet */
  bool is_evaluated;            /* an evaluation has it */
} ProgramUse;

/* Value of the current record. */
typedef struct ProgramEntry {
  uint32_t key;
  bool is_step;                 /* it is the step, and no metric */
  double value;
} ProgramEntry;

struct ProgramLogs {
  char root[CORE_PATH_MAX], id[CORE_RUN_ID];
  int attempt;
  const CoreConfig *config;
  StoreRunlog *stats, *evaluations, *metrics;
  ProgramRows rows;
  ProgramNames key_names;
  ProgramKey *keys;             /* [key_names.count] */
  uint32_t row_key, kl_key;
  ProgramUse *uses;             /* [use_count] by index of the program's names */
  size_t use_count;
  ProgramEntry *entries;        /* [entry_capacity] of the current record */
  size_t entry_capacity;
  char step_name[CORE_SCRIPT_NAME], goal_name[CORE_SCRIPT_NAME];
  bool is_sum;                  /* steps are the sums of step_name */
  double sign;                  /* direction of the goal: 1: maximize, -1: minimize */
  double total;                 /* total steps; 0: unknown */
  bool has_goal, has_evaluated_goal; /* there is a goal; an evaluation has it */
  bool is_rate;                 /* whether the goal is max solve_rate */
  bool has_step;                /* a record of this attempt had a step */
  bool has_loaded_rows;         /* earlier attempts have rows */
  double number_base;           /* number of the last record of earlier attempts, where records have no step */
  double earlier_end;           /* largest step of earlier attempts; -INFINITY: none */
  double begin, end;            /* step at which this attempt began, and its largest; NaN: no record yet */
  double empty_low, empty_high; /* steps between which rows have become empty */
  double score_low, score_high; /* steps between which the goal has changed since the last flush */
  double rate_above;            /* a solve rate above 1; NaN: none */
  double started_s, reported_speed;
};

/* Returns whether two values are equal in the 9 digits that logs have. */
static inline bool program_logs_is_same(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-8 * fabs(a);
}

/* Returns the database's name of a program's metric: that of [metric], otherwise its own. */
const char *program_logs_column(const ProgramLogs *logs, const char *name);
/* Returns the offset of a column in StoreEvaluation or StoreIteration; 0: it has none. */
size_t program_logs_offset(const char *column, bool is_evaluation);
uint32_t program_logs_key(ProgramLogs *logs, const char *name, const char *level_set);

/* Notes that values of the goal at this step have changed. */
void program_logs_note_goal(ProgramLogs *logs, double step);

/* Write lines that remove a value, or a whole row with its score, from the database. Called before it changes. */
void program_logs_unwrite(ProgramLogs *logs, ProgramRow *row, uint32_t key);
void program_logs_unwrite_row(ProgramLogs *logs, const ProgramRow *row);

#endif
