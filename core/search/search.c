/* Parses a [search NAME] block: settings, their values, the method. draw.c and tpe.c propose trials. */
#include "core/search/search.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static const char *const methods[] = {"random", "sobol", "tpe"};
enum { METHODS = sizeof methods / sizeof *methods };

static const char *const measures[] = {
#define X(name, words, range) #name,
#include "core/config/measures.def"
#undef X
};
static const char *const ranges[] = {
#define X(name, words, range) #range,
#include "core/config/measures.def"
#undef X
};

/* ---- the block's own keys --------------------------------------------------------------------------------------- */

typedef enum Key { KEY_METHOD, KEY_TRIALS, KEY_GOAL, KEY_STARTUP, KEY_WAVE, KEY_TIMEOUT, KEYS } Key;
static const char *const keys[KEYS] = {"method", "trials", "goal", "startup", "wave", "timeout"};

/* Whether text is a class of Optuna, with or without arguments: "GPSampler", "CmaEsSampler(sigma0=0.3)". The bridge
 * (sweep/search/ask_optuna.py) parses the arguments, which are literals. */
static bool is_sampler(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length]) || text[length] == '_') length++;
  if (length == 0 || isdigit((unsigned char)*text)) return false;
  return text[length] == '\0' || (text[length] == '(' && text[strlen(text) - 1] == ')');
}

/* Takes over FILE of "command:FILE sha256:HEX", where the hash is that of a submitted sweep. */
static int read_command(const CoreIni *ini, const CoreIniEntry *entry, const char *file, CoreSearch *search) {
  size_t length = strlen(file);
  const char *hash = core_sha256_recorded(file, &length);
  if (length == 0)
    return core_ini_error(ini, entry, "method = command: expected a program, such as method = command:./ask.py");
  if (hash) memcpy(search->program_hash, hash, sizeof search->program_hash);
  search->method = CORE_SEARCH_COMMAND;
  search->program = core_text_duplicate(file);
  search->program[length] = '\0';
  return CORE_OK;
}

static int read_method(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search) {
  static const char optuna[] = "optuna:", command[] = "command:";
  search->method_entry = entry;
  if (strncmp(entry->value, command, sizeof command - 1) == 0)
    return read_command(ini, entry, entry->value + sizeof command - 1, search);

  if (strncmp(entry->value, optuna, sizeof optuna - 1) == 0) {
    const char *sampler = entry->value + sizeof optuna - 1;
    if (!is_sampler(sampler))
      return core_ini_error(ini, entry, "method = %.60s: expected a sampler of Optuna, such as optuna:GPSampler or "
                            "optuna:CmaEsSampler(sigma0=0.3)", entry->value);
    search->method = CORE_SEARCH_OPTUNA;
    search->program = core_text_duplicate(sampler);
    return CORE_OK;
  }

  for (size_t i = 0; i < METHODS; i++) {
    search->method = (CoreSearchMethod)i;
    if (strcmp(entry->value, methods[i]) == 0) return CORE_OK;
  }
  const char *nearest = core_text_nearest(entry->value, methods, METHODS);
  return core_ini_error(ini, entry, "method: unknown '%.40s'%s%s; there are random, sobol, tpe, optuna:SAMPLER and "
                        "command:FILE", entry->value, nearest ? ", did you mean " : "", nearest ? nearest : "");
}

static int read_count(const CoreIni *ini, const CoreIniEntry *entry, int64_t *count) {
  if (!core_text_to_int_scaled(entry->value, count))
    return core_ini_error(ini, entry, "%s: '%.40s' is not a whole number%s", entry->key, entry->value,
                          core_text_number_hint(entry->value));
  if (*count >= 1 && *count <= CORE_SEARCH_TRIALS_MAX) return CORE_OK;
  return core_ini_error(ini, entry, "%s = %.40s: expected 1 to %d", entry->key, entry->value, CORE_SEARCH_TRIALS_MAX);
}

/* Returns the text after a word and blanks; NULL: it begins with another word. */
static const char *after_word(const char *text, const char *word) {
  const size_t length = strlen(word);
  if (strncmp(text, word, length) != 0 || !isblank((unsigned char)text[length])) return NULL;
  text += length;
  while (isblank((unsigned char)*text)) text++;
  return text;
}

