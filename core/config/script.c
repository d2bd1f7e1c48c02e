/* Programs in memory (script.h): interning of equal objects, values of settings, and quantities derived from them.
 * script_read.c parses programs, script_text.c formats them. */
#include "core/config/script.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script_internal.h"
#include "core/memory.h"
#include "core/unicode.h"

#define RESULT true
#define EXECUTION false
#define KEY(key, def, identity, help) #key,
const char *const core_script_keys[CORE_SCRIPT_KEYS] = {
#include "core/config/script.def"
};
#undef KEY
#define KEY(key, def, identity, help) def,
const char *const core_script_defaults[CORE_SCRIPT_KEYS] = {
#include "core/config/script.def"
};
#undef KEY
#define KEY(key, def, identity, help) identity,
const bool core_script_identity[CORE_SCRIPT_KEYS] = {
#include "core/config/script.def"
};
#undef KEY

/* ---- interning --------------------------------------------------------------------------------------------------- */

typedef struct Blob { size_t size; uint64_t hash; void *bytes; } Blob;

static Blob *blobs; /* [blob_capacity], open addressing */
static size_t blob_count, blob_capacity;
static pthread_mutex_t blob_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Computes FNV-1a. */
static uint64_t hash_bytes(const void *bytes, size_t size) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  return hash ^ hash >> 29;
}

static Blob *find_slot(Blob *table, size_t capacity, uint64_t hash, const void *bytes, size_t size) {
  size_t slot = hash & (capacity - 1);
  while (table[slot].bytes && (table[slot].hash != hash || table[slot].size != size ||
                               memcmp(table[slot].bytes, bytes, size) != 0))
    slot = (slot + 1) & (capacity - 1);
  return &table[slot];
}

static void grow(void) {
  const size_t capacity = blob_capacity ? 2 * blob_capacity : 1024;
  Blob *table = core_memory_zero_allocate(capacity, sizeof *table);
  for (size_t i = 0; i < blob_capacity; i++)
    if (blobs[i].bytes) *find_slot(table, capacity, blobs[i].hash, blobs[i].bytes, blobs[i].size) = blobs[i];
  free(blobs);
  blobs = table;
  blob_capacity = capacity;
}

/* Returns the unique copy of these bytes, which is never freed. */
static const void *intern(const void *bytes, size_t size) {
  const uint64_t hash = hash_bytes(bytes, size);
  pthread_mutex_lock(&blob_mutex);
  if (2 * blob_count >= blob_capacity) grow();
  Blob *blob = find_slot(blobs, blob_capacity, hash, bytes, size);
  if (!blob->bytes) {
    *blob = (Blob){size, hash, core_memory_allocate(size)};
    memcpy(blob->bytes, bytes, size);
    blob_count++;
  }
  const void *found = blob->bytes;
  pthread_mutex_unlock(&blob_mutex);
  return found;
}

static const char *intern_text(const char *text) { return intern(text, strlen(text) + 1); }

static const CoreScriptValue *intern_value(const char *text, const char *written) {
  const size_t size = sizeof(CoreScriptValue) + strlen(text) + 1;
  CoreScriptValue *value = core_memory_zero_allocate(1, size);
  if (!core_text_to_real(text, &value->real)) value->real = 0;
  if (!core_text_to_int(text, &value->integer)) value->integer = (int64_t)0;
  memcpy(value->text, text, strlen(text) + 1);
  value->written = intern_text(written);
  const CoreScriptValue *found = intern(value, size);
  free(value);
  return found;
}

/* ---- drafts ------------------------------------------------------------------------------------------------------ */

CoreScriptDraft *core_script_draft_create(void) {
  CoreScriptDraft *draft = core_memory_zero_allocate(1, sizeof *draft);
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++) core_text_append(&draft->text[key], core_script_defaults[key]);
  return draft;
}

