/* Parses comma lists to checked values. Called by spec.c for every line of a grid or zip and for sweep.seeds; grid.c
 * applies the values later without parsing again, so that 100 000 runs take less than a second. */
#include "sweep/spec/value_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/script.h"
#include "core/log.h"
#include "core/memory.h"

/* Returns an error that points at the character `position` of the entry's value (NULL: its first). The column is
 * approximate if the INI reader removed quotes or joined lines. */
static int list_error(const CoreIni *ini, const CoreIniEntry *entry, const char *position, const char *format, ...)
    CORE_PRINTF(4, 5);
static int list_error(const CoreIni *ini, const CoreIniEntry *entry, const char *position, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  if (!ini) return core_error(CORE_USAGE, "%s", message);
  CoreIniEntry location = *entry;
  if (position) {
    for (const char *c = entry->value; c < position; c++) location.column += ((unsigned char)*c & 0xc0) != 0x80;
  }
  return core_ini_error(ini, &location, "%s", message);
}

/* Parses "a..b" with integers. false: `item` is not a range. */
static bool read_range(const char *item, int64_t *low, int64_t *high) {
  char first[32];
  const char *dots = strstr(item, "..");
  if (!dots || (size_t)(dots - item) >= sizeof first) return false;
  memcpy(first, item, (size_t)(dots - item));
  first[dots - item] = '\0';
  return core_text_to_int_scaled(first, low) && core_text_to_int_scaled(dots + 2, high);
}

/* Returns the number of values of a range; 0: too many or none. */
static size_t range_count(int64_t low, int64_t high) {
  uint64_t steps = (uint64_t)high - (uint64_t)low;
  return high < low || steps >= SWEEP_LIST_MAX ? 0 : (size_t)steps + 1;
}

/* ---- values of one setting ------------------------------------------------------------------------------------- */

typedef struct Builder {
  const CoreIni *ini;
  SweepValueList *list;
  size_t capacity;
  CoreConfig scratch; /* target of core_config_set, which parses and checks */
  CoreText text;
} Builder;

/* Gets a value without its text. */
static SweepValue get_value(const CoreConfig *config, const CoreConfigRow *row) {
  SweepValue value = {0};
  const void *field = core_config_field(config, row);
  switch (row->kind) {
    case CORE_CONFIG_INT: memcpy(&value.number.integer, field, sizeof value.number.integer); break;
    case CORE_CONFIG_REAL: memcpy(&value.number.real, field, sizeof value.number.real); break;
    case CORE_CONFIG_BOOL: memcpy(&value.number.boolean, field, sizeof value.number.boolean); break;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING: break; /* the text is the value */
  }
  return value;
}

void sweep_value_list_add(SweepValueList *list, const char *text, bool absent) {
  CoreConfig scratch = core_config_default();
  if ((list->count & (list->count - 1)) == 0) /* doubles the capacity at each power of two */
    list->values = core_memory_resize(list->values, (list->count ? 2 * list->count : 1) * sizeof *list->values);
  CORE_CHECK(core_config_set(&scratch, list->row->name, text) == CORE_OK);
  SweepValue *value = &list->values[list->count++];
  *value = get_value(&scratch, list->row);
  value->text = core_text_duplicate(text);
  value->absent = absent;
}

void sweep_value_list_drop(SweepValueList *list) {
  CORE_CHECK(list->count > 0);
  free(list->values[--list->count].text);
}

/* Returns a value's text: of a program's number, as the user has written it. */
static const char *text_of(const CoreConfig *config, const CoreConfigRow *row, CoreText *text) {
  return row->is_program ? core_script_value(config->program, row)->written : core_config_get(config, row, text);
}

static int add_value(Builder *b, const char *text, const char *position) {
  SweepValueList *list = b->list;
  const CoreConfigRow *row = list->row;
  if (core_config_set(&b->scratch, row->name, text) != CORE_OK)
    return list_error(b->ini, list->entry, position, "%s", core_error_message());
  if (list->count == SWEEP_LIST_MAX)
    return list_error(b->ini, list->entry, position, "%s: more than %d values", row->name, SWEEP_LIST_MAX);

  if (list->count == b->capacity) {
    b->capacity = b->capacity ? 2 * b->capacity : 8;
    list->values = core_memory_resize(list->values, b->capacity * sizeof *list->values);
  }

  SweepValue *value = &list->values[list->count++];
  *value = get_value(&b->scratch, row);
  core_text_clear(&b->text);
  value->text = core_text_duplicate(text_of(&b->scratch, row, &b->text));
  return CORE_OK;
}

