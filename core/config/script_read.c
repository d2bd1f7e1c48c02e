/* Parsing of programs from experiment files, config.ini and results.db (script.h), and validation of their keys. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/pattern.h"
#include "core/config/script_internal.h"
#include "core/json.h"
#include "core/memory.h"

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static char *trimmed(const char *text, size_t length) {
  while (length > 0 && isblank((unsigned char)*text)) {
    text++;
    length--;
  }
  while (length > 0 && isblank((unsigned char)text[length - 1])) length--;
  char *copy = core_memory_allocate(length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

/* Removes the quotes of a choice in place. */
static void unquote(char *word) {
  const size_t length = strlen(word);
  const char quote = *word;
  if (length < 2 || (quote != '"' && quote != '\'') || word[length - 1] != quote) return;
  word[length - 1] = '\0';
  char *out = word;
  for (const char *c = word + 1; *c; c++) {
    if (quote == '"' && *c == '\\' && (c[1] == '"' || c[1] == '\\')) c++;
    *out++ = *c;
  }
  *out = '\0';
}

/* Appends "mlp | cnn" as "mlp|cnn". Returns false if an item is empty. */
static bool join_choices(const char *value, CoreText *choices) {
  bool ok = true;
  for (const char *item = value;; item++) {
    const size_t length = strcspn(item, "|");
    char *word = trimmed(item, length);
    unquote(word);
    ok = ok && *word;
    core_text_appendf(choices, "%s%s", choices->length ? "|" : "", word);
    free(word);
    item += length;
    if (!*item) return ok;
  }
}

static const char *const booleans[] = {"True|False", "False|True", "true|false", "false|true",
                                       "yes|no", "no|yes", "on|off", "off|on"};

/* Returns the choices of a boolean, "true|false", in the spelling of the default; NULL: it is not a boolean. */
static const char *find_boolean(const char *value) {
  if (!*value) return NULL;
  for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
    if (strncmp(booleans[i], value, strlen(value)) == 0 && booleans[i][strlen(value)] == '|') return booleans[i];
  return NULL;
}

bool core_script_is_boolean(const CoreScriptSetting *setting) {
  if (setting->kind != CORE_CONFIG_ENUM) return false;
  for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
    if (strcmp(setting->choices, booleans[i]) == 0) return true;
  return false;
}

/* Infers the kind of a setting from its default: 500k and 1e6 are integers, 1.0 and 2.5e-4 reals, a | b a choice. A
 * text is quoted, or anything else, such as 007, which is no way to write a number. */
static int find_kind(const char *name, const char *value, bool is_quoted, CoreConfigKind *kind, CoreText *choices) {
  int64_t integer;
  double real;
  *kind = CORE_CONFIG_STRING;
  if (is_quoted) return CORE_OK;

  if (strchr(value, '|')) {
    *kind = CORE_CONFIG_ENUM;
    if (!join_choices(value, choices))
      return core_error(CORE_USAGE, "%s = %.80s: a choice is empty; separate words by '|', or quote a text", name,
                        value);
    return core_script_check_characters(name, core_text_string(choices));
  }

  if (find_boolean(value)) {
    *kind = CORE_CONFIG_ENUM;
    core_text_append(choices, find_boolean(value));
  } else if (core_script_has_leading_zero(value)) {
    return CORE_OK;
  } else if (!strchr(value, '.') && core_text_to_int_scaled(value, &integer)) {
    *kind = CORE_CONFIG_INT;
  } else if (core_text_to_real_scaled(value, &real)) {
    *kind = CORE_CONFIG_REAL;
  }
  return CORE_OK;
}

