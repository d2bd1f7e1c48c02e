/* Formatting of programs: INI, JSON, and the canonical text of the run id (script.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script_internal.h"
#include "core/json.h"
#include "core/memory.h"

/* ---- INI --------------------------------------------------------------------------------------------------------- */

/* Appends a choice, in quotes if the reader would otherwise change it. */
static void append_choice(CoreText *text, const char *choice, size_t length) {
  char *word = core_text_duplicate(choice);
  word[length] = '\0';
  CoreText quoted = {0};
  core_ini_append_quoted(&quoted, word);
  if (strpbrk(word, ";#\"\\'")) core_text_append_bytes(text, quoted.data, quoted.length);
  else core_text_append(text, word);
  core_text_free(&quoted);
  free(word);
}

/* Appends "cnn | mlp", with the current value first. */
static void append_choices(CoreText *text, const char *choices, const char *value) {
  append_choice(text, value, strlen(value));
  for (const char *item = choices;; item++) {
    const size_t length = strcspn(item, "|");
    if (strlen(value) != length || strncmp(item, value, length) != 0) {
      core_text_append(text, " | ");
      append_choice(text, item, length);
    }
    item += length;
    if (!*item) break;
  }
}

void core_script_to_ini(const CoreScript *program, CoreText *text) {
  const CoreScriptDefinition *definition = program->definition;
  core_text_append(text, "[program]\n");
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++) {
    if (strcmp(definition->text[key], core_script_defaults[key]) == 0) continue;
    core_text_appendf(text, "%s = ", core_script_keys[key]);
    core_ini_append_quoted(text, definition->text[key]);
    core_text_append(text, "\n");
  }

  if (definition->setting_count) core_text_append(text, "\n[settings]\n");
  for (size_t i = 0; i < definition->setting_count; i++) {
    const CoreScriptSetting *setting = &definition->settings[i];
    const char *value = program->values[i]->written;
    const bool is_number = core_config_is_number(setting->kind);
    core_text_appendf(text, "%s = ", setting->row->name);
    if (is_number) core_text_append(text, value);
    else if (setting->kind == CORE_CONFIG_ENUM) append_choices(text, setting->choices, value);
    else core_ini_append_quoted(text, value);
    core_text_append(text, "\n");
  }

  if (definition->metric_count) core_text_append(text, "\n[metric]\n");
  for (size_t i = 0; i < definition->metric_count; i++) {
    core_text_appendf(text, "%s = ", definition->metrics[i].column);
    core_ini_append_quoted(text, definition->metrics[i].name);
    core_text_append(text, "\n");
  }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* as_text: represents booleans by their text, as results.db does. */
static json_t *value_json(const CoreScriptSetting *setting, const CoreScriptValue *value, bool as_text) {
  static const char *const yes[] = {"True", "true", "yes", "on"}, *const no[] = {"False", "false", "no", "off"};
  if (setting->kind == CORE_CONFIG_INT) return json_integer(value->integer);
  if (setting->kind == CORE_CONFIG_REAL && isfinite(value->real)) return json_real(value->real);
  if (as_text || setting->kind != CORE_CONFIG_ENUM) return core_json_text(value->text);

  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    if (strcmp(value->text, yes[i]) == 0) return json_true();
    if (strcmp(value->text, no[i]) == 0) return json_false();
  }
  return core_json_text(value->text);
}

static json_t *settings_json(const CoreScript *program, bool as_text) {
  json_t *object = json_object();
  for (size_t i = 0; i < program->definition->setting_count; i++)
    json_object_set_new(object, program->definition->settings[i].row->name,
                        value_json(&program->definition->settings[i], program->values[i], as_text));
  return object;
}

void core_script_settings_to_json(const CoreScript *program, CoreText *text) {
  json_t *object = settings_json(program, false);
  core_json_append(object, 0, text);
  json_decref(object);
}

/* Lists the settings with an infinite number, which JSON lacks: "inf" may also be a text. NULL: none. */
static json_t *infinite_json(const CoreScript *program) {
  json_t *names = NULL;
  for (size_t i = 0; i < program->definition->setting_count; i++) {
    const CoreScriptSetting *setting = &program->definition->settings[i];
    if (setting->kind != CORE_CONFIG_REAL || isfinite(program->values[i]->real)) continue;
    if (!names) names = json_array();
    json_array_append_new(names, core_json_text(setting->row->name));
  }
  return names;
}

void core_script_to_json(const CoreConfig *config, CoreText *text) {
  const CoreScriptDefinition *definition = config->program->definition;
  json_t *root = json_object(), *keys = json_object(), *train = json_object();
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++)
    if (*definition->text[key] && key != CORE_SCRIPT_code_files) /* each attempt of a run has it (StoreState) */
      json_object_set_new(keys, core_script_keys[key], core_json_text(definition->text[key]));

  json_object_set_new(train, "seed", json_integer(config->train.seed));
  json_object_set_new(train, "total_steps", json_integer(config->train.total_steps));
  json_t *algo = json_object();
  json_object_set_new(algo, "name", core_json_text(config->algo.name));

  json_object_set_new(root, "program", keys);
  json_object_set_new(root, "algo", algo);
  json_object_set_new(root, "settings", settings_json(config->program, true));
  json_object_set_new(root, "train", train);
  json_t *infinite = infinite_json(config->program);
  if (infinite) json_object_set_new(root, "infinite", infinite);

  core_json_append(root, 0, text);
  json_decref(root);
}

/* ---- the id ------------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void core_script_canonical(const CoreConfig *config, bool with_seed, CoreText *text) {
  const CoreScriptDefinition *definition = config->program->definition;
  char *lines[CORE_SCRIPT_SETTINGS_MAX];
  core_text_append(text, "program 1\n");
  for (int key = 0; key < CORE_SCRIPT_KEYS; key++)
    if (core_script_identity[key] && *definition->text[key])
      core_text_appendf(text, "%s=%s\n", core_script_keys[key], definition->text[key]);

  for (size_t i = 0; i < definition->setting_count; i++) {
    CoreText line = {0};
    core_text_appendf(&line, "%s=%s\n", definition->settings[i].row->name, config->program->values[i]->text);
    lines[i] = line.data;
  }
  qsort(lines, definition->setting_count, sizeof *lines, by_name);
  for (size_t i = 0; i < definition->setting_count; i++) {
    core_text_append(text, lines[i]);
    free(lines[i]);
  }

  if (with_seed) core_text_appendf(text, "seed=%lld\n", (long long)config->train.seed);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

void core_script_help(CoreHelp *help) {
#define KEY(key, def, identity, help) {#key, help},
  static const struct { const char *key, *text; } rows[] = {
#include "core/config/script.def"
  };
#undef KEY
  core_help_heading(help, "User programs: [program] in FILE");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) core_help_row(help, rows[i].key, rows[i].text, 22);
}