void core_script_draft_free(CoreScriptDraft **draft) {
  CoreScriptDraft *owned = *draft;
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++) core_text_free(&owned->text[key]);
  for (size_t i = 0; i < owned->setting_count; i++) {
    free(owned->settings[i].name);
    free(owned->settings[i].choices);
    free(owned->settings[i].value);
    free(owned->settings[i].written);
  }
  for (size_t i = 0; i < owned->metric_count; i++) {
    free(owned->metrics[i].column);
    free(owned->metrics[i].name);
  }
  free(owned);
  *draft = NULL;
}

static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const size_t length = strlen(name);
  return length > 0 && length < CORE_SCRIPT_NAME && strspn(name, letters) == length && !strchr("-.", *name);
}

static bool is_placeholder(const char *name) {
  static const char *const reserved[] = {"run", "dir", "config", "flags", "overrides", "program"};
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (strcmp(reserved[i], name) == 0) return true;
  return false;
}

/* Whether sweep or the trainer has a setting of this name. */
static bool is_own_setting(const char *name) {
  const CoreConfigRow *row = core_config_find(name);
  return (row && !row->is_program) || strncmp(name, "sweep.", 6) == 0 || strncmp(name, "slurm.", 6) == 0 ||
         strncmp(name, "stop.", 5) == 0;
}

bool core_script_is_taken(const char *name) { return is_placeholder(name) || is_own_setting(name); }

static int check_name(const CoreScriptDraft *draft, const char *name) {
  if (!is_name(name))
    return core_error(CORE_USAGE, "%.80s is not a valid setting name: expected 1 to %d letters, digits, '.', '_' and "
                                  "'-'", name,
                      CORE_SCRIPT_NAME - 1);

  if (strcmp(name, "seed") == 0)
    return core_error(CORE_USAGE, "seed is set by seeds in [sweep]; in command, {seed} expands to it");
  if (is_placeholder(name))
    return core_error(CORE_USAGE, "%s cannot be a setting's name: {%s} is a built-in placeholder; choose another "
                                  "name",
                      name, name);
  if (is_own_setting(name))
    return core_error(CORE_USAGE, "%s is a setting of sweep or trainer; choose another name and write command = ... "
                      "--%s {OTHER}", name, name);

  for (size_t i = 0; i < draft->setting_count; i++)
    if (strcmp(draft->settings[i].name, name) == 0)
      return core_error(CORE_USAGE, "%s is given twice in [settings]; remove one", name);
  if (draft->setting_count < CORE_SCRIPT_SETTINGS_MAX) return CORE_OK;
  return core_error(CORE_USAGE, "[settings] has more than %d settings", CORE_SCRIPT_SETTINGS_MAX);
}

int core_script_draft_add(CoreScriptDraft *draft, const char *name, CoreConfigKind kind, const char *choices,
                           const char *value, const char *written) {
  TRY(check_name(draft, name));
  draft->settings[draft->setting_count].name = core_text_duplicate(name);
  draft->settings[draft->setting_count].choices = choices ? core_text_duplicate(choices) : NULL;
  draft->settings[draft->setting_count].value = core_text_duplicate(value);
  draft->settings[draft->setting_count].written = core_text_duplicate(written);
  draft->settings[draft->setting_count++].kind = kind;
  return CORE_OK;
}

/* Initializes a setting and its row. Returns the setting's name if the table of rows is full, else NULL. */
static const char *add_row(const CoreScriptDraft *draft, size_t i, CoreScriptSetting *setting) {
  const char *name = draft->settings[i].name;
  const char *choices = draft->settings[i].choices ? intern_text(draft->settings[i].choices) : NULL;
  setting->kind = draft->settings[i].kind;
  setting->choices = choices;
  setting->row = core_config_add_program_row(intern_text(name), setting->kind, choices,
                                             intern_text(draft->settings[i].value), draft->widens);
  return setting->row ? NULL : name;
}