static int add_setting(CoreScriptDraft *draft, const char *name, const char *value, bool is_quoted) {
  CoreText choices = {0}, canonical = {0}, written = {0};
  CoreConfigKind kind;
  int code = find_kind(name, value, is_quoted, &kind, &choices);
  const char *joined = choices.length ? choices.data : NULL;
  char *first = core_text_duplicate(joined ? joined : value);
  if (joined) first[strcspn(first, "|")] = '\0';
  if (code == CORE_OK) code = core_script_canonical_value(name, kind, joined, first, &canonical, &written);
  if (code == CORE_OK)
    code = core_script_draft_add(draft, name, kind, joined, core_text_string(&canonical), core_text_string(&written));
  core_text_free(&choices);
  core_text_free(&canonical);
  core_text_free(&written);
  free(first);
  return code;
}

/* ---- [program] and [metric] -------------------------------------------------------------------------------------- */

static int set_key(CoreScriptDraft *draft, const char *key, const char *value) {
  for (int k = 0; k < CORE_SCRIPT_KEYS; k++) {
    if (strcmp(core_script_keys[k], key) != 0) continue;
    core_text_clear(&draft->text[k]);
    core_text_append(&draft->text[k], value);
    return CORE_OK;
  }
  const char *nearest = core_text_nearest(key, core_script_keys, CORE_SCRIPT_KEYS);
  return core_error(CORE_USAGE, "%s is not a key of [program]%s%s%s", key,
                    nearest ? "; did you mean " : "; sweep plan --help lists them", nearest ? nearest : "",
                    nearest ? "?" : "");
}

static int add_metric(CoreScriptDraft *draft, const char *column, const char *name) {
  for (size_t i = 0; i < draft->metric_count; i++)
    if (strcmp(draft->metrics[i].column, column) == 0)
      return core_error(CORE_USAGE, "%s is given twice in [metric]; remove one", column);
  if (!*name) return core_error(CORE_USAGE, "%s: expected the program's name of this metric", column);
  if (draft->metric_count == CORE_SCRIPT_METRICS_MAX)
    return core_error(CORE_USAGE, "[metric] has more than %d names", CORE_SCRIPT_METRICS_MAX);
  draft->metrics[draft->metric_count].column = core_text_duplicate(column);
  draft->metrics[draft->metric_count++].name = core_text_duplicate(name);
  return CORE_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Checks NAME[,NAME]=REGEX: the regular expression has a group per name. */
static int check_regex(const char *text) {
  const char *equals = strchr(text, '=');
  regex_t regex;
  size_t names = 1;
  if (!equals || equals == text || !equals[1])
    return core_error(CORE_USAGE, "metrics = stdout:%.80s: expected NAME=REGEX, such as "
                      "stdout:return=return ([-0-9.e]+)", text);
  for (const char *c = text; c < equals; c++) names += *c == ',';
  const int code = core_pattern_compile(equals + 1, &regex);
  if (code != CORE_OK) return core_error_context(code, "metrics");
  const size_t groups = regex.re_nsub;
  regfree(&regex);
  if (groups >= names) return CORE_OK;
  return core_error(CORE_USAGE, "metrics: the regular expression %.200s has %zu groups in parentheses for %zu names",
                    equals + 1, groups, names);
}

static int check_metrics(const CoreScript *program) {
  CoreScriptSource source;
  const char *location;
  char **words;
  size_t count;
  TRY(core_script_source(core_script_text(program, CORE_SCRIPT_metrics), &source, &location));
  if (source == CORE_SCRIPT_JSONL && !*location) return CORE_OK;
  if (source == CORE_SCRIPT_STDOUT) return check_regex(location);
  TRY(core_script_argv(program, location, NULL, &words, &count));
  core_script_argv_free(&words);
  return count == 1 ? CORE_OK : core_error(CORE_USAGE, "metrics = %s: expected one path",
                                           core_script_text(program, CORE_SCRIPT_metrics));
}

static int check_step(const CoreScript *program) {
  bool is_sum;
  const char *text = core_script_text(program, CORE_SCRIPT_step), *metric = core_script_step_name(text, &is_sum);
  const char *of = strstr(metric, " of ");
  char name[CORE_CONFIG_TEXT];
  double total;

  if (!*metric || *metric == ' ' || (of ? (size_t)(of - metric) : strlen(metric)) >= CORE_SCRIPT_NAME)
    return core_error(CORE_USAGE,
                      "step = %.80s: expected NAME or sum of NAME, and optionally of {SETTING} or of NUMBER", text);

  if (!of) return CORE_OK;
  of += 4;
  if (*of != '{')
    return core_text_to_real_scaled(of, &total) && total >= 1
             ? CORE_OK
             : core_error(CORE_USAGE, "step = %.80s: %.40s is neither {SETTING} nor a number of at least 1", text, of);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(of + 1, "}"), of + 1);
  if (of[strlen(name) + 1] != '}' || of[strlen(name) + 2])
    return core_error(CORE_USAGE, "step = %.80s: expected NAME of {SETTING}", text);

  const CoreScriptSetting *setting = core_script_find(program, name);
  if (!setting) return core_error(CORE_USAGE, "step = %.80s: [settings] has no %s", text, name);
  if (core_config_is_number(setting->kind)) return CORE_OK;
  return core_error(CORE_USAGE, "step = %.80s: %s is not a number", text, name);
}

