/* Determines which settings a run reads (config_reads.def), and the cell of a configuration: the settings that are
 * read, without the seed. The planner finds duplicate runs by it, the analysis groups seeds by it. */
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_internal.h"
#include "core/config/script.h"
#include "core/memory.h"

typedef struct Rule {
  const char *settings, *key, *values;
  bool only; /* true: read only with these values; false: only with others */
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

/* ---- rules by row ------------------------------------------------------------------------------------------------ */

_Static_assert(RULE_COUNT <= 64, "a row's rules are bits of a uint64_t");
static uint64_t *rule_bits;                      /* [rows] bit i: rule i applies to the row */
static bool *is_free;                            /* [rows] whether FREE lists the row */
static const CoreConfigRow *rule_key[RULE_COUNT];
static double rule_number[RULE_COUNT];           /* value of a rule whose key is numeric */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whether `name` is the setting, or the "section.*" that contains it. */
static bool matches_row(const char *name, size_t length, const CoreConfigRow *row) {
  const size_t section = strlen(row->section);
  if (length == section + 2 && memcmp(name, row->section, section) == 0 && memcmp(name + section, ".*", 2) == 0)
    return true;
  return strlen(row->name) == length && memcmp(name, row->name, length) == 0;
}

/* Adds a rule (RULE_COUNT: FREE) to the rows that match `name`. */
static void add_rule_to_name(size_t rule, const char *name, size_t length) {
  size_t count, found = 0;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
  for (size_t i = 0; i < count; i++) {
    if (!matches_row(name, length, &rows[i])) continue;
    if (rule == RULE_COUNT) is_free[i] = true;
    else rule_bits[i] |= (uint64_t)1 << rule;
    found++;
  }
  CORE_CHECK(found > 0); /* else config_reads.def names a setting that config.def lacks */
}

static void add_rule_to_names(size_t rule, const char *names) {
  for (const char *name = names; *name;) {
    const size_t length = strcspn(name, " ");
    add_rule_to_name(rule, name, length);
    name += length + strspn(name + length, " ");
  }
}

static void initialize(void) {
  size_t count;
  core_config_trainer_rows(&count);
  rule_bits = core_memory_zero_allocate(count, sizeof *rule_bits); /* neither is ever freed */
  is_free = core_memory_zero_allocate(count, sizeof *is_free);
  for (size_t r = 0; r < RULE_COUNT; r++) {
    rule_key[r] = core_config_find(rules[r].key);
    CORE_CHECK(rule_key[r] != NULL);
    if (core_config_is_number(rule_key[r]->kind)) CORE_CHECK(core_text_to_real(rules[r].values, &rule_number[r]));
    add_rule_to_names(r, rules[r].settings);
  }
  add_rule_to_names(RULE_COUNT, free_settings);
}

/* ---- settings that are read -------------------------------------------------------------------------------------- */

static bool has_value(const CoreConfig *config, size_t rule) {
  const CoreConfigRow *key = rule_key[rule];
  const void *field = core_config_field(config, key);
  if (key->kind == CORE_CONFIG_INT) return (double)*(const int64_t *)field == rule_number[rule];
  if (key->kind == CORE_CONFIG_REAL) return *(const double *)field == rule_number[rule];
  return core_config_is_choice(rules[rule].values, field);
}

/* Returns the first rule that excludes the setting; RULE_COUNT: none. */
static size_t find_excluding_rule(const CoreConfig *config, const CoreConfigRow *row) {
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
  pthread_once(&once, initialize);
  for (uint64_t bits = rule_bits[row - rows]; bits; bits &= bits - 1) {
    const size_t rule = (size_t)__builtin_ctzll(bits);
    if (has_value(config, rule) != rules[rule].only) return rule;
    if (rule_key[rule] == row) continue; /* algo.name */
    const size_t key_rule = find_excluding_rule(config, rule_key[rule]);
    if (key_rule < RULE_COUNT) return key_rule;
  }
  return RULE_COUNT;
}

bool core_config_is_read(const CoreConfig *config, const CoreConfigRow *row) {
  if (row->is_program) return core_script_value(config->program, row) != NULL;
  if (config->program) return strcmp(row->name, "train.seed") == 0 || strcmp(row->name, "algo.name") == 0;
  return find_excluding_rule(config, row) == RULE_COUNT;
}

/* Appends "a|b|c" as "a, b or c". */
static void append_choices(const char *values, CoreText *text) {
  for (const char *c = values; *c; c++) {
    const bool last = *c == '|' && !strchr(c + 1, '|');
    if (*c == '|') core_text_append(text, last ? " or " : ", ");
    else core_text_append_bytes(text, c, 1);
  }
  if (!*values) core_text_append(text, "empty");
}

void core_config_append_unread_reason(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (config->program || row->is_program) {
    core_text_appendf(text, "%s is a setting of %s", row->name, row->is_program ? "another program" : "the trainer");
    return;
  }
  const size_t rule = find_excluding_rule(config, row);
  CoreText value = {0};
  if (rule == RULE_COUNT) return;
  core_text_appendf(text, "%s is read only if %s is %s", row->name, rules[rule].key, rules[rule].only ? "" : "not ");
  append_choices(rules[rule].values, text);
  const char *current = core_config_get(config, rule_key[rule], &value);
  core_text_appendf(text, ", but it is %s", *current ? current : "empty");
  core_text_free(&value);
}

void core_config_append_remedy(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (config->program || row->is_program) {
    core_text_append(text, "remove it");
    return;
  }
  const size_t rule = find_excluding_rule(config, row);
  if (rule == RULE_COUNT) return;
  if (rules[rule].only)
    core_text_appendf(text, "set %s = %.*s", rules[rule].key, (int)strcspn(rules[rule].values, "|"),
                      rules[rule].values);
  else core_text_appendf(text, "change %s", rules[rule].key);
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
  const CoreConfigRow *row = core_config_trainer_rows(&count), *seed = core_config_find("train.seed");
  const bool scaled = core_config_is_scaled(config) && core_config_resolve(config, &resolved) == CORE_OK;
  const CoreConfig *effective = scaled ? &resolved : config;

  for (const CoreConfigRow *end = row + count; row < end; row++) {
    if (!row->identity || row == seed || core_config_value_equals(effective, &core_config_defaults, row) ||
        !core_config_is_read(effective, row))
      continue;
    core_text_appendf(text, "%s=%s\n", row->name, core_config_get(effective, row, &value));
  }
  core_text_free(&value);
}

void core_config_cell_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreText text = {0};
  core_config_cell(config, &text);
  core_config_hash(&text, id);
  core_text_free(&text);
}

