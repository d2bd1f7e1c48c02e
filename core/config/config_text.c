/* Formatting of configurations: canonical text, run id, INI, JSON, help, docs/config.md. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/config/config_internal.h"
#include "core/config/script.h"
#include "core/error.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

/* ---- values --------------------------------------------------------------------------------------------------- */

/* Returns a program's value as the row's kind, which another program may have widened since it was parsed. */
static const void *program_field(const CoreConfig *config, const CoreConfigRow *row) {
  static const int64_t no_integer;
  static const double no_real;
  const CoreScriptValue *value = core_script_value(config->program, row);
  switch (row->kind) {
    case CORE_CONFIG_INT: return value ? &value->integer : &no_integer;
    case CORE_CONFIG_REAL: return value ? &value->real : &no_real;
    case CORE_CONFIG_BOOL:
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: break;
  }
  return value ? value->text : "";
}

const void *core_config_field(const CoreConfig *config, const CoreConfigRow *row) {
  return row->is_program ? program_field(config, row) : (const char *)config + row->offset;
}

const char *core_config_get(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  if (row->is_program) {
    const CoreScriptValue *value = core_script_value(config->program, row);
    core_text_clear(text);
    core_text_append(text, value ? value->text : "");
    return core_text_string(text);
  }

  const void *field = core_config_field(config, row);
  char number[32];
  core_text_clear(text);

  switch (row->kind) {
    case CORE_CONFIG_INT: core_text_appendf(text, "%lld", (long long)*(const int64_t *)field); break;
    case CORE_CONFIG_REAL: core_text_append(text, core_text_from_real(*(const double *)field, number)); break;
    case CORE_CONFIG_BOOL: core_text_append(text, *(const bool *)field ? "yes" : "no"); break;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: core_text_append(text, field); break;
  }
  return core_text_string(text);
}

/* Compares canonical texts: numbers may be spelled differently. */
static bool equals_in_program(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row) {
  const CoreScriptValue *x = core_script_value(a->program, row), *y = core_script_value(b->program, row);
  return x == y || (x && y && strcmp(x->text, y->text) == 0);
}

bool core_config_value_equals(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row) {
  if (row->is_program) return equals_in_program(a, b, row);
  const void *x = core_config_field(a, row), *y = core_config_field(b, row);
  switch (row->kind) {
    case CORE_CONFIG_INT: return *(const int64_t *)x == *(const int64_t *)y;
    case CORE_CONFIG_REAL: return *(const double *)x == *(const double *)y;
    case CORE_CONFIG_BOOL: return *(const bool *)x == *(const bool *)y;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: break;
  }
  return strcmp(x, y) == 0;
}

/* ---- the id --------------------------------------------------------------------------------------------------- */

void core_config_hash(const CoreText *canonical, char id[CORE_RUN_ID]) {
  unsigned char hash[crypto_generichash_BYTES_MIN];
  CORE_CHECK(sodium_init() >= 0); /* selects the fastest implementation once; later calls return immediately */
  CORE_CHECK(crypto_generichash(hash, sizeof hash, (const unsigned char *)core_text_string(canonical),
                                canonical->length, NULL, 0) == 0);
  sodium_bin2hex(id, CORE_RUN_ID, hash, (CORE_RUN_ID - 1) / 2);
}

void core_config_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  CoreText canonical = {0}, value = {0};
  size_t count;
  const CoreConfigRow *row = core_config_trainer_rows(&count);

  if (config->program) {
    core_script_canonical(config, true, &canonical);
  } else {
    for (const CoreConfigRow *end = row + count; row < end; row++) {
      if (!row->identity || core_config_value_equals(config, &core_config_defaults, row)) continue;
      core_text_append(&canonical, row->name);
      core_text_append(&canonical, "=");
      core_text_append(&canonical, core_config_get(config, row, &value));
      core_text_append(&canonical, "\n");
    }
  }

  core_config_hash(&canonical, id);
  core_text_free(&canonical);
  core_text_free(&value);
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

/* Appends a value, in quotes if the INI reader would otherwise change it. */
static void append_ini_value(CoreText *text, const char *value) {
  size_t length = strlen(value);
  bool is_plain = length > 0 && !strpbrk(value, ";#\"\\") && !strchr(" \t'", value[0]) &&
                  !strchr(" \t", value[length - 1]);
  if (is_plain) {
    core_text_append(text, value);
    return;
  }
  core_text_append(text, "\"");
  for (; *value; value++) {
    if (*value == '"' || *value == '\\') core_text_append(text, "\\");
    core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\"");
}