/* Parses "max final". */
static int read_one_goal(const CoreIni *ini, const CoreIniEntry *entry, const char *text, CoreSearchGoal *goal) {
  enum { MEASURES = sizeof measures / sizeof *measures };
  const char *name = after_word(text, "max");
  goal->minimize = name == NULL;
  if (!name) name = after_word(text, "min");

  if (!name || !*name || strpbrk(name, " \t,;#\"\\"))
    return core_ini_error(ini, entry, "goal = %.60s: expected max or min and a measure, such as max final, or two "
                          "of these, such as max final, min transitions", entry->value);
  if (core_text_copy(goal->measure, sizeof goal->measure, name, "goal") != CORE_OK)
    return core_ini_error(ini, entry, "%s", core_error_message());

  goal->is_metric = true;
  for (size_t i = 0; i < MEASURES; i++) {
    if (strcmp(name, measures[i]) != 0) continue;
    goal->is_metric = false;
    goal->is_log = strcmp(ranges[i], "LOG") == 0;
  }

  if (strcmp(name, "score_at_time") != 0) return CORE_OK;
  return core_ini_error(ini, entry, "goal: score_at_time depends on the runs that are compared; take final or best");
}

/* Parses one goal, or two that are separated by a comma. */
static int read_goal(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search) {
  CoreText item = {0};
  const char *tail = entry->value, *start;
  int code = CORE_OK;
  search->goal = entry;

  while (code == CORE_OK && core_ini_next_item(&tail, &item, &start)) {
    if (search->goal_count == CORE_SEARCH_GOALS_MAX) {
      code = core_ini_error(ini, entry, "goal: a search has at most two goals; remove '%.60s'",
                            core_text_string(&item));
      break;
    }
    CoreSearchGoal *goal = &search->goals[search->goal_count++];
    code = read_one_goal(ini, entry, core_text_string(&item), goal);
    if (code == CORE_OK && goal > search->goals && strcmp(goal->measure, search->goals[0].measure) == 0)
      code = core_ini_error(ini, entry, "goal: %s is named twice; name another measure, or one goal", goal->measure);
  }

  core_text_free(&item);
  return code;
}

static int read_key(const CoreIni *ini, const CoreIniEntry *entry, Key key, CoreSearch *search) {
  if (search->given[key])
    return core_ini_error_key(ini, entry, "%s is set twice in [%s], first in line %d; remove one", keys[key],
                              entry->section, search->given[key]->line);
  search->given[key] = entry;
  switch (key) {
    case KEY_METHOD: return read_method(ini, entry, search);
    case KEY_GOAL: return read_goal(ini, entry, search);
    case KEY_TRIALS: return read_count(ini, entry, &search->trials);
    case KEY_STARTUP: return read_count(ini, entry, &search->startup);
    case KEY_WAVE: return read_count(ini, entry, &search->wave);
    case KEY_TIMEOUT: return read_count(ini, entry, &search->timeout_s);
    case KEYS: break;
  }
  return CORE_OK;
}

/* ---- a setting's values ------------------------------------------------------------------------------------------ */

/* Parts of a line, in a copy. */
typedef struct Line {
  const CoreIni *ini;
  const CoreIniEntry *entry;
  CoreSearchAxis *axis;
} Line;

static int value_error(const Line *line) { return core_ini_error(line->ini, line->entry, "%s", core_error_message()); }

/* Finds the word "when" outside quotes; NULL: no condition. */
static const char *find_when(const char *value) {
  bool quoted = false;
  for (const char *c = value; *c; c++) {
    if (*c == '"') quoted = !quoted;
    if (!quoted && strncmp(c, "when", 4) == 0 && (c == value || isblank((unsigned char)c[-1])) &&
        (c[4] == '\0' || isblank((unsigned char)c[4])))
      return c;
  }
  return NULL;
}

static int add_choice(Line *line, const char *item) {
  CoreSearchAxis *axis = line->axis;
  CoreConfig scratch = core_config_default();
  CoreText text = {0};
  if (!*item && axis->row->kind != CORE_CONFIG_STRING)
    return core_ini_error(line->ini, line->entry, "%s: an item of the list is empty", axis->row->name);

  if (core_config_set(&scratch, axis->row->name, item) != CORE_OK) return value_error(line);
  const char *value = core_config_get(&scratch, axis->row, &text);
  int code = CORE_OK;
  for (size_t c = 0; c < axis->choice_count; c++)
    if (strcmp(axis->choices[c], value) == 0)
      code = core_ini_error(line->ini, line->entry, "%s: the value %.80s is repeated", axis->row->name, value);
  if (axis->choice_count == CORE_SEARCH_CHOICES_MAX)
    code = core_ini_error(line->ini, line->entry, "%s: more than %d values; for numbers take a range, as 1 .. 100",
                          axis->row->name, CORE_SEARCH_CHOICES_MAX);

  if (code == CORE_OK) axis->choices[axis->choice_count++] = core_text_duplicate(value);
  core_text_free(&text);
  return code;
}

