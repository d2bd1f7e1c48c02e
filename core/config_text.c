/* The configuration table written out: canonical text, run id, INI, JSON, help, docs/config.md. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/config_internal.h"
#include "core/terminal.h"

/* ---- values --------------------------------------------------------------------------------------------------- */

const char *core_config_get(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
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

static bool same_value(const CoreConfig *a, const CoreConfig *b, const CoreConfigRow *row) {
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

void core_config_id(const CoreConfig *config, char id[CORE_RUN_ID]) {
  static _Thread_local CoreConfig defaults;
  static _Thread_local CoreText value, canonical; /* kept: a sweep asks a hundred thousand times */
}