static int add_item(Builder *b, const char *item, const char *position) {
  const CoreConfigRow *row = b->list->row;
  int64_t low, high;
  if (!*item && row->kind != CORE_CONFIG_STRING)
    return list_error(b->ini, b->list->entry, position, "%s: an item of the list is empty", row->name);
  if (row->kind != CORE_CONFIG_INT || !read_range(item, &low, &high)) return add_value(b, item, position);

  size_t count = range_count(low, high);
  if (count == 0)
    return list_error(b->ini, b->list->entry, position, "%s: the range %s must go upwards and have at most %d values",
                      row->name, item, SWEEP_LIST_MAX);

  for (size_t i = 0; i < count; i++) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(low + (int64_t)i));
    TRY(add_value(b, text, position));
  }
  return CORE_OK;
}

static bool is_digits(const char *text, size_t length) {
  return length > 0 && strspn(text, "0123456789") >= length;
}

/* Warns of "0,25" and "2,5e-4" in a list of real numbers, which are two values, where users with decimal commas mean
 * one. */
static void warn_decimal_comma(const CoreIni *ini, const CoreIniEntry *entry, const CoreConfigRow *row) {
  if (row->kind != CORE_CONFIG_REAL) return;
  for (const char *item = entry->value; *item; item += strspn(item, ", ")) {
    const size_t whole = strcspn(item, ", ");
    const char *sign = item + (*item == '-' || *item == '+'), *rest = item + whole + 1;
    const size_t length = whole - (size_t)(sign - item), next = item[whole] ? strcspn(rest, ", ") : 0;
    const size_t digits = next > 0 ? strspn(rest, "0123456789") : 0;
    const bool exponent = digits > 0 && digits < next && (rest[digits] == 'e' || rest[digits] == 'E');

    if (item[whole] == ',' && is_digits(sign, length) && digits > 0 &&
        ((length == 1 && *sign == '0' && digits == next) || exponent)) {
      core_warn(
          "%s%s%.*s,%.*s are two values of %s; for one value write %.*s.%.*s, for two put a blank after the comma",
          ini ? ini->file : "--set", ini ? ": " : " ", (int)whole, item, (int)next, rest, row->name, (int)whole, item,
          (int)next, rest);
      return;
    }
    item += whole;
  }
}

int sweep_value_list_parse(const CoreIni *ini, const CoreIniEntry *entry, const CoreConfigRow *row,
                           SweepValueList *list) {
  *list = (SweepValueList){.row = row, .entry = entry};
  Builder b = {.ini = ini, .list = list, .scratch = core_config_default()};
  CoreText item = {0};
  const char *tail = entry->value, *start;
  int code = CORE_OK;
  warn_decimal_comma(ini, entry, row);
  while (core_ini_next_item(&tail, &item, &start)) {
    code = add_item(&b, core_text_string(&item), start);
    if (code != CORE_OK) break;
  }
  if (code != CORE_OK) sweep_value_list_free(list);
  core_text_free(&item);
  core_text_free(&b.text);
  return code;
}