/* ---- start id ---------------------------------------------------------------------------------------------------- */

void core_config_start_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreText text = {0}, value = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
  pthread_once(&once, initialize);
  if (config->program) {
    core_script_canonical(config, false, &text);
  } else {
    for (size_t i = 0; i < count; i++)
      if (!is_free[i] && !core_config_value_equals(config, &core_config_defaults, &rows[i]))
        core_text_appendf(&text, "%s=%s\n", rows[i].name, core_config_get(config, &rows[i], &value));
  }
  core_config_hash(&text, id);
  core_text_free(&text);
  core_text_free(&value);
}

const char core_config_task_keys[] =
  "env.task,env.levels,env.morphologies,env.difficulty,env.size,env.level_count";

bool core_config_is_same_task(const CoreConfig *a, const CoreConfig *b) {
  if (a->program || b->program) return a->program && b->program; /* programs are scored by one metric, the goal */
  return strcmp(a->env.task, b->env.task) == 0 && strcmp(a->env.levels, b->env.levels) == 0 &&
         strcmp(a->env.morphologies, b->env.morphologies) == 0 && strcmp(a->env.difficulty, b->env.difficulty) == 0 &&
         strcmp(a->env.size, b->env.size) == 0 && a->env.level_count == b->env.level_count;
}
