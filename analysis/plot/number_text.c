/* Formats numbers (number_text.h). */
#include "analysis/plot/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"

static const double LARGE = 1e6, SMALL = 1e-4; /* limits of plain notation */

void analysis_format_number(double value, char *buffer, size_t size) {
  const double magnitude = fabs(value);
  if (isnan(value)) snprintf(buffer, size, "-");
  else if (isfinite(value) && (magnitude >= LARGE || (magnitude < SMALL && magnitude > 0)))
    snprintf(buffer, size, "%.2e", value);
  else snprintf(buffer, size, magnitude >= 999.5 ? "%.0f" : "%.3g", value);
}

/* Formats two significant digits without an exponent. */
static void format_two_digits(double value, char *buffer, size_t size) {
  const int digits = value > 0 ? 1 - (int)floor(log10(value)) : 0;
  snprintf(buffer, size, "%.*f", digits < 0 ? 0 : digits, value);
}

/* Returns the decimals that show three digits of the largest number; from 0.01 on at most three, so that scores have
 * equal numbers of digits. */
static int common_decimals(double largest) {
  const int decimals = 2 - (int)floor(log10(largest));
  if (largest >= 0.01 && decimals > 3) return 3;
  return decimals < 0 ? 0 : decimals;
}

void analysis_format_interval(AnalysisInterval interval, char *buffer, size_t size) {
  static const double FAR_APART = 20;
  const double value[3] = {interval.center, interval.low, interval.high};
  const double largest = fmax(fabs(value[0]), fmax(fabs(value[1]), fabs(value[2]))), width = value[2] - value[1];
  const bool apart = width > 0 && isfinite(width);
  char text[3][40];

  for (int i = 0; i < 3; i++) {
    char *to = text[i];
    if (!apart) analysis_format_number(value[i], to, sizeof text[i]);
    else if (largest >= LARGE || largest < 10 * SMALL) snprintf(to, sizeof text[i], "%.2e", value[i]);
    else if (value[1] > SMALL && value[2] / value[1] > FAR_APART) format_two_digits(value[i], to, sizeof text[i]);
    else snprintf(to, sizeof text[i], "%.*f", common_decimals(largest), value[i]);
  }

  if (isnan(interval.center)) snprintf(buffer, size, "-");
  else if (isnan(interval.low)) snprintf(buffer, size, "%s [n = %zu]", text[0], interval.n);
  else snprintf(buffer, size, "%s [%s, %s]", text[0], text[1], text[2]);
}

/* ---- rows of CSV ------------------------------------------------------------------------------------------------- */

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