static int read_choice(Line *line, const char *list) {
  CoreSearchAxis *axis = line->axis;
  CoreText item = {0};
  const char *tail = list, *start;
  int code = CORE_OK;
  axis->choices = core_memory_zero_allocate(CORE_SEARCH_CHOICES_MAX, sizeof *axis->choices);
  while (core_ini_next_item(&tail, &item, &start)) {
    code = add_choice(line, core_text_string(&item));
    if (code != CORE_OK) break;
  }
  core_text_free(&item);
  if (code == CORE_OK && axis->choice_count < 2)
    code = core_ini_error(line->ini, line->entry, "%s: a choice with one value leaves nothing to search; write %s = %s "
                          "in [%s], or give more values", axis->row->name, axis->row->key, axis->choices[0],
                          axis->row->section);
  return code;
}

/* Parses a bound, which must be a valid value of the setting. */
static int read_bound(Line *line, const char *text, double *bound) {
  CoreConfig scratch = core_config_default();
  const CoreConfigRow *row = line->axis->row;
  int64_t whole;
  if (!core_text_to_real_scaled(text, bound) || !isfinite(*bound))
    return core_ini_error(line->ini, line->entry, "%s: '%.40s' is no finite number%s; a range is 1 .. 8 or "
                          "log 1e-5 .. 1e-2", row->name, text, core_text_number_hint(text));
  if (row->kind == CORE_CONFIG_INT && !core_text_to_int_scaled(text, &whole))
    return core_ini_error(line->ini, line->entry, "%s is a whole number, and the bound %.40s is none; write whole "
                          "numbers, as 1 .. 8", row->name, text);
  return core_config_set(&scratch, row->name, text) == CORE_OK ? CORE_OK : value_error(line);
}

static char *trim(char *text) {
  while (isblank((unsigned char)*text)) text++;
  for (size_t n = strlen(text); n > 0 && isblank((unsigned char)text[n - 1]);) text[--n] = '\0';
  return text;
}

static const char *const scales[] = {[CORE_SEARCH_LOG] = "log", [CORE_SEARCH_LOGIT] = "logit",
                                     [CORE_SEARCH_POW2] = "pow2"};
enum { SCALES = sizeof scales / sizeof *scales };

/* Checks that the bounds are in the order and on the scale. */
static int check_range(const Line *line) {
  const CoreSearchAxis *axis = line->axis;
  const char *name = axis->row->name;
  char low[32], high[32];
  int exponent;
  core_text_from_real(axis->low, low), core_text_from_real(axis->high, high);
  if (axis->low == axis->high)
    return core_ini_error(line->ini, line->entry, "%s: both bounds are %s, which leaves nothing to search; write "
                          "%s = %s in [%s]", name, low, axis->row->key, low, axis->row->section);
  if (axis->low > axis->high)
    return core_ini_error(line->ini, line->entry, "%s: the bounds stand the wrong way round; write %s%s%s .. %s",
                          name, axis->scale ? scales[axis->scale] : "", axis->scale ? " " : "", high, low);

  if (axis->scale == CORE_SEARCH_LOG && axis->low <= 0)
    return core_ini_error(line->ini, line->entry, "%s: the logarithm of %s does not exist; begin above 0, or leave "
                          "out log", name, low);
  if (axis->scale == CORE_SEARCH_LOGIT && axis->row->kind == CORE_CONFIG_INT)
    return core_ini_error(line->ini, line->entry, "%s is a whole number, and logit is a scale of numbers between 0 and "
                          "1; leave it out", name);
  if (axis->scale == CORE_SEARCH_LOGIT && !(axis->low > 0 && axis->high < 1))
    return core_ini_error(line->ini, line->entry, "%s: the logit of %s does not exist; begin above 0 and end below 1, "
                          "as in logit 0.9 .. 0.9999", name, axis->low > 0 ? high : low);
  if (axis->scale == CORE_SEARCH_POW2)
    for (int end = 0; end < 2; end++)
      if ((end ? axis->high : axis->low) <= 0 || frexp(end ? axis->high : axis->low, &exponent) != 0.5)
        return core_ini_error(line->ini, line->entry, "%s: %s is no power of two; write bounds such as pow2 16 .. 1024",
                              name, end ? high : low);
  return CORE_OK;
}

