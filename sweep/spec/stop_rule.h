/* The [stop] section of an experiment file: which runs are stopped early, by which rule (stop_rule.def). What the rules
 * do is sweep/stop's. */
#ifndef SWEEP_STOP_RULE_H
#define SWEEP_STOP_RULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/help.h"
#include "core/ini.h"
#include "core/text.h"

enum { SWEEP_STOP_TEXT = 64, SWEEP_STOP_KEYS_MAX = 16 };

typedef enum SweepStopKind {
  SWEEP_STOP_NONE, /* no [stop], or stop.rule = none */
#define RULE(name, help) SWEEP_STOP_##name,
#define COUNT(rules, key, def, lowest, highest, help)
#define REAL(rules, key, def, lowest, highest, help)
#define WORD(rules, key, def, check, help)
#define ENUM(rules, key, def, choices, help)
#include "sweep/spec/stop_rule.def"
  SWEEP_STOP_KINDS
} SweepStopKind;

/* Where a setting was given, for messages. */
typedef struct SweepStopGiven {
  const char *value;  /* NULL: it was not */
  const char *pair;   /* --set as given; NULL for the file's */
  CoreIniEntry entry;
} SweepStopGiven;

typedef struct SweepStop {
  SweepStopKind rule;
#define RULE(name, help)
#define COUNT(rules, key, def, lowest, highest, help) int64_t key;
#define REAL(rules, key, def, lowest, highest, help) double key;
#define WORD(rules, key, def, check, help) char key[SWEEP_STOP_TEXT];
#define ENUM(rules, key, def, choices, help) char key[SWEEP_STOP_TEXT];
#include "sweep/spec/stop_rule.def"
  SweepStopGiven given[SWEEP_STOP_KEYS_MAX]; /* by the number of sweep_stop_names; strings of the file's */
} SweepStop;

SweepStop sweep_stop_default(void);
const char *sweep_stop_kind_name(SweepStopKind kind); /* "asha"; "none" */
bool sweep_stop_kind_from_name(const char *name, SweepStopKind *kind);

/* "stop.rule", "stop.measure", ... */
const char *const *sweep_stop_names(size_t *count);
/* Sets one value. CORE_USAGE: none of the choices (with the nearest), no number, out of range; names the key. */
int sweep_stop_set(SweepStop *stop, const char *name, const char *value);
/* Sets the value that counts and remembers where it stands; number: that of sweep_stop_names. It was checked before. */
void sweep_stop_take(SweepStop *stop, size_t number, const SweepStopGiven *given);

/* Between the settings: no rule, a parameter of another rule, what asha needs. CORE_USAGE with file, line and key. */
int sweep_stop_check(const SweepStop *stop, const CoreIni *ini);
/* For one of the sweep's configurations: grace and rungs inside its budget, a measure that it will have. */
int sweep_stop_check_config(const SweepStop *stop, const CoreIni *ini, const CoreConfig *config);

/* Appends "\n[stop]\n" and the settings that were given, as sweep.ini has them; nothing without a rule. */
void sweep_stop_print(const SweepStop *stop, CoreText *text);
/* Appends one line for people: "asha: rungs at 1 M, 4 M, ... transitions by score". `budget`: the smallest. */
void sweep_stop_describe(const SweepStop *stop, double budget, CoreText *text);
/* Rungs of asha below `budget`: transitions of rung `rung`, or INFINITY when there is none. */
double sweep_stop_rung(const SweepStop *stop, double budget, int rung);
/* The rows, for --help. */
void sweep_stop_help(CoreHelp *help);

/* What stop.measure names: a column of evaluations or of iterations, found by its SQL name. */
typedef struct SweepStopMeasure {
  const char *column; /* "solve_rate"; NULL: score */
  bool evaluation;    /* of the table evaluation, else of iteration */
} SweepStopMeasure;
bool sweep_stop_measure_find(const char *name, SweepStopMeasure *measure);

#endif
