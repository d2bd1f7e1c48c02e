/* Which settings a run reads (config_reads.def), and what is left of a configuration when the others are taken away:
 * the cell that it stands in. Who plans a sweep asks whether two runs are copies of one another, who counts seeds the
 * same. */
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_internal.h"
#include "core/config/script.h"
#include "core/memory.h"

typedef struct Rule {
  const char *settings, *key, *values;
  bool only; /* read only with these values, else only without */
} Rule;

#define ONLY(settings, key, values) {settings, #key, values, true},
#define UNLESS(settings, key, values) {settings, #key, values, false},
#define FREE(settings)
static const Rule rules[] = {
#include "core/config/config_reads.def"
};
#undef ONLY
#undef UNLESS
#undef FREE
enum { RULE_COUNT = sizeof rules / sizeof *rules };

#define ONLY(settings, key, values)
#define UNLESS(settings, key, values)
#define FREE(settings) settings " "
static const char free_settings[] =
#include "core/config/config_reads.def"
  ;

/* ---- the table, by row ------------------------------------------------------------------------------------------ */

_Static_assert(RULE_COUNT <= 64, "a row's rules are the bits of a word");
static uint64_t *rules_of;                       /* [rows] bit i: rule i speaks of it */
static bool *is_free;                            /* [rows] */
static const CoreConfigRow *key_of[RULE_COUNT];
static double number_of[RULE_COUNT];             /* the value, where the key is a number */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static bool is_number(const CoreConfigRow *row) {
  return row->kind == CORE_CONFIG_INT || row->kind == CORE_CONFIG_REAL;
}

/* Is `name` the setting, or the "section.*" that holds it? */
static bool names_row(const char *name, size_t length, const CoreConfigRow *row) {
  const size_t section = strlen(row->section);
  if (length == section + 2 && memcmp(name, row->section, section) == 0 && memcmp(name + section, ".*", 2) == 0)
    return true;
  return strlen(row->name) == length && memcmp(name, row->name, length) == 0;
}

/* rule RULE_COUNT: FREE */
static void prepare_name(size_t rule, const char *name, size_t length) {
  size_t count, found = 0;
  const CoreConfigRow *rows = core_config_own_rows(&count);
  for (size_t i = 0; i < count; i++) {
    if (!names_row(name, length, &rows[i])) continue;
    if (rule == RULE_COUNT) is_free[i] = true;
    else rules_of[i] |= (uint64_t)1 << rule;
    found++;
  }
  CORE_CHECK(found > 0); /* config_reads.def names a setting that config.def has not */
}

static void prepare_names(size_t rule, const char *names) {
  for (const char *name = names; *name;) {
    const size_t length = strcspn(name, " ");
    prepare_name(rule, name, length);
    name += length + strspn(name + length, " ");
  }
}

static void prepare(void) {
  size_t count;
  core_config_own_rows(&count);
  rules_of = core_memory_zero_allocate(count, sizeof *rules_of); /* both live as long as the process */
  is_free = core_memory_zero_allocate(count, sizeof *is_free);
  for (size_t r = 0; r < RULE_COUNT; r++) {
    key_of[r] = core_config_find(rules[r].key);
    CORE_CHECK(key_of[r] != NULL);
    if (is_number(key_of[r])) CORE_CHECK(core_text_to_real(rules[r].values, &number_of[r]));
    prepare_names(r, rules[r].settings);
  }
  prepare_names(RULE_COUNT, free_settings);
}

/* ---- what is read ------------------------------------------------------------------------------------------------ */

static bool has_value(const CoreConfig *config, size_t rule) {
  const CoreConfigRow *key = key_of[rule];
  const void *field = core_config_field(config, key);
  if (key->kind == CORE_CONFIG_INT) return (double)*(const int64_t *)field == number_of[rule];
  if (key->kind == CORE_CONFIG_REAL) return *(const double *)field == number_of[rule];
  return core_config_is_choice(rules[rule].values, field);
}

