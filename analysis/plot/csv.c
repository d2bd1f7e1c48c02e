/* Writes CSV, and converts it to JSON (csv.h). */
#include "analysis/plot/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"

void analysis_csv_field(CoreText *csv, const char *text) { core_text_append_cell(csv, text); }

void analysis_csv_value(CoreText *csv, double value) {
  char number[32];
  core_text_appendf(csv, ",%s", isfinite(value) ? core_text_from_real(value, number) : "");
}

void analysis_csv_keys(CoreText *csv, const AnalysisGrouping *grouping) {
  for (size_t k = 0; k < grouping->key_count; k++) core_text_appendf(csv, ",%s", grouping->keys[k]->name);
}

void analysis_csv_key_values(CoreText *csv, const AnalysisGrouping *grouping, const AnalysisConfig *config) {
  CoreText value = {0};
  for (size_t k = 0; k < grouping->key_count; k++) {
    core_text_append(csv, ",");
    core_text_append_cell(csv, analysis_key_value(config, grouping->keys[k], &value));
  }
  core_text_free(&value);
}

/* ---- as JSON ---------------------------------------------------------------------------------------------------- */

/* Converts a field to JSON. Ids are not numbers, though some look like one ("12e4567890123456"). */
static json_t *json_of_field(const char *name, const char *text) {
  double number;
  if (!*text) return json_null();
  if (strcmp(name, "run") == 0 || strcmp(name, "run_id") == 0) return core_json_text(text);
  if (core_text_to_real(text, &number) && isfinite(number)) return json_real(number);
  return core_json_text(text);
}

void analysis_csv_print_json(const char *csv) {
  enum { COLUMNS_MAX = 256 };
  char *names[COLUMNS_MAX];
  size_t count = 0;
  CoreText field = {0};
  json_t *rows = json_array();

  for (bool end = false; !end && count < COLUMNS_MAX; count++) {
    csv = core_text_read_cell(csv, &field, &end);
    names[count] = core_text_duplicate(core_text_string(&field));
  }

  while (*csv) {
    json_t *row = json_object();
    bool end = false;
    for (size_t c = 0; !end; c++) {
      csv = core_text_read_cell(csv, &field, &end);
      if (c < count) json_object_set_new(row, names[c], json_of_field(names[c], core_text_string(&field)));
    }
    json_array_append_new(rows, row);
  }

  core_json_print(rows);
  for (size_t c = 0; c < count; c++) free(names[c]);
  core_text_free(&field);
}
