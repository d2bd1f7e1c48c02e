/* The configuration table in memory: rows, defaults, names, parsing of values and config files. config_check.c
 * validates combinations of settings; config_text.c formats configurations (canonical text, id, JSON, help). Everything
 * derives from config.def; nothing here names a setting.
 *
 * A sweep creates a hundred thousand configurations, so setting a value allocates nothing and finds its row by hash. */
#include "core/config/config.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config_internal.h"
#include "core/config/script_internal.h"
#include "core/unicode.h"

/* ---- the table ------------------------------------------------------------------------------------------------ */

#define RESULT true
#define EXECUTION false

#define ROW(s, k, kind_, low, high, choices_, unit_, identity_, help_) \
  {.name = #s "." #k, .section = #s, .key = #k, .kind = CORE_CONFIG_##kind_, .offset = offsetof(CoreConfig, s.k), \
   .min = low, .max = high, .choices = choices_, .unit = unit_, .help = help_, .identity = identity_},
#define SECTION(s, help_)
#define END_SECTION(s)
#define INT(s, k, default_, low, high, unit_, identity_, help_) ROW(s, k, INT, low, high, NULL, unit_, identity_, help_)
#define REAL(s, k, default_, low, high, unit_, identity_, help_) \
  ROW(s, k, REAL, low, high, NULL, unit_, identity_, help_)
#define BOOL(s, k, default_, identity_, help_) ROW(s, k, BOOL, 0, 1, NULL, "", identity_, help_)
#define ENUM(s, k, default_, choices_, identity_, help_) ROW(s, k, ENUM, 0, 0, choices_, "", identity_, help_)
#define TEXT(s, k, default_, identity_, help_) ROW(s, k, STRING, 0, 0, NULL, "", identity_, help_)
static const CoreConfigRow trainer_rows[] = {
#include "core/config/config.def"
};
enum { ROW_COUNT = sizeof trainer_rows / sizeof *trainer_rows, PROGRAM_ROWS_MAX = 2048 };
/* trainer_rows with `def` filled in by initialize(), followed by the settings of user programs. */
static CoreConfigRow rows[ROW_COUNT + PROGRAM_ROWS_MAX];
static atomic_size_t row_count = ROW_COUNT;
static pthread_mutex_t growth_mutex = PTHREAD_MUTEX_INITIALIZER;
#undef SECTION
#undef END_SECTION
#undef INT
#undef REAL
#undef BOOL
#undef ENUM
#undef TEXT

#define SECTION(s, help_) .s = {
#define END_SECTION(s) },
#define INT(s, k, default_, low, high, unit_, identity_, help_) .k = (default_),
#define REAL(s, k, default_, low, high, unit_, identity_, help_) .k = (default_),
#define BOOL(s, k, default_, identity_, help_) .k = (default_),
#define ENUM(s, k, default_, choices_, identity_, help_) .k = default_,
#define TEXT(s, k, default_, identity_, help_) .k = default_,
const CoreConfig core_config_defaults = {
#include "core/config/config.def"
};
#undef SECTION
#undef END_SECTION
#undef INT
#undef REAL
#undef BOOL
#undef ENUM
#undef TEXT

#define SECTION(s, help_) {.name = #s, .help = help_},
#define END_SECTION(s)
#define INT(...)
#define REAL(...)
#define BOOL(...)
#define ENUM(...)
#define TEXT(...)
static CoreConfigSection sections[] = {
#include "core/config/config.def"
};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

/* ---- names ---------------------------------------------------------------------------------------------------- */

enum { SLOT_COUNT = 8192 };
_Static_assert(ROW_COUNT + PROGRAM_ROWS_MAX < SLOT_COUNT / 2, "the hash table of names is too full");
_Static_assert(ROW_COUNT + PROGRAM_ROWS_MAX <= CORE_CONFIG_ROWS_MAX, "more rows than CORE_CONFIG_ROWS_MAX");