/* The first rule that keeps the setting from being read; RULE_COUNT: none. */
static size_t forbidding(const CoreConfig *config, const CoreConfigRow *row) {
  size_t count;
  const CoreConfigRow *rows = core_config_own_rows(&count);
  pthread_once(&prepared, prepare);
  for (uint64_t left = rules_of[row - rows]; left; left &= left - 1) {
    const size_t rule = (size_t)__builtin_ctzll(left);
    if (has_value(config, rule) != rules[rule].only) return rule;
    if (key_of[rule] == row) continue; /* algo.name */
    const size_t above = forbidding(config, key_of[rule]);
    if (above < RULE_COUNT) return above;
  }
  return RULE_COUNT;
}

/* Whether a program has the setting: its own ones, the seed, and its name as the algorithm. */
static bool is_read_by_program(const CoreConfig *config, const CoreConfigRow *row) {
  if (row->is_program) return core_script_value(config->program, row) != NULL;
  return strcmp(row->name, "train.seed") == 0 || strcmp(row->name, "algo.name") == 0;
}

bool core_config_is_read(const CoreConfig *config, const CoreConfigRow *row) {
  if (config->program || row->is_program) return is_read_by_program(config, row);
  return forbidding(config, row) == RULE_COUNT;
}

/* "a, b or c" of "a|b|c". */
static void append_choices(const char *values, CoreText *text) {
  for (const char *c = values; *c; c++) {
    const bool last = *c == '|' && !strchr(c + 1, '|');
    if (*c == '|') core_text_append(text, last ? " or " : ", ");
    else core_text_append_bytes(text, c, 1);
  }
  if (!*values) core_text_append(text, "empty");
}

void core_config_why_unread(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (config->program || row->is_program) {
    core_text_appendf(text, "%s is a setting of %s", row->name, row->is_program ? "another program" : "the trainer");
    return;
  }
  const size_t rule = forbidding(config, row);
  CoreText value = {0};
  if (rule == RULE_COUNT) return;
  core_text_appendf(text, "%s is read only where %s is %s", row->name, rules[rule].key, rules[rule].only ? "" : "not ");
  append_choices(rules[rule].values, text);
  const char *present = core_config_get(config, key_of[rule], &value);
  core_text_appendf(text, ", and here it is %s", *present ? present : "empty");
  core_text_free(&value);
}

void core_config_append_remedy(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (config->program || row->is_program) {
    core_text_append(text, "take it out");
    return;
  }
  const size_t rule = forbidding(config, row);
  if (rule == RULE_COUNT) return;
  if (rules[rule].only)
    core_text_appendf(text, "set %s = %.*s", rules[rule].key, (int)strcspn(rules[rule].values, "|"),
                      rules[rule].values);
  else core_text_appendf(text, "give %s another value", rules[rule].key);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

void core_config_cell(const CoreConfig *config, CoreText *text) {
  if (config->program) {
    core_script_canonical(config, false, text);
    return;
  }
  CoreConfig resolved;
  CoreText value = {0};
  size_t count;
  const CoreConfigRow *row = core_config_own_rows(&count), *seed = core_config_find("train.seed");
  const bool scaled = core_config_is_scaled(config) && core_config_resolve(config, &resolved) == CORE_OK;
  const CoreConfig *as_run = scaled ? &resolved : config;
  for (const CoreConfigRow *end = row + count; row < end; row++) {
    if (!row->identity || row == seed || core_config_same_value(as_run, &core_config_defaults, row) ||
        !core_config_is_read(as_run, row))
      continue;
    core_text_appendf(text, "%s=%s\n", row->name, core_config_get(as_run, row, &value));
  }
  core_text_free(&value);
}

void core_config_cell_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreText text = {0};
  core_config_cell(config, &text);
  core_config_hash(&text, id);
  core_text_free(&text);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

void core_config_start_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreText text = {0}, value = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_own_rows(&count);
  pthread_once(&prepared, prepare);
  if (config->program) core_script_canonical(config, false, &text);
  for (size_t i = 0; i < count && !config->program; i++)
    if (!is_free[i] && !core_config_same_value(config, &core_config_defaults, &rows[i]))
      core_text_appendf(&text, "%s=%s\n", rows[i].name, core_config_get(config, &rows[i], &value));
  core_config_hash(&text, id);
  core_text_free(&text);
  core_text_free(&value);
}