static int check_goal(const CoreScript *program) {
  const char *goal = core_script_text(program, CORE_SCRIPT_goal);
  if (!*goal) return CORE_OK;
  const bool known = strncmp(goal, "max ", 4) == 0 || strncmp(goal, "min ", 4) == 0;
  if (known && goal[4] && !strpbrk(goal + 4, " \t") && strlen(goal + 4) < CORE_SCRIPT_NAME) return CORE_OK;
  return core_error(CORE_USAGE, "goal = %.80s: expected max METRIC or min METRIC, such as max episode_return", goal);
}

static int check_command(const CoreScript *program, CoreScriptKey key) {
  char **words;
  size_t count;
  const int code = core_script_argv(program, core_script_text(program, key), NULL, &words, &count);
  if (code != CORE_OK) return core_error_context(code, "%s", core_script_keys[key]);
  core_script_argv_free(&words);
  return count > 0 || key != CORE_SCRIPT_command
           ? CORE_OK
           : core_error(CORE_USAGE, "[program] has no command; write command = python3 train.py --lr {lr}");
}

static int check_duration(const CoreScript *program, CoreScriptKey key, const char *range, double max_s) {
  double seconds;
  const char *text = core_script_text(program, key);
  if (core_text_to_duration(text, &seconds) && seconds <= max_s) return CORE_OK;
  return core_error(CORE_USAGE, "%s = %.40s: expected %s, in seconds or with a unit, such as 90, 10m or 2h",
                    core_script_keys[key], text, range);
}

