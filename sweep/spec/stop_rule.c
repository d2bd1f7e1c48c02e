/* Parses, checks and prints [stop] by the table of stop_rule.def. Mistakes are found when the experiment is read, not
 * when the first run should be stopped. */
#include "sweep/spec/stop_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/terminal.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { MEDIAN = 1 << SWEEP_STOP_median, ASHA = 1 << SWEEP_STOP_asha, STAGNATION = 1 << SWEEP_STOP_stagnation,
       ALL = MEDIAN | ASHA | STAGNATION };

typedef enum RowKind { ROW_RULE, ROW_COUNT, ROW_REAL, ROW_WORD, ROW_ENUM } RowKind;
typedef struct Row {
  const char *name;    /* "stop.grace" */
  RowKind kind;
  unsigned rules;
  size_t offset;
  double min, max;
  const char *choices, *def;
  const char *help;
} Row;

static const char rule_choices[] = "none"
#define RULE(name, help) "|" #name
#define COUNT(rules, key, def, min, max, help)
#define REAL(rules, key, def, min, max, help)
#define WORD(rules, key, def, help)
#define ENUM(rules, key, def, choices, help)
#include "sweep/spec/stop_rule.def"
  ;

#define FIELD(row_kind, readers, k, low, high, list, text, help_text) \
  {.name = "stop." #k, \
   .kind = row_kind, \
   .rules = (readers), \
   .offset = offsetof(SweepStop, k), \
   .min = (double)(low), \
   .max = (double)(high), \
   .choices = list, \
   .def = text, \
   .help = help_text},