static _Atomic uint16_t slots[SLOT_COUNT]; /* 1 + index of a row; 0: free */
static const char *names[ROW_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_name(const char *name) {
  const uint32_t hash = core_text_hash(name);
  return hash ^ hash >> 15;
}

static void add_name(size_t row) {
  uint32_t slot = hash_name(rows[row].name) % SLOT_COUNT;
  while (slots[slot]) slot = (slot + 1) % SLOT_COUNT;
  slots[slot] = (uint16_t)(row + 1);
}

static void initialize(void) {
  CoreText text = {0};
  memcpy(rows, trainer_rows, sizeof trainer_rows);
  for (size_t i = 0; i < ROW_COUNT; i++) {
    add_name(i);
    names[i] = rows[i].name;
    core_text_clear(&text);
    rows[i].def = core_text_duplicate(core_config_get(&core_config_defaults, &rows[i], &text)); /* never freed */
    for (size_t s = 0; s < SECTION_COUNT; s++) {
      if (strcmp(sections[s].name, rows[i].section) != 0) continue;
      if (sections[s].count++ == 0) sections[s].first = i;
    }
  }
  core_text_free(&text);
}

const CoreConfigRow *core_config_rows(size_t *count) {
  pthread_once(&once, initialize);
  *count = row_count;
  return rows;
}

const CoreConfigRow *core_config_trainer_rows(size_t *count) {
  pthread_once(&once, initialize);
  *count = ROW_COUNT;
  return rows;
}

const CoreConfigSection *core_config_sections(size_t *count) {
  pthread_once(&once, initialize);
  *count = SECTION_COUNT;
  return sections;
}

const CoreConfigRow *core_config_find(const char *name) {
  pthread_once(&once, initialize);
  for (uint32_t slot = hash_name(name) % SLOT_COUNT; slots[slot]; slot = (slot + 1) % SLOT_COUNT) {
    const CoreConfigRow *row = &rows[slots[slot] - 1];
    if (strcmp(row->name, name) == 0) return row;
  }
  return NULL;
}

/* Finds the setting that a number of a program can be compared with. NULL: none. */
static const CoreConfigRow *find_equivalent_number(const char *name, CoreConfigKind kind) {
  const CoreConfigRow *row = core_config_is_number(kind) ? core_config_find_equivalent(name) : NULL;
  return row && row->identity && core_config_is_number(row->kind) ? row : NULL;
}

static CoreConfigKind wider_kind(CoreConfigKind a, CoreConfigKind b) {
  if (a == b) return a;
  return core_config_is_number(a) && core_config_is_number(b) ? CORE_CONFIG_REAL : CORE_CONFIG_STRING;
}

const CoreConfigRow *core_config_add_program_row(const char *name, CoreConfigKind kind, const char *choices,
                                                 const char *def, bool widens) {
  pthread_mutex_lock(&growth_mutex);

  CoreConfigRow *row = (CoreConfigRow *)core_config_find(name);
  if (row && row->is_program) {
    row->kind = widens ? wider_kind(row->kind, kind) : kind;
    row->choices = choices;
    row->def = def;
    row->equivalent = find_equivalent_number(name, row->kind);
  } else if (!row && row_count < ROW_COUNT + PROGRAM_ROWS_MAX) {
    row = &rows[row_count];
    *row = (CoreConfigRow){.name = name, .section = "settings", .key = name, .kind = kind, .min = -INFINITY,
                           .max = INFINITY, .choices = choices, .unit = "", .help = "", .def = def,
                           .identity = true, .is_program = true,
                           .equivalent = find_equivalent_number(name, kind)};
    add_name(row_count);
    row_count++;
  } else {
    row = NULL;
  }

  pthread_mutex_unlock(&growth_mutex);
  return row;
}

/* Returns the name that is suggested for `name` or nearest to it, or else the one whose key is nearest to the part
 * after the last dot ("epsilon", "train.epsilom"). A short word is near too many keys, so it has to match exactly.
 * NULL: none. */
static const char *nearest_name(const char *name) {
  const char *nearest = core_config_suggest(name, names, ROW_COUNT);
  if (nearest) return nearest;
  const char *keys[ROW_COUNT], *dot = strrchr(name, '.'), *word = dot ? dot + 1 : name;
  for (size_t i = 0; i < ROW_COUNT; i++) keys[i] = rows[i].key;
  const char *key = core_text_nearest(word, keys, ROW_COUNT);
  if (!key || (strlen(word) < 6 && strcmp(key, word) != 0)) return NULL;
  for (size_t i = 0; i < ROW_COUNT; i++)
    if (keys[i] == key) return names[i];
  return NULL;
}

static int unknown_name(const char *name) {
  const char *nearest = nearest_name(name);
  if (nearest) return core_error(CORE_USAGE, "%s is not a setting; did you mean %s?", name, nearest);
  return core_error(CORE_USAGE, "%s is not a setting; `trainer --help` lists them", name);
}

/* ---- values --------------------------------------------------------------------------------------------------- */

CoreConfig core_config_default(void) { return core_config_defaults; }

void core_config_append_range(const CoreConfigRow *row, CoreText *text) {
  char low[32], high[32];
  switch (row->kind) {
    case CORE_CONFIG_INT:
    case CORE_CONFIG_REAL:
      core_text_appendf(text, "%s to %s%s%s", core_text_from_real(row->min, low),
                        core_text_from_real(row->max, high), *row->unit ? " " : "", row->unit);
      break;
    case CORE_CONFIG_BOOL: core_text_append(text, "yes or no"); break;
    case CORE_CONFIG_ENUM:
      for (const char *c = row->choices; *c; c++) core_text_append_bytes(text, *c == '|' ? ", " : c, *c == '|' ? 2 : 1);
      break;
    case CORE_CONFIG_STRING: core_text_appendf(text, "up to %d bytes of text", CORE_CONFIG_TEXT - 1); break;
  }
}

static int bad_value(const CoreConfigRow *row, const char *value, const char *problem, const char *hint) {
  CoreText range = {0};
  core_config_append_range(row, &range);
  CoreText odd = {0};
  if (core_unicode_find_odd(value, &odd)) hint = core_text_string(&odd);
  int code = core_error(CORE_USAGE, "%s = %.80s %s%s%s; expected %s", row->name, *value ? value : "(empty)", problem,
                        odd.length ? "; it contains " : "", hint, core_text_string(&range));
  core_text_free(&odd);
  core_text_free(&range);
  return code;
}

static int set_int(int64_t *field, const CoreConfigRow *row, const char *text) {
  int64_t value;
  if (!core_text_to_int_scaled(text, &value))
    return bad_value(row, text, "is not a whole number", core_text_number_hint(text));
  if ((double)value < row->min || (double)value > row->max) return bad_value(row, text, "is out of range", "");
  *field = value;
  return CORE_OK;
}

static int set_real(double *field, const CoreConfigRow *row, const char *text) {
  double value;
  if (!core_text_to_real_scaled(text, &value))
    return bad_value(row, text, "is not a number", core_text_number_hint(text));
  if (value < row->min || value > row->max) return bad_value(row, text, "is out of range", "");
  *field = value + 0.0; /* -0 and 0 must have the same id */
  return CORE_OK;
}

static int bad_choice(const CoreConfigRow *row, const char *text) {
  enum { CHOICES_MAX = 64 };
  char copy[1024];
  const char *choices[CHOICES_MAX], *value = *text ? text : "(empty)";
  size_t count = 0;
  char *tail = copy;
  TRY(core_text_copy(copy, sizeof copy, row->choices, row->name));
  for (char *word; count < CHOICES_MAX && (word = strsep(&tail, "|"));) choices[count++] = word;
  const char *nearest = core_text_nearest(text, choices, count);
  CoreText list = {0};
  core_config_append_range(row, &list);
  int code = core_error(CORE_USAGE, "%s = %.80s is not one of: %s%s%s%s", row->name, value, core_text_string(&list),
                        nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
  core_text_free(&list);
  return code;
}

/* Whether `text` matches a choice with a wildcard: "mujoco/..." matches mujoco/ followed by a name or path, or
 * module:id for gym/. `span` is the length of the choice. */
static bool matches_wildcard(const char *choice, size_t span, const char *text) {
  static const char dots[] = "...", letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:";
  const size_t tail = strlen(dots), stem = span - tail;
  if (span <= tail || memcmp(choice + span - tail, dots, tail) != 0 || strncmp(choice, text, stem) != 0) return false;
  return text[stem] != '\0' && strspn(text + stem, letters) == strlen(text + stem);
}

bool core_config_is_choice(const char *choices, const char *text) {
  const size_t length = strlen(text);
  for (const char *c = choices;; c++) {
    const size_t span = strcspn(c, "|");
    if ((span == length && memcmp(c, text, length) == 0) || matches_wildcard(c, span, text)) return true;
    c += span;
    if (!*c) return false;
  }
}

static int set_text(char *field, const CoreConfigRow *row, const char *text) {
  size_t length = strlen(text);
  if (length >= CORE_CONFIG_TEXT)
    return core_error(CORE_USAGE, "%s is too long: %zu bytes; expected at most %d", row->name, length,
                      CORE_CONFIG_TEXT - 1);
  if (row->kind == CORE_CONFIG_ENUM && !core_config_is_choice(row->choices, text)) return bad_choice(row, text);
  /* Canonical text has one line per setting, and JSON requires UTF-8. */
  CoreText odd = {0};
  const int code = core_unicode_find_odd(text, &odd)
                     ? core_error(CORE_USAGE, "%s contains %s", row->name, core_text_string(&odd)) : CORE_OK;
  core_text_free(&odd);
  if (code != CORE_OK) return code;
  memcpy(field, text, length);
  memset(field + length, 0, CORE_CONFIG_TEXT - length);
  return CORE_OK;
}

/* Sets a program's setting. A configuration without a program (one that only validates a value) gets a temporary
 * program with this setting alone, of the row's kind. */
static int set_program(CoreConfig *config, const CoreConfigRow *row, const char *text) {
  if (config->program) return core_script_set(config, row->name, text);
  CoreScriptDraft *draft = core_script_draft_create();
  const CoreScript *program;
  int code = core_script_draft_add(draft, row->name, row->kind, row->choices, row->def, row->def);
  if (code == CORE_OK) code = core_script_intern(draft, &program);
  core_script_draft_free(&draft);
  TRY(code);
  CoreConfig scratch = *config;
  core_script_attach(&scratch, program);
  TRY(core_script_set(&scratch, row->name, text));
  *config = scratch;
  return CORE_OK;
}

static int set_row(CoreConfig *config, const CoreConfigRow *row, const char *text) {
  if (row->is_program) return set_program(config, row, text);
  void *field = (char *)config + row->offset;
  switch (row->kind) {
    case CORE_CONFIG_INT: return set_int(field, row, text);
    case CORE_CONFIG_REAL: return set_real(field, row, text);
    case CORE_CONFIG_BOOL:
      return core_text_to_bool(text, field) ? CORE_OK : bad_value(row, text, "is not a boolean", "");
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: break;
  }
  return set_text(field, row, text);
}

int core_config_set(CoreConfig *config, const char *name, const char *value) {
  const CoreConfigRow *row = core_config_find(name);
  if (config->program && (!row || row->is_program)) return core_script_set(config, name, value);
  return row ? set_row(config, row, value) : unknown_name(name);
}

int core_config_set_pair(CoreConfig *config, const char *pair) {
  char *plain = core_text_normalize_pair(pair), *equals = strchr(plain, '=');
  int code;
  if (!equals) {
    code = core_error(CORE_USAGE, "'%.80s' is not key=value", pair);
  } else {
    *equals = '\0';
    code = core_config_set(config, plain, equals + 1);
  }
  free(plain);
  return code;
}

/* ---- config files --------------------------------------------------------------------------------------------- */

static int check_section(const CoreIni *ini, const CoreIniEntry *entry) {
  const char *known[SECTION_COUNT];
  for (size_t i = 0; i < SECTION_COUNT; i++) {
    if (strcmp(sections[i].name, entry->section) == 0) return CORE_OK;
    known[i] = sections[i].name;
  }

  static const char *const experiment_sections[] = {"sweep", "slurm", "grid ", "zip ", "profile "};
  for (size_t i = 0; i < sizeof experiment_sections / sizeof *experiment_sections; i++)
    if (strncmp(experiment_sections[i], entry->section, strlen(experiment_sections[i])) == 0)
      return core_ini_error(ini, entry, "[%s] is a section of an experiment file, which describes many runs, not of a "
                            "config file; run it with sweep submit %s, preview it with sweep plan %s", entry->section,
                            ini->file, ini->file);

  const char *nearest = core_text_nearest(entry->section, known, SECTION_COUNT);
  if (nearest)
    return core_ini_error(ini, entry, "[%s] is not a section of a config file; did you mean [%s]?",
                                      entry->section, nearest);
  return core_ini_error(ini, entry, "[%s] is not a section of a config file; `trainer --help` lists them",
                                    entry->section);
}

static int read_entry(const CoreIni *ini, const CoreIniEntry *entry, int *lines, CoreConfig *config) {
  char name[256];
  if (!*entry->section)
    return core_ini_error_key(ini, entry, "%s is before the first [section]", entry->key);
  int length = snprintf(name, sizeof name, "%s.%s", entry->section, entry->key);
  const CoreConfigRow *row = length < (int)sizeof name ? core_config_find(name) : NULL;

  if (!row) {
    unknown_name(name);
    return core_ini_error_key(ini, entry, "%s", core_error_message());
  }

  int *line = &lines[row - rows];
  if (*line)
    return core_ini_error_key(ini, entry, "%s is given twice, first in line %d; remove one", row->name, *line);
  *line = entry->line;
  if (set_row(config, row, entry->value) == CORE_OK) return CORE_OK;
  return core_ini_error(ini, entry, "%s", core_error_message());
}

static int read_ini(const CoreIni *ini, CoreConfig *config) {
  int lines[ROW_COUNT] = {0}, code = CORE_OK;
  CoreConfig result = *config; /* `config` stays unchanged if the file is invalid */
  const CoreScript *program = NULL;
  pthread_once(&once, initialize);
  code = core_script_read(ini, &program);
  for (size_t i = 0; i < ini->count; i++) {
    if (code != CORE_OK) break;
    const CoreIniEntry *entry = &ini->entries[i];
    if (program && core_script_is_section(entry->section)) continue;
    code = entry->key ? read_entry(ini, entry, lines, &result) : check_section(ini, entry);
  }
  core_script_attach(&result, program);
  if (code == CORE_OK) *config = result;
  return code;
}

int core_config_read(const char *path, CoreConfig *config) {
  CoreIni ini;
  TRY(core_ini_read(path, &ini));
  const int code = read_ini(&ini, config);
  core_ini_free(&ini);
  return code;
}

int core_config_parse(const char *file, const char *text, CoreConfig *config) {
  CoreIni ini;
  TRY(core_ini_parse(file, text, &ini));
  const int code = read_ini(&ini, config);
  core_ini_free(&ini);
  return code;
}

int core_config_load(const char *path, const char **pairs, size_t count, CoreConfig *config) {
  *config = core_config_default();
  if (path) TRY(core_config_read(path, config));
  return core_config_override(path, pairs, count, config);
}

int core_config_override(const char *path, const char **pairs, size_t count, CoreConfig *config) {
  if (config->program)
    return core_error(CORE_USAGE, "%s: a configuration of the program %s, which the trainer does not run; use sweep "
                      "submit", path, config->algo.name);
  for (size_t i = 0; i < count; i++) {
    int code = core_config_set_pair(config, pairs[i]);
    if (code != CORE_OK) return core_error_context(code, "--set");
  }
  return core_config_check(config);
}
