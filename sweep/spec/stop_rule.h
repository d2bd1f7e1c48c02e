/* [stop] section of an experiment file: the rule of early stopping and its settings (stop_rule.def). sweep/stop
 * implements the rules. */
#ifndef SWEEP_STOP_RULE_H
#define SWEEP_STOP_RULE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/help.h"
#include "core/ini.h"
#include "core/text.h"
#include "sweep/spec/metric.h"

enum { SWEEP_STOP_TEXT = SWEEP_METRIC_NAME, SWEEP_STOP_KEYS_MAX = 16 };

typedef enum SweepStopKind {
  SWEEP_STOP_NONE, /* no [stop], or stop.rule = none */
#define RULE(name, help) SWEEP_STOP_##name,
#define COUNT(rules, key, def, min, max, help)
#define REAL(rules, key, def, min, max, help)
#define WORD(rules, key, def, help)
#define ENUM(rules, key, def, choices, help)
#include "sweep/spec/stop_rule.def"
  SWEEP_STOP_KINDS
} SweepStopKind;

/* Value and location of a setting, for messages. */
typedef struct SweepStopSource {
  const char *value; /* NULL: not set */
  const char *pair;  /* argument of --set; NULL: from the file */
  CoreIniEntry entry;
} SweepStopSource;

typedef struct SweepStop {
  SweepStopKind rule;
#define RULE(name, help)
#define COUNT(rules, key, def, min, max, help) int64_t key;
#define REAL(rules, key, def, min, max, help) double key;
#define WORD(rules, key, def, help) char key[SWEEP_STOP_TEXT];
#define ENUM(rules, key, def, choices, help) char key[SWEEP_STOP_TEXT];
#include "sweep/spec/stop_rule.def"
  SweepStopSource given[SWEEP_STOP_KEYS_MAX]; /* by index in sweep_stop_names; strings are borrowed from the file */
} SweepStop;

SweepStop sweep_stop_default(void);
const char *sweep_stop_kind_name(SweepStopKind kind); /* "asha"; "none" */
bool sweep_stop_kind_from_name(const char *name, SweepStopKind *kind);

/* Returns "stop.rule", "stop.measure", ... */
const char *const *sweep_stop_names(size_t *count);
/* Sets one value. CORE_USAGE: it is invalid; the message names the key. */
int sweep_stop_set(SweepStop *stop, const char *name, const char *value);
/* Sets a value that was checked before, and stores its location; index: in sweep_stop_names. */
void sweep_stop_set_given(SweepStop *stop, size_t index, const SweepStopSource *given);

/* Checks the settings against each other. CORE_USAGE: the message has file, line and key. */
int sweep_stop_check(const SweepStop *stop, const CoreIni *ini, const CoreScript *program);
/* Finds the metric of stop.measure; without a name: the score. CORE_USAGE: no run of this program, or of the trainer if
 * it is NULL, can have it. */
int sweep_stop_metric(const SweepStop *stop, const CoreScript *program, SweepMetric *metric);
/* Checks them against a configuration of the sweep: grace and rungs are inside its budget, and it has the measure. */
int sweep_stop_check_config(const SweepStop *stop, const CoreIni *ini, const CoreConfig *config);

/* Appends "\n[stop]\n" and the settings of the file, for sweep.ini; nothing without a rule. */
void sweep_stop_print(const SweepStop *stop, CoreText *text);
/* Appends a description on one line: "asha: rungs at 1 M, 4 M, ... transitions by score". budget: the smallest one. */
void sweep_stop_describe(const SweepStop *stop, double budget, CoreText *text);
/* Returns the transitions of a rung of asha below `budget`; INFINITY: there is no such rung. */
double sweep_stop_rung(const SweepStop *stop, double budget, int rung);
/* Prints the rows for --help. */
void sweep_stop_help(CoreHelp *help);

#endif