static const CoreScript *create(const CoreScriptDefinition *definition, const CoreScriptValue *const *values) {
  const size_t size = sizeof(CoreScript) + definition->setting_count * sizeof *values;
  CoreScript *program = core_memory_zero_allocate(1, size);
  program->definition = definition;
  memcpy(program->values, values, definition->setting_count * sizeof *values);
  const CoreScript *found = intern(program, size);
  free(program);
  return found;
}

int core_script_intern(const CoreScriptDraft *draft, const CoreScript **program) {
  CoreScriptDefinition definition;
  CoreScriptSetting settings[CORE_SCRIPT_SETTINGS_MAX];
  CoreScriptMetric metrics[CORE_SCRIPT_METRICS_MAX];
  const CoreScriptValue *values[CORE_SCRIPT_SETTINGS_MAX];

  memset(&definition, 0, sizeof definition); /* including padding, since they are compared as bytes */
  memset(settings, 0, sizeof settings);
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++)
    definition.text[key] = intern_text(core_text_string(&draft->text[key]));

  /* Their texts are interned, so that equal definitions consist of equal bytes. */
  for (size_t i = 0; i < draft->setting_count; i++) {
    const char *failed = add_row(draft, i, &settings[i]);
    if (failed) return core_error(CORE_USAGE, "%s: too many different program settings in one process", failed);
    values[i] = intern_value(draft->settings[i].value, draft->settings[i].written);
  }
  for (size_t i = 0; i < draft->metric_count; i++)
    metrics[i] = (CoreScriptMetric){intern_text(draft->metrics[i].column), intern_text(draft->metrics[i].name)};

  definition.setting_count = draft->setting_count;
  definition.metric_count = draft->metric_count;
  definition.settings = intern(settings, (draft->setting_count + 1) * sizeof *settings);
  definition.metrics = draft->metric_count ? intern(metrics, draft->metric_count * sizeof *metrics) : NULL;
  *program = create(intern(&definition, sizeof definition), values);
  return CORE_OK;
}