void core_config_to_ini(const CoreConfig *config, CoreText *text) {
  size_t row_count, section_count;
  const CoreConfigRow *rows = core_config_trainer_rows(&row_count);

  if (config->program) {
    core_script_to_ini(config->program, text);
    core_text_appendf(text, "\n[train]\nseed = %lld\nthreads = %lld\n", (long long)config->train.seed,
                      (long long)config->train.threads);
    return;
  }

  const CoreConfigSection *section = core_config_sections(&section_count);
  CoreText value = {0};
  for (const CoreConfigSection *end = section + section_count; section < end; section++) {
    core_text_appendf(text, "[%s]\n", section->name);
    for (size_t i = section->first; i < section->first + section->count; i++) {
      core_text_appendf(text, "%s = ", rows[i].key);
      append_ini_value(text, core_config_get(config, &rows[i], &value));
      core_text_append(text, "\n");
    }
  }
  core_text_free(&value);
}

static void append_json_string(CoreText *text, const char *value) {
  core_text_append(text, "\"");
  for (; *value; value++) {
    unsigned char byte = (unsigned char)*value;
    if (byte == '"' || byte == '\\') core_text_appendf(text, "\\%c", byte);
    else if (byte < 0x20) core_text_appendf(text, "\\u%04x", byte);
    else core_text_append_bytes(text, value, 1);
  }
  core_text_append(text, "\"");
}

/* Appends a real that readers parse as one, with a point or an exponent. JSON has no infinity. */
static void append_json_real(CoreText *text, const char *value) {
  if (strcmp(value, "inf") == 0) core_text_append(text, "\"inf\"");
  else core_text_appendf(text, "%s%s", value, strpbrk(value, ".e") ? "" : ".0");
}

static void append_json_value(CoreText *text, const CoreConfigRow *row, const char *value) {
  switch (row->kind) {
    case CORE_CONFIG_INT: core_text_append(text, value); break;
    case CORE_CONFIG_REAL: append_json_real(text, value); break;
    case CORE_CONFIG_BOOL: core_text_append(text, strcmp(value, "yes") == 0 ? "true" : "false"); break;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: append_json_string(text, value); break;
  }
}

/* Appends the scaled values, so that queries need not know the schemes. */
static void append_resolved(const CoreConfig *config, CoreText *text) {
  CoreConfig resolved;
  char number[32];
  if (!core_config_is_scaled(config) || core_config_resolve(config, &resolved) != CORE_OK) return;
  core_text_appendf(text, ",\"resolved\":{\"env_num\":%lld,\"ppo_num_minibatches\":%lld,\"minibatch\":%lld,"
                    "\"ppo_learning_rate\":", (long long)resolved.env.num,
                    (long long)resolved.ppo.num_minibatches,
                    (long long)(core_config_transitions_per_iteration(&resolved) / resolved.ppo.num_minibatches));
  append_json_real(text, core_text_from_real(resolved.ppo.learning_rate, number));
  core_text_append(text, "}");
}

/* Appends one setting, with its key and, at a section's start, the brackets. */
static void append_json_row(const CoreConfig *config, const CoreConfigRow *rows, size_t i, CoreText *value,
                            CoreText *text) {
  if (i > 0 && strcmp(rows[i].section, rows[i - 1].section) == 0) core_text_appendf(text, ",\"%s\":", rows[i].key);
  else core_text_appendf(text, "%s\"%s\":{\"%s\":", i ? "}," : "{", rows[i].section, rows[i].key);
  append_json_value(text, &rows[i], core_config_get(config, &rows[i], value));
}

void core_config_to_json(const CoreConfig *config, CoreText *text) {
  CoreConfigJson json = {0};
  core_text_append(text, core_config_json(&json, config));
  core_config_json_free(&json);
}

const char *core_config_json(CoreConfigJson *json, const CoreConfig *config) {
  size_t count, from = 0; /* from: offset of a row in the previous text */
  const CoreConfigRow *rows = core_config_trainer_rows(&count);

  if (config->program) {
    core_text_clear(&json->spare);
    core_script_to_json(config, &json->spare);
    return core_text_string(&json->spare);
  }

  CoreText text = json->spare, value = {0};
  const bool has_previous = json->ends != NULL;
  if (!has_previous) json->ends = core_memory_zero_allocate(count, sizeof *json->ends);
  core_text_clear(&text);

  /* Unchanged settings are copied from the previous text. */
  for (size_t i = 0; i < count; i++) {
    const size_t to = json->ends[i];
    if (has_previous && core_config_value_equals(&json->config, config, &rows[i]))
      core_text_append_bytes(&text, json->text.data + from, to - from);
    else append_json_row(config, rows, i, &value, &text);
    from = to;
    json->ends[i] = text.length;
  }
  core_text_append(&text, "}");
  append_resolved(config, &text);
  core_text_append(&text, "}");
  core_text_free(&value);

  json->spare = json->text;
  json->text = text;
  json->config = *config;
  return core_text_string(&json->text);
}

void core_config_json_free(CoreConfigJson *json) {
  core_text_free(&json->text);
  core_text_free(&json->spare);
  free(json->ends);
  *json = (CoreConfigJson){0};
}

/* ---- help and documentation ----------------------------------------------------------------------------------- */

