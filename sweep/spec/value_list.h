/* Values of one setting in a grid or zip: parses a comma list to typed, checked values.
 *
 *   8, 16, 32          items, trimmed        "a, b", c    quotes keep a comma
 *   1..4, 8            a..b: the integers from a to b, both included, for integer settings only
 */
#ifndef SWEEP_VALUE_LIST_H
#define SWEEP_VALUE_LIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ini.h"

enum { SWEEP_LIST_MAX = 1000000 /* values per list; rejects 1..999999999999 */ };

typedef struct SweepValue {
  union { int64_t integer; double real; bool boolean; } number;
  char *text;  /* canonical text, or a number of a program as written; core_config_set parses it to the same value */
  bool absent; /* whether the setting is inactive in this trial of a search; the value is that of the file */
} SweepValue;

typedef struct SweepValueList {
  const CoreConfigRow *row;
  const CoreIniEntry *entry; /* line in the file */
  SweepValue *values;
  size_t count;
} SweepValueList;

/* Parses entry->value for `row`. CORE_USAGE: an empty item, a wrong type or range; the message has file:line:column of
 * the item. ini NULL: the value is not from a file, and the message has no location. */
int sweep_value_list_parse(const CoreIni *ini, const CoreIniEntry *entry, const CoreConfigRow *row,
                           SweepValueList *list);
/* Checks that no value is repeated, which would repeat runs. CORE_USAGE: one is. */
int sweep_value_list_check_different(const CoreIni *ini, const SweepValueList *list);

/* Adds a value by its canonical text, which must be valid. */
void sweep_value_list_add(SweepValueList *list, const char *text, bool absent);
/* Removes the last value. */
void sweep_value_list_drop(SweepValueList *list);

/* Sets the setting in `config` to value `index` of the list. */
void sweep_value_list_apply(const SweepValueList *list, size_t index, CoreConfig *config);
void sweep_value_list_free(SweepValueList *list);

/* Parses seeds: a count ("5" = 0..4) or a list ("0, 3, 10..14"; a single seed 7 is "7..7"). Caller frees *seeds. */
int sweep_value_list_seeds(const CoreIni *ini, const CoreIniEntry *entry, int64_t **seeds, size_t *count);

#endif