const CoreScript *core_script_with(const CoreScript *program, CoreScriptKey key, const char *text) {
  CoreScriptDefinition definition = *program->definition;
  definition.text[key] = intern_text(text);
  return create(intern(&definition, sizeof definition), (const CoreScriptValue *const *)program->values);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int bad_choice(const char *name, const char *choices, const char *value) {
  enum { CHOICES_MAX = 64 };
  const char *list[CHOICES_MAX];
  size_t count = 0;
  char *copy = core_text_duplicate(choices), *rest = copy;
  for (char *word; count < CHOICES_MAX && (word = strsep(&rest, "|"));) list[count++] = word;
  const char *nearest = core_text_nearest(value, list, count);
  CoreText valid = {0};
  for (size_t i = 0; i < count; i++) core_text_appendf(&valid, "%s%s", i ? ", " : "", list[i]);
  const int code = core_error(CORE_USAGE, "%s = %.80s is not one of: %s%s%s%s", name, *value ? value : "(empty)",
                              core_text_string(&valid), nearest ? "; did you mean " : "", nearest ? nearest : "",
                              nearest ? "?" : "");
  core_text_free(&valid);
  free(copy);
  return code;
}

int core_script_check_characters(const char *name, const char *value) {
  CoreText odd = {0};
  int code = CORE_OK;
  if (core_unicode_find_odd(value, &odd) || core_unicode_find_decomposed(value, &odd))
    code = core_error(CORE_USAGE, "%s contains %s", name, core_text_string(&odd));
  core_text_free(&odd);
  return code;
}

static int check_text(const char *name, const char *value) {
  if (strlen(value) >= CORE_CONFIG_TEXT)
    return core_error(CORE_USAGE, "%s is too long: %zu bytes; expected at most %d", name, strlen(value),
                      CORE_CONFIG_TEXT - 1);
  return core_script_check_characters(name, value);
}

bool core_script_has_leading_zero(const char *number) {
  number += *number == '-' || *number == '+';
  return number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

static int check_leading_zero(const char *name, const char *value) {
  if (!core_script_has_leading_zero(value)) return CORE_OK;
  return core_error(CORE_USAGE, "%s = %.80s is not a number: it begins with a zero; for a text, quote the default in "
                    "[settings]", name, value);
}

static int canonical_integer(const char *name, const char *value, CoreText *canonical, CoreText *written) {
  int64_t integer;
  const char *digits = value + (*value == '-' || *value == '+');
  if (!core_text_to_int_scaled(value, &integer))
    return core_error(CORE_USAGE, "%s = %.80s is not a whole number%s; to allow real numbers, write the default in "
                      "[settings] with a decimal point, such as 1.0", name, *value ? value : "(empty)",
                      core_text_number_hint(value));
  TRY(check_leading_zero(name, value));
  core_text_appendf(canonical, "%lld", (long long)integer);
  const bool is_plain = strspn(digits, "0123456789") == strlen(digits);
  core_text_append(written, is_plain ? value : core_text_string(canonical));
  return CORE_OK;
}

/* Appends a number with a decimal point, so that no reader takes it for an integer: "1.0", "1.0e8". */
static void append_real(const char *number, CoreText *text) {
  int64_t integer;
  const size_t mantissa = strcspn(number, "eE");
  const bool looks_whole = !strchr(number, '.') && core_text_to_int_scaled(number, &integer);
  core_text_appendf(text, "%.*s%s%s", (int)mantissa, number, looks_whole ? ".0" : "", number + mantissa);
}

static int canonical_real(const char *name, const char *value, CoreText *canonical, CoreText *written) {
  double real;
  char number[32];
  if (!core_text_to_real_scaled(value, &real))
    return core_error(CORE_USAGE, "%s = %.80s is not a number%s", name, *value ? value : "(empty)",
                      core_text_number_hint(value));
  TRY(check_leading_zero(name, value));
  core_text_append(canonical, core_text_from_real(real + 0.0, number));
  append_real(core_text_to_real(value, &real) ? value : core_text_string(canonical), written);
  return CORE_OK;
}

int core_script_canonical_value(const char *name, CoreConfigKind kind, const char *choices, const char *value,
                                 CoreText *canonical, CoreText *written) {
  core_text_clear(canonical);
  core_text_clear(written);
  if (kind == CORE_CONFIG_INT) return canonical_integer(name, value, canonical, written);
  if (kind == CORE_CONFIG_REAL) return canonical_real(name, value, canonical, written);
  TRY(check_text(name, value));
  if (kind == CORE_CONFIG_ENUM && !core_config_is_choice(choices, value)) return bad_choice(name, choices, value);
  core_text_append(canonical, value);
  core_text_append(written, value);
  return CORE_OK;
}

/* Returns the index of a setting; setting_count: none. */
static size_t setting_index(const CoreScriptDefinition *definition, const char *name) {
  size_t i = 0;
  while (i < definition->setting_count && strcmp(definition->settings[i].row->name, name) != 0) i++;
  return i;
}

const CoreScriptSetting *core_script_find(const CoreScript *program, const char *name) {
  const size_t i = setting_index(program->definition, name);
  return i < program->definition->setting_count ? &program->definition->settings[i] : NULL;
}

const CoreScriptValue *core_script_value(const CoreScript *program, const CoreConfigRow *row) {
  if (!program) return NULL;
  const CoreScriptDefinition *definition = program->definition;
  for (size_t i = 0; i < definition->setting_count; i++)
    if (definition->settings[i].row == row) return program->values[i];
  return NULL;
}

static int unknown_setting(const CoreScriptDefinition *definition, const char *name) {
  const char *names[CORE_SCRIPT_SETTINGS_MAX];
  CoreText known = {0};
  for (size_t i = 0; i < definition->setting_count; i++) {
    names[i] = definition->settings[i].row->name;
    core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
  }
  const char *nearest = core_text_nearest(name, names, definition->setting_count);
  int code = nearest ? core_error(CORE_USAGE, "%s is not a setting of the program; did you mean %s?", name, nearest)
                     : core_error(CORE_USAGE, "%s is not a setting of the program; [settings] has: %s", name,
                                  known.length ? known.data : "nothing");
  core_text_free(&known);
  return code;
}

int core_script_set(CoreConfig *config, const char *name, const char *value) {
  const CoreScriptDefinition *definition = config->program->definition;
  const size_t index = setting_index(definition, name);
  const CoreScriptValue *values[CORE_SCRIPT_SETTINGS_MAX];
  CoreText canonical = {0}, written = {0};

  if (index == definition->setting_count) return unknown_setting(definition, name);
  const CoreScriptSetting *setting = &definition->settings[index];
  const int code = core_script_canonical_value(name, setting->kind, setting->choices, value, &canonical, &written);
  if (code == CORE_OK) {
    memcpy(values, config->program->values, definition->setting_count * sizeof *values);
    values[index] = intern_value(core_text_string(&canonical), core_text_string(&written));
    core_script_attach(config, create(definition, values));
  }

  core_text_free(&canonical);
  core_text_free(&written);
  return code;
}

/* ---- derived quantities ------------------------------------------------------------------------------------------ */

const char *core_script_text(const CoreScript *program, CoreScriptKey key) {
  return program->definition->text[key];
}

const char *core_script_step_name(const char *text, bool *is_sum) {
  static const char prefix[] = "sum of ";
  const char *name = text + sizeof prefix - 1;
  *is_sum = strncmp(text, prefix, sizeof prefix - 1) == 0 && *name != '{' && !isdigit((unsigned char)*name);
  return *is_sum ? name : text;
}

void core_script_step(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *total, bool *is_sum) {
  const char *text = core_script_step_name(core_script_text(program, CORE_SCRIPT_step), is_sum);
  const char *of = strstr(text, " of ");
  const size_t length = of ? (size_t)(of - text) : strlen(text);
  char word[CORE_CONFIG_TEXT];
  *total = 0;
  snprintf(name, CORE_SCRIPT_NAME, "%.*s", (int)length, text);

  if (!of) return;
  of += 4;
  if (*of == '{') {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(of + 1, "}"), of + 1);
    const CoreScriptSetting *setting = core_script_find(program, word);
    if (setting) *total = core_script_value(program, setting->row)->real;
  } else if (!core_text_to_real_scaled(of, total)) {
    *total = 0;
  }
}

const char *core_script_plan(const CoreConfig *config) {
  return config->program ? core_script_text(config->program, CORE_SCRIPT_plan) : config->train.plan;
}

void core_script_set_plan(CoreConfig *config, const char *hash) {
  if (config->program) core_script_attach(config, core_script_with(config->program, CORE_SCRIPT_plan, hash));
  else snprintf(config->train.plan, sizeof config->train.plan, "%s", hash);
}

bool core_script_goal(const CoreScript *program, char name[CORE_SCRIPT_NAME], double *sign) {
  const char *goal = core_script_text(program, CORE_SCRIPT_goal);
  const char *metric = *goal ? goal + 4 : "";
  *sign = strncmp(goal, "min ", 4) == 0 ? -1 : 1;
  if (strncmp(metric, "metric.", 7) == 0) metric += 7; /* as in [stop] and [search] */
  snprintf(name, CORE_SCRIPT_NAME, "%s", metric);
  return *goal != '\0';
}

void core_script_attach(CoreConfig *config, const CoreScript *program) {
  char name[CORE_SCRIPT_NAME];
  double total;
  bool is_sum;
  config->program = program;
  if (!program) return;
  core_script_step(program, name, &total, &is_sum);
  snprintf(config->algo.name, sizeof config->algo.name, "%s", core_script_text(program, CORE_SCRIPT_name));
  config->train.total_steps = total >= 1 && total < 9e15 ? (int64_t)total : 0;
}