static const Row rows[] = {
    {.name = "stop.rule",
     .kind = ROW_RULE,
     .rules = ALL,
     .offset = offsetof(SweepStop, rule),
     .choices = rule_choices,
     .def = "none",
     .help = "rule of early stopping; none: runs are not stopped"},
#define RULE(name, help)
#define COUNT(rules, key, def, low, high, help) FIELD(ROW_COUNT, rules, key, low, high, NULL, #def, help)
#define REAL(rules, key, def, low, high, help) FIELD(ROW_REAL, rules, key, low, high, NULL, #def, help)
#define WORD(rules, key, def, help) FIELD(ROW_WORD, rules, key, 0, 0, NULL, def, help)
#define ENUM(rules, key, def, choices, help) FIELD(ROW_ENUM, rules, key, 0, 0, choices, def, help)
#include "sweep/spec/stop_rule.def"
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert(sizeof rows / sizeof *rows <= SWEEP_STOP_KEYS_MAX + 0u, "SweepStop.given has an element for each");

static const char *const names[ROWS] = {
  "stop.rule",
#define RULE(name, help)
#define COUNT(rules, key, def, min, max, help) "stop." #key,
#define REAL(rules, key, def, min, max, help) "stop." #key,
#define WORD(rules, key, def, help) "stop." #key,
#define ENUM(rules, key, def, choices, help) "stop." #key,
#include "sweep/spec/stop_rule.def"
};

static const struct { const char *name, *help; } kinds[SWEEP_STOP_KINDS] = {
  {"none", ""},
#define RULE(name, help) {#name, help},
#define COUNT(rules, key, def, min, max, help)
#define REAL(rules, key, def, min, max, help)
#define WORD(rules, key, def, help)
#define ENUM(rules, key, def, choices, help)
#include "sweep/spec/stop_rule.def"
};

SweepStop sweep_stop_default(void) {
  return (SweepStop){
#define RULE(name, help)
#define COUNT(rules, key, def, min, max, help) .key = def,
#define REAL(rules, key, def, min, max, help) .key = def,
#define WORD(rules, key, def, help) .key = def,
#define ENUM(rules, key, def, choices, help) .key = def,
#include "sweep/spec/stop_rule.def"
  };
}

const char *const *sweep_stop_names(size_t *count) {
  *count = ROWS;
  return names;
}

const char *sweep_stop_kind_name(SweepStopKind kind) {
  CORE_CHECK((unsigned)kind < SWEEP_STOP_KINDS);
  return kinds[kind].name;
}

bool sweep_stop_kind_from_name(const char *name, SweepStopKind *kind) {
  for (int i = 0; i < SWEEP_STOP_KINDS; i++) {
    if (strcmp(kinds[i].name, name) != 0) continue;
    *kind = (SweepStopKind)i;
    return true;
  }
  return false;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Returns an error that lists the choices, "median, asha, stagnation" for "median|asha|stagnation". */
static int refuse_choice(const Row *row, const char *value) {
  char list[256];
  const char *choices[SWEEP_STOP_KINDS + 2];
  size_t count = 0;
  CoreText known = {0};
  snprintf(list, sizeof list, "%s", row->choices);
  for (char *next = list; next && count < sizeof choices / sizeof *choices; count++)
    choices[count] = strsep(&next, "|");
  for (size_t i = 0; i < count; i++) core_text_appendf(&known, "%s%s", i ? ", " : "", choices[i]);
  const char *nearest = core_text_nearest(value, choices, count);
  const int code = core_error(CORE_USAGE, "%s = %.80s is not one of: %s%s%s%s", row->name, *value ? value : "(empty)",
                              core_text_string(&known), nearest ? "; did you mean " : "", nearest ? nearest : "",
                              nearest ? "?" : "");
  core_text_free(&known);
  return code;
}

static bool is_choice(const char *choices, const char *value) {
  const size_t length = strlen(value);
  for (const char *c = choices; *c; c += *c == '|') {
    const size_t one = strcspn(c, "|");
    if (one == length && strncmp(c, value, one) == 0) return true;
    c += one;
  }
  return false;
}

static int set_number(SweepStop *stop, const Row *row, const char *value) {
  char low[32], high[32];
  int64_t integer = 0;
  double real = 0;
  const bool is_count = row->kind == ROW_COUNT;
  const bool is_valid = is_count ? core_text_to_int_scaled(value, &integer) : core_text_to_real_scaled(value, &real);
  if (is_count) real = (double)integer;

  if (!is_valid)
    return core_error(CORE_USAGE, "%s = %.80s is not a %s%s", row->name, *value ? value : "(empty)",
                      is_count ? "whole number" : "number", core_text_number_hint(value));
  if (!(real >= row->min && real <= row->max))
    return core_error(CORE_USAGE, "%s = %.80s: expected %s to %s", row->name, value, core_text_from_real(row->min, low),
                      core_text_from_real(row->max, high));

  if (is_count) *(int64_t *)((char *)stop + row->offset) = integer;
  else *(double *)((char *)stop + row->offset) = real;
  return CORE_OK;
}

int sweep_stop_set(SweepStop *stop, const char *name, const char *value) {
  const Row *row = rows;
  while (row < rows + ROWS && strcmp(row->name, name) != 0) row++;
  CORE_CHECK(row < rows + ROWS); /* names come from sweep_stop_names */
  switch (row->kind) {
    case ROW_RULE: return sweep_stop_kind_from_name(value, &stop->rule) ? CORE_OK : refuse_choice(row, value);
    case ROW_COUNT:
    case ROW_REAL: return set_number(stop, row, value);
    case ROW_ENUM:
      if (!is_choice(row->choices, value)) return refuse_choice(row, value);
      break;
    case ROW_WORD: break;
  }
  return core_text_copy((char *)stop + row->offset, SWEEP_STOP_TEXT, value, row->name);
}

void sweep_stop_set_given(SweepStop *stop, size_t index, const SweepStopSource *given) {
  CORE_CHECK(index < ROWS && sweep_stop_set(stop, names[index], given->value) == CORE_OK);
  stop->given[index] = *given;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Adds the location of the setting to the current error message. */
static int error_at(const SweepStop *stop, const CoreIni *ini, const char *name, bool at_key) {
  size_t index = 0;
  while (index + 1 < ROWS && strcmp(names[index], name) != 0) index++;
  const SweepStopSource *given = &stop->given[index];
  if (!given->value) return core_error_context(CORE_USAGE, "%s", ini->file);
  if (given->pair) return core_error_context(CORE_USAGE, "--set %s", given->pair);
  return at_key ? core_ini_error_key(ini, &given->entry, "%s", core_error_message())
                : core_ini_error(ini, &given->entry, "%s", core_error_message());
}

static void append_rules(unsigned rules, CoreText *text) {
  for (int i = 1; i < SWEEP_STOP_KINDS; i++)
    if (rules & 1u << i) core_text_appendf(text, "%s%s", text->length ? " and " : "", kinds[i].name);
}

/* Returns an error for a parameter that the rule does not read and that so would have no effect. */
static int refuse_other_rule(const SweepStop *stop, const CoreIni *ini, const Row *row) {
  CoreText readers = {0};
  append_rules(row->rules, &readers);
  core_error(CORE_USAGE, "%s is a parameter of %s, but stop.rule is %s; remove it, or change the rule", row->name,
             core_text_string(&readers), kinds[stop->rule].name);
  core_text_free(&readers);
  return error_at(stop, ini, row->name, true);
}

int sweep_stop_metric(const SweepStop *stop, const CoreScript *program, SweepMetric *metric) {
  static const char *const others[] = {"score"};
  const bool is_score = strcmp(stop->measure, others[0]) == 0;
  *metric = (SweepMetric){.table = SWEEP_METRIC_EVALUATION};
  if (is_score) return CORE_OK;
  const int code = sweep_metric_find("a measure", stop->measure, program, others, 1, metric);
  return code == CORE_OK ? CORE_OK : core_error(code, "stop.measure = %s", core_error_message());
}

int sweep_stop_check(const SweepStop *stop, const CoreIni *ini, const CoreScript *program) {
  SweepMetric metric;

  for (size_t i = 1; i < ROWS; i++) {
    if (!stop->given[i].value) continue;
    if (stop->rule == SWEEP_STOP_NONE && stop->given[0].value) continue; /* switched off */
    if (stop->rule == SWEEP_STOP_NONE) {
      core_error(CORE_USAGE, "%s is set without a rule; add rule = median, asha or stagnation to [stop]", names[i]);
      return error_at(stop, ini, names[i], true);
    }
    if (!(rows[i].rules & 1u << stop->rule)) return refuse_other_rule(stop, ini, &rows[i]);
  }

  if (sweep_stop_metric(stop, program, &metric) != CORE_OK) return error_at(stop, ini, "stop.measure", false);
  if (stop->rule == SWEEP_STOP_asha && stop->min == 0) {
    core_error(CORE_USAGE, "stop.rule = asha needs the transitions of its first rung; add min = ... to [stop]");
    return error_at(stop, ini, "stop.rule", false);
  }
  if (stop->rule == SWEEP_STOP_asha && stop->max > 0 && stop->max <= stop->min) {
    core_error(CORE_USAGE, "stop.max = %lld leaves no rung, since the first is at stop.min = %lld; raise it",
               (long long)stop->max, (long long)stop->min);
    return error_at(stop, ini, "stop.max", false);
  }
  return CORE_OK;
}

static int check_inside(const SweepStop *stop, const CoreIni *ini, const char *name, int64_t value, int64_t budget,
                        const char *consequence) {
  if (value < budget) return CORE_OK;
  core_error(CORE_USAGE, "%s = %lld is not below the budget (train.total_steps = %lld), so %s; lower it", name,
             (long long)value, (long long)budget, consequence);
  return error_at(stop, ini, name, false);
}

int sweep_stop_check_config(const SweepStop *stop, const CoreIni *ini, const CoreConfig *config) {
  SweepMetric metric;
  const int64_t budget = config->train.total_steps;
  if (stop->rule == SWEEP_STOP_NONE) return CORE_OK;

  if (config->program && budget <= 0) {
    core_error(CORE_USAGE, "stop.rule = %s needs the end of a run, which is unknown; write step = NAME of {SETTING} in "
               "[program]", kinds[stop->rule].name);
    return error_at(stop, ini, "stop.rule", false);
  }

  if (stop->rule == SWEEP_STOP_asha) {
    TRY(check_inside(stop, ini, "stop.min", stop->min, budget, "no run would reach a rung before its end"));
    TRY(check_inside(stop, ini, "stop.max", stop->max, budget + 1, "no run reaches it"));
  } else {
    TRY(check_inside(stop, ini, "stop.grace", stop->grace, budget, "no run would be stopped"));
  }

  const bool has_no_envs = core_config_has_no_envs(config);
  if (config->program || sweep_stop_metric(stop, NULL, &metric) != CORE_OK) { /* a metric of the file's program */
    core_error_clear();
    return CORE_OK;
  }
  if (metric.table != SWEEP_METRIC_EVALUATION || (config->eval.count > 0 && !has_no_envs)) return CORE_OK;
  core_error(CORE_USAGE, "stop.measure = %s is measured by evaluations, but %s, so no run has it; %s", stop->measure,
             has_no_envs ? "noisy_sgd has none" : "eval.count is 0",
             has_no_envs ? "use measure = distance with goal = min"
                           : "set eval.count, or use measure = iteration.solve_rate");
  return error_at(stop, ini, stop->given[1].value ? "stop.measure" : "stop.rule", false);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

void sweep_stop_print(const SweepStop *stop, CoreText *text) {
  if (stop->rule == SWEEP_STOP_NONE) return;
  core_text_append(text, "\n[stop]\n");
  for (size_t i = 0; i < ROWS; i++)
    if (stop->given[i].value) core_text_appendf(text, "%s = %s\n", strchr(names[i], '.') + 1, stop->given[i].value);
}

double sweep_stop_rung(const SweepStop *stop, double budget, int rung) {
  const double limit = stop->max > 0 ? (double)stop->max : budget;
  const double transitions = (double)stop->min * pow((double)stop->eta, rung);
  return transitions < limit ? transitions : INFINITY;
}

void sweep_stop_describe(const SweepStop *stop, double budget, CoreText *text) {
  char number[32];
  core_text_appendf(text, "%s", kinds[stop->rule].name);

  if (stop->rule == SWEEP_STOP_asha) {
    core_text_appendf(text, ": promotes one of %lld settings from each rung, at", (long long)stop->eta);
    for (int k = 0; isfinite(sweep_stop_rung(stop, budget, k)); k++)
      core_text_appendf(text, "%s %s", k ? "," : "", core_text_count(sweep_stop_rung(stop, budget, k), number));
    core_text_append(text, " transitions");
  } else if (stop->grace > 0) {
    core_text_appendf(text, ", after %s transitions", core_text_count((double)stop->grace, number));
  } else {
    core_text_append(text, ", after a tenth of the budget");
  }

  if (stop->rule == SWEEP_STOP_median)
    core_text_appendf(text, ", against at least %lld runs", (long long)stop->min_runs);
  if (stop->rule == SWEEP_STOP_stagnation)
    core_text_appendf(text, ", after %.3g %% of it without improvement", 100 * stop->patience);
  if (isfinite(stop->ddr_below))
    core_text_appendf(text, ", where DDR is below %s", core_text_count(stop->ddr_below, number));
  core_text_appendf(text, "; by %s%s", stop->measure, strcmp(stop->goal, "min") == 0 ? ", smaller is better" : "");
}

void sweep_stop_help(CoreHelp *help) {
  CoreText term = {0}, text = {0};
  core_help_heading(help, "Early stopping: [stop] in FILE");

  for (int i = 1; i < SWEEP_STOP_KINDS; i++) {
    core_text_clear(&term);
    core_text_appendf(&term, "rule = %s", kinds[i].name);
    core_help_row(help, core_text_string(&term), kinds[i].help, 22);
  }

  for (size_t i = 1; i < ROWS; i++) {
    core_text_clear(&text);
    if (rows[i].rules != ALL) append_rules(rows[i].rules, &text);
    core_text_appendf(&text, "%s%s", text.length ? ": " : "", rows[i].help);
    const bool has_default = rows[i].min <= 0 || strcmp(rows[i].def, "0") != 0;
    if (has_default)
      core_text_appendf(&text, " (default: %s)", strcmp(rows[i].def, "INFINITY") == 0 ? "inf" : rows[i].def);
    core_help_row(help, strchr(names[i], '.') + 1, core_text_string(&text), 22);
  }

  core_text_free(&term);
  core_text_free(&text);
}