static int read_range(Line *line, char *text) {
  CoreSearchAxis *axis = line->axis;
  const char *numbers = NULL;
  char *dots = strstr(text, "..");
  for (size_t i = CORE_SEARCH_LOG; i < SCALES && !numbers; i++) {
    numbers = after_word(text, scales[i]);
    if (numbers) axis->scale = (CoreSearchScale)i;
  }

  if (!dots && strchr(text, ','))
    return core_ini_error(line->ini, line->entry, "%s: a list of values begins with the word choice: choice %.80s",
                          axis->row->name, text);
  if (!dots)
    return core_ini_error(line->ini, line->entry, "%s = %.60s: expected a range, as 1 .. 8 or log 1e-5 .. 1e-2, or a "
                          "choice, as choice 8, 64; one value for all trials belongs into [%s]", axis->row->name, text,
                          axis->row->section);
  if (!core_config_is_number(axis->row->kind))
    return core_ini_error(line->ini, line->entry, "%s is not a number, so it has no range; write choice and its values",
                          axis->row->name);

  *dots = '\0';
  TRY(read_bound(line, trim(numbers ? (char *)numbers : text), &axis->low));
  TRY(read_bound(line, trim(dots + 2), &axis->high));
  return check_range(line);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static int unknown_key(const CoreIni *ini, const CoreIniEntry *entry) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  const char **names = core_memory_allocate((count + KEYS + 1) * sizeof *names);
  for (size_t i = 0; i < KEYS; i++) names[i] = keys[i];
  names[KEYS] = "seeds";
  for (size_t i = 0; i < count; i++) names[KEYS + 1 + i] = rows[i].name;
  const char *nearest = core_config_suggest(entry->key, names, count + KEYS + 1);
  free(names);
  return core_ini_error_key(ini, entry, "%s is not a setting, nor method, trials, seeds, goal, startup, wave or "
                            "timeout%s%s%s",
                            entry->key, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int check_row(const CoreIni *ini, const CoreIniEntry *entry, const CoreConfigRow *row,
                     const CoreSearch *search) {
  if (strcmp(row->name, "train.seed") == 0)
    return core_ini_error_key(ini, entry, "train.seed is given by seeds in [sweep] or in the search: seeds = 2");
  if (!row->identity)
    return core_ini_error_key(ini, entry, "%s does not affect results, so there is nothing to search; write it "
                              "into [%s]", row->name, row->section);
  for (size_t i = 0; i < search->count; i++)
    if (search->axes[i].row == row)
      return core_ini_error_key(ini, entry, "%s is set twice in [%s], first in line %d; remove one", row->name,
                                entry->section, search->axes[i].entry->line);
  if (search->count < CORE_SEARCH_AXES_MAX) return CORE_OK;
  return core_ini_error_key(ini, entry, "a search has at most %d settings", CORE_SEARCH_AXES_MAX);
}

int core_search_line(const CoreIni *ini, const CoreIniEntry *entry, CoreSearch *search) {
  for (Key key = 0; key < KEYS; key++)
    if (strcmp(entry->key, keys[key]) == 0) return read_key(ini, entry, key, search);

  const CoreConfigRow *row = core_config_find(entry->key);
  if (!row) return unknown_key(ini, entry);
  TRY(check_row(ini, entry, row, search));
  if (!search->axes) search->axes = core_memory_allocate(CORE_SEARCH_AXES_MAX * sizeof *search->axes);

  CoreSearchAxis *axis = &search->axes[search->count++];
  *axis = (CoreSearchAxis){.row = row, .entry = entry, .parent = CORE_SEARCH_NO_PARENT};
  Line line = {ini, entry, axis};
  char *text = core_text_duplicate(entry->value);
  const char *when = find_when(text);
  if (when) text[when - text] = '\0';
  const char *list = after_word(trim(text), "choice");
  const int code = list ? read_choice(&line, list) : read_range(&line, trim(text));
  free(text);
  return code;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static int find_axis(const CoreSearch *search, const char *name, size_t *axis) {
  for (*axis = 0; *axis < search->count; ++*axis)
    if (strcmp(search->axes[*axis].row->name, name) == 0) return CORE_OK;
  return CORE_USAGE;
}

/* Parses the condition after "when": "algo.name = ppo_ewma, pqn". */
static int read_condition(const CoreIni *ini, CoreSearch *search, size_t number, char *condition) {
  CoreSearchAxis *axis = &search->axes[number];
  char *equals = strchr(condition, '=');
  if (!equals)
    return core_ini_error(ini, axis->entry, "%s: a condition is: when SETTING = VALUE[, VALUE]", axis->row->name);
  *equals = '\0';
  const char *name = trim(condition);

  if (strcmp(name, axis->row->name) == 0)
    return core_ini_error(ini, axis->entry, "%s has a condition on itself; name another setting of [%s] behind when",
                          name, axis->entry->section);
  if (find_axis(search, name, &axis->parent) != CORE_OK || !search->axes[axis->parent].choices)
    return core_ini_error(ini, axis->entry, "%s: the condition's setting '%.60s' must be a choice of [%s]; write there "
                          "%.60s = choice ..., or remove the condition", axis->row->name, name, axis->entry->section,
                          name);

  const CoreSearchAxis *parent = &search->axes[axis->parent];
  CoreText item = {0};
  const char *tail = equals + 1, *start;
  int code = CORE_OK;
  while (core_ini_next_item(&tail, &item, &start)) {
    const double choice = core_search_coordinate(parent, core_text_string(&item));
    if (!isnan(choice)) axis->when |= UINT64_C(1) << (unsigned)choice;
    else code = core_ini_error(ini, axis->entry, "%s: '%.60s' is none of the values of %s (line %d), so the condition "
                               "never holds", axis->row->name, core_text_string(&item), name, parent->entry->line);
    if (code != CORE_OK) break;
  }

  core_text_free(&item);
  return code;
}

static int read_conditions(const CoreIni *ini, CoreSearch *search) {
  int code = CORE_OK;
  for (size_t i = 0; i < search->count; i++) {
    if (code != CORE_OK) break;
    const char *when = find_when(search->axes[i].entry->value);
    if (!when) continue;
    char *condition = core_text_duplicate(when + 4);
    code = read_condition(ini, search, i, condition);
    free(condition);
  }
  return code;
}

static size_t depth_of(const CoreSearch *search, size_t axis) {
  size_t depth = 0;
  for (; search->axes[axis].parent != CORE_SEARCH_NO_PARENT && depth <= search->count; depth++)
    axis = search->axes[axis].parent;
  return depth;
}

/* Orders axes by the file, with parents before their children. */
static int put_in_order(const CoreIni *ini, CoreSearch *search) {
  size_t placed = 0;
  search->order = core_memory_allocate((search->count + 1) * sizeof *search->order);
  for (size_t depth = 0; depth < search->count; depth++)
    for (size_t i = 0; i < search->count; i++)
      if (depth_of(search, i) == depth) search->order[placed++] = i;
  for (size_t i = 0; i < search->count; i++)
    if (depth_of(search, i) >= search->count)
      return core_ini_error(ini, search->axes[i].entry, "%s: its condition leads back to itself; remove one of the "
                            "conditions", search->axes[i].row->name);
  return CORE_OK;
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

int core_search_finish(const CoreIni *ini, const CoreIniEntry *section, CoreSearch *search) {
  enum { STARTUP = 10, WAVE = 8, TIMEOUT_S = 600 };

  if (search->count == 0)
    return core_ini_error(ini, section, "[%s] has no setting to search; add one, such as ppo.learning_rate = "
                          "log 1e-5 .. 1e-2", section->section);
  if (!search->given[KEY_TRIALS])
    return core_ini_error(ini, section, "[%s] has no trials; add trials = 64", section->section);
  for (Key key = KEY_STARTUP; key <= KEY_WAVE; key++)
    if (search->given[key] && !core_search_is_adaptive(search))
      return core_ini_error_key(ini, search->given[key], "%s belongs to method = tpe, optuna: or command:; the method "
                                "here is %s", keys[key], methods[search->method]);
  if (search->given[KEY_TIMEOUT] && !core_search_has_program(search))
    return core_ini_error_key(ini, search->given[KEY_TIMEOUT], "timeout belongs to method = optuna: or command:; the "
                              "method here is %s", methods[search->method]);

  if (search->goal_count == 0) search->goals[search->goal_count++] = (CoreSearchGoal){.measure = "final"};
  if (!search->startup) search->startup = STARTUP;
  if (!search->wave) search->wave = WAVE;
  if (!search->timeout_s) search->timeout_s = TIMEOUT_S;
  TRY(read_conditions(ini, search));
  return put_in_order(ini, search);
}

void core_search_free(CoreSearch *search) {
  for (size_t i = 0; i < search->count; i++) {
    for (size_t c = 0; c < search->axes[i].choice_count; c++) free(search->axes[i].choices[c]);
    free(search->axes[i].choices);
  }
  free(search->axes);
  free(search->order);
  free(search->program);
  *search = (CoreSearch){0};
}