static int compare_texts(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int sweep_value_list_check_different(const CoreIni *ini, const SweepValueList *list) {
  char **texts = core_memory_allocate(list->count * sizeof *texts);
  CoreConfig scratch = core_config_default();
  CoreText text = {0};
  int code = CORE_OK;

  for (size_t i = 0; i < list->count; i++) { /* canonical: 0.1 and 1e-1 are one value */
    CORE_CHECK(core_config_set(&scratch, list->row->name, list->values[i].text) == CORE_OK);
    texts[i] = core_text_duplicate(core_config_get(&scratch, list->row, &text));
  }
  qsort(texts, list->count, sizeof *texts, compare_texts);
  for (size_t i = 1; i < list->count; i++) {
    if (strcmp(texts[i - 1], texts[i]) != 0) continue;
    code = list_error(ini, list->entry, NULL, "%s: the value %s is repeated", list->row->name, texts[i]);
    break;
  }

  for (size_t i = 0; i < list->count; i++) free(texts[i]);
  free(texts);
  core_text_free(&text);
  return code;
}

void sweep_value_list_apply(const SweepValueList *list, size_t index, CoreConfig *config) {
  const SweepValue *value = &list->values[index];
  if (list->row->is_program) {
    CORE_CHECK(core_config_set(config, list->row->name, value->text) == CORE_OK); /* it did in value_of */
    return;
  }

  char *field = (char *)config + list->row->offset;
  switch (list->row->kind) {
    case CORE_CONFIG_INT: memcpy(field, &value->number.integer, sizeof value->number.integer); break;
    case CORE_CONFIG_REAL: memcpy(field, &value->number.real, sizeof value->number.real); break;
    case CORE_CONFIG_BOOL: memcpy(field, &value->number.boolean, sizeof value->number.boolean); break;
    case CORE_CONFIG_ENUM:
    case CORE_CONFIG_STRING:
      memcpy(field, value->text, strlen(value->text) + 1);
      break; /* it was copied from such a field */
  }
}

void sweep_value_list_free(SweepValueList *list) {
  for (size_t i = 0; i < list->count; i++) free(list->values[i].text);
  free(list->values);
  list->values = NULL;
  list->count = 0;
}

/* ---- seeds ----------------------------------------------------------------------------------------------------- */

static int compare_seeds(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int check_seeds(const CoreIni *ini, const CoreIniEntry *entry, const int64_t *seeds, size_t count) {
  int64_t *sorted = core_memory_allocate(count * sizeof *sorted);
  int code = CORE_OK;
  memcpy(sorted, seeds, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_seeds);
  for (size_t i = 1; i < count; i++) {
    if (sorted[i - 1] != sorted[i]) continue;
    code = list_error(ini, entry, NULL, "sweep.seeds: seed %lld is repeated", (long long)sorted[i]);
    break;
  }
  free(sorted);
  return code;
}

int sweep_value_list_seeds(const CoreIni *ini, const CoreIniEntry *entry, int64_t **seeds, size_t *count) {
  static const char expected[] = "expected a number of seeds (5 = seeds 0 to 4) or a list (0, 3, 10..14)";
  const CoreConfigRow *row = core_config_find("train.seed");
  CoreText item = {0};
  const char *tail = entry->value, *start;
  int code = CORE_OK;
  *seeds = NULL;
  *count = 0;

  while (core_ini_next_item(&tail, &item, &start)) {
    const char *text = core_text_string(&item);
    int64_t low, high;
    bool is_range = read_range(text, &low, &high);
    if (!is_range && !core_text_to_int_scaled(text, &low)) {
      code = list_error(ini, entry, start, "sweep.seeds: '%s' is not a whole number%s; %s", text,
                        core_text_number_hint(text), expected);
      break;
    }

    bool is_count = !is_range && !tail && *count == 0;
    if (is_count) {
      high = low > INT64_MIN ? low - 1 : low;
      low = 0;
    } else if (!is_range) {
      high = low;
    }

    size_t more = range_count(low, high);
    if (more == 0 || *count + more > SWEEP_LIST_MAX)
      code = list_error(ini, entry, start, "sweep.seeds: '%s' gives no seeds or more than %d; %s", text, SWEEP_LIST_MAX,
                        expected);
    else if ((double)low < row->min || (double)high > row->max)
      code = list_error(ini, entry, start, "sweep.seeds: a seed is from %.0f to %.0f", row->min, row->max);
    if (code != CORE_OK) break;

    *seeds = core_memory_resize(*seeds, (*count + more) * sizeof **seeds);
    for (size_t i = 0; i < more; i++) (*seeds)[(*count)++] = low + (int64_t)i;
  }

  core_text_free(&item);
  if (code == CORE_OK) code = check_seeds(ini, entry, *seeds, *count);
  if (code != CORE_OK) {
    free(*seeds);
    *seeds = NULL;
    *count = 0;
  }
  return code;
}