int core_script_check(const CoreScript *program) {
  enum { DAY_S = 86400 };
  TRY(check_command(program, CORE_SCRIPT_command));
  TRY(check_command(program, CORE_SCRIPT_resume));
  TRY(check_metrics(program));
  TRY(check_step(program));
  TRY(check_goal(program));
  TRY(check_duration(program, CORE_SCRIPT_grace, "at most one day", DAY_S));
  return check_duration(program, CORE_SCRIPT_stall, "at most 100 days", 100 * DAY_S);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

bool core_script_is_section(const char *section) {
  return strcmp(section, "program") == 0 || strcmp(section, "settings") == 0 || strcmp(section, "metric") == 0;
}

static int read_entry(CoreScriptDraft *draft, const CoreIniEntry *entry) {
  if (strcmp(entry->section, "program") == 0) return set_key(draft, entry->key, entry->value);
  if (strcmp(entry->section, "settings") == 0) return add_setting(draft, entry->key, entry->value, entry->is_quoted);
  return add_metric(draft, entry->key, entry->value);
}

static int check_duplicate(const CoreIni *ini, const CoreIniEntry *entry) {
  for (const CoreIniEntry *other = ini->entries; other < entry; other++)
    if (other->key && strcmp(other->section, entry->section) == 0 && strcmp(other->key, entry->key) == 0)
      return core_ini_error_key(ini, entry, "%s is given twice in [%s], first in line %d; remove one", entry->key,
                                entry->section, other->line);
  return CORE_OK;
}

static int read_draft(const CoreIni *ini, CoreScriptDraft *draft, const CoreIniEntry **section) {
  for (size_t i = 0; i < ini->count; i++) {
    const CoreIniEntry *entry = &ini->entries[i];
    if (!core_script_is_section(entry->section)) continue;
    if (!entry->key && strcmp(entry->section, "program") == 0) *section = entry;
    if (!entry->key) continue;
    TRY(check_duplicate(ini, entry));
    if (read_entry(draft, entry) != CORE_OK) return core_ini_error_key(ini, entry, "%s", core_error_message());
  }
  return CORE_OK;
}

/* Rejects [settings] or [metric] without [program]. */
static int check_no_sections(const CoreIni *ini) {
  for (size_t i = 0; i < ini->count; i++)
    if (core_script_is_section(ini->entries[i].section))
      return core_ini_error(ini, &ini->entries[i], "[%s] requires a [program], which this file lacks",
                            ini->entries[i].section);
  return CORE_OK;
}

int core_script_read(const CoreIni *ini, const CoreScript **program) {
  CoreScriptDraft *draft = core_script_draft_create();
  const CoreIniEntry *section = NULL;
  *program = NULL;
  int code = read_draft(ini, draft, &section);
  if (code == CORE_OK && !section) code = check_no_sections(ini);
  if (code == CORE_OK && section) {
    code = core_script_intern(draft, program);
    if (code == CORE_OK) code = core_script_check(*program);
    if (code != CORE_OK) code = core_ini_error(ini, section, "%s", core_error_message());
  }
  core_script_draft_free(&draft);
  return code;
}

/* ---- results.db -------------------------------------------------------------------------------------------------- */

static bool contains(const json_t *names, const char *name) {
  size_t i;
  json_t *item;
  json_array_foreach(names, i, item)
    if (json_is_string(item) && strcmp(json_string_value(item), name) == 0) return true;
  return false;
}

/* Adds a setting whose kind is the type of the JSON value. infinite: names of numbers that are "inf" or "-inf". */
static int add_from_json(CoreScriptDraft *draft, const char *name, const json_t *value, const json_t *infinite) {
  char number[32];
  const char *text = number;
  double real;
  CoreConfigKind kind = CORE_CONFIG_STRING;

  if (json_is_integer(value)) {
    kind = CORE_CONFIG_INT;
    snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
  } else if (json_is_real(value)) {
    kind = CORE_CONFIG_REAL;
    core_text_from_real(json_real_value(value), number);
  } else if (json_is_string(value)) {
    text = json_string_value(value);
    if (contains(infinite, name) && core_text_to_real(text, &real)) kind = CORE_CONFIG_REAL;
  } else {
    return core_error(CORE_FAIL, "%s is neither a string nor a number", name);
  }

  return core_script_draft_add(draft, name, kind, NULL, text, text);
}

int core_script_from_json(const json_t *config, const CoreScript **program) {
  json_t *object = json_object_get(config, "program"), *settings = json_object_get(config, "settings");
  const json_t *infinite = json_object_get(config, "infinite");
  const char *key;
  json_t *value;
  int code = CORE_OK;
  *program = NULL;
  if (!json_is_object(object)) return CORE_OK;

  CoreScriptDraft *draft = core_script_draft_create();
  draft->widens = true;
  for (int k = 0; k < CORE_SCRIPT_KEYS; k++) {
    if (code != CORE_OK) break;
    const char *text = json_string_value(json_object_get(object, core_script_keys[k]));
    if (text) code = set_key(draft, core_script_keys[k], text);
  }
  json_object_foreach(settings, key, value) if (code == CORE_OK) code = add_from_json(draft, key, value, infinite);
  if (code == CORE_OK) code = core_script_intern(draft, program);

  core_script_draft_free(&draft);
  return code;
}