/* Appends "time limit of an episode [default 256; 1 to 65536 environment steps]". */
static void append_description(CoreText *text, const CoreConfigRow *row) {
  core_text_appendf(text, "%s [default %s", row->help, *row->def ? row->def : "empty");
  if (row->kind != CORE_CONFIG_STRING) {
    core_text_append(text, "; ");
    core_config_append_range(row, text);
  }
  core_text_append(text, "]");
}

void core_config_help(CoreHelp *help) {
  size_t row_count, section_count;
  const CoreConfigRow *rows = core_config_rows(&row_count);
  const CoreConfigSection *sections = core_config_sections(&section_count);
  enum { INDENT = 28 };
  CoreText text = {0};

  core_help_heading(help, "Settings");
  for (size_t s = 0; s < section_count; s++) {
    core_text_clear(&text);
    core_text_appendf(&text, "[%s]", sections[s].name);
    core_help_part(help, core_text_string(&text), sections[s].help);
    for (size_t i = sections[s].first; i < sections[s].first + sections[s].count; i++) {
      core_text_clear(&text);
      append_description(&text, &rows[i]);
      core_help_row(help, rows[i].name, core_text_string(&text), INDENT);
    }
  }
  core_text_free(&text);
}

/* Appends a table cell; escapes '|', which would end it. */
static void append_cell(CoreText *text, const char *cell) {
  core_text_append(text, " ");
  for (; *cell; cell++) {
    if (*cell == '|') core_text_append(text, "\\");
    core_text_append_bytes(text, cell, 1);
  }
  core_text_append(text, " |");
}

void core_config_to_markdown(CoreText *text) {
  static const char *const types[] = {"integer, ", "real, ", "yes/no", "", "text"};
  size_t row_count, section_count;
  const CoreConfigRow *rows = core_config_rows(&row_count);
  const CoreConfigSection *sections = core_config_sections(&section_count);
  CoreText cell = {0};

  core_text_append(text,
    "# Settings\n\n"
    "Generated from `core/config/config.def` by `make docs`; do not edit. Write a setting in a config file as\n"
    "`key = value` under its `[section]`, or on the command line as `--set section.key=value`. Numbers are written\n"
    "`1e8`, or with a suffix: `50k`, `3M`, `2G`, `1.5T` (powers of 1000). Text has at most 255 bytes. Settings marked\n"
    "*execution* affect only how a run is executed; all others are part of the run's id.\n");

  for (size_t s = 0; s < section_count; s++) {
    core_text_appendf(text, "\n## [%s]\n\n%s.\n\n"
                      "| setting | values | default | meaning |\n|---|---|---|---|\n",
                      sections[s].name, sections[s].help);
    for (size_t i = sections[s].first; i < sections[s].first + sections[s].count; i++) {
      const CoreConfigRow *row = &rows[i];
      core_text_clear(&cell);
      core_text_append(&cell, types[row->kind]);
      if (row->kind != CORE_CONFIG_BOOL && row->kind != CORE_CONFIG_STRING) core_config_append_range(row, &cell);
      core_text_appendf(text, "| `%s` |", row->name);
      append_cell(text, core_text_string(&cell));
      append_cell(text, *row->def ? row->def : "(empty)");
      core_text_clear(&cell);
      core_text_appendf(&cell, "%s%s", row->identity ? "" : "*execution*: ", row->help);
      append_cell(text, core_text_string(&cell));
      core_text_append(text, "\n");
    }
  }
  core_text_free(&cell);
}

json_t *core_config_setting_json(const CoreConfig *config, const CoreConfigRow *row) {
  if (row->is_program && !core_script_value(config->program, row)) return json_null();
  const void *field = core_config_field(config, row);
  CoreText text = {0};

  switch (row->kind) {
    case CORE_CONFIG_INT: return json_integer(*(const int64_t *)field);
    case CORE_CONFIG_BOOL: return json_boolean(*(const bool *)field);
    case CORE_CONFIG_REAL:
      if (isfinite(*(const double *)field)) return json_real(*(const double *)field);
      break;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: break;
  }

  json_t *value = core_json_text(core_config_get(config, row, &text));
  core_text_free(&text);
  return value;
}

enum { ID_DIGITS = CORE_RUN_ID - 1 };

int core_origin_parse(const char *text, CoreOrigin *origin) {
  static const char prefix[] = "run:";
  *origin = (CoreOrigin){.iteration = -1};
  if (strncmp(text, prefix, strlen(prefix)) != 0) return CORE_OK;
  const char *id = text + strlen(prefix), *end = id + strspn(id, "0123456789abcdef");
  if (end - id != ID_DIGITS || (*end && *end != '@'))
    return core_error(CORE_USAGE, "init.from = %.80s: expected run:<id> or run:<id>@<iteration>, where <id> has %d "
                      "hexadecimal digits", text, ID_DIGITS);
  origin->is_run = true;
  memcpy(origin->run, id, ID_DIGITS);
  if (*end && (!core_text_to_int(end + 1, &origin->iteration) || origin->iteration < 0))
    return core_error(CORE_USAGE, "init.from = %.80s: '%.40s' is not an iteration", text, end + 1);
  return CORE_OK;
}
