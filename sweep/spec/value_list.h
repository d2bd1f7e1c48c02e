/* The values that a grid or zip gives to one setting: text of a comma list to typed, checked values.
 *
 *   8, 16, 32          items, trimmed        "a, b", c    quotes keep a comma
 *   1..4, 8            a..b: the integers from a to b, both included, for whole-number settings only
 */
#ifndef SWEEP_VALUE_LIST_H
#define SWEEP_VALUE_LIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/ini.h"

enum { SWEEP_LIST_MAX = 1000000 /* values of one list; a guard against 1..999999999999 */ };

typedef struct SweepValue {
  union { int64_t integer; double real; bool boolean; } number;
  char *text; /* canonical: what core_config_set reads back to the same value */
  bool absent; /* of a search: the setting takes no part in this trial, and the value is the file's own */
} SweepValue;

typedef struct SweepValueList {
  const CoreConfigRow *row;
  const CoreIniEntry *entry; /* where it stands */
  SweepValue *values;
  size_t count;
} SweepValueList;

/* Parses entry->value for `row`. CORE_USAGE with file:line:column of the item: empty item, wrong type or range.
 * ini NULL: the value is not from a file, the message has no place. */
int sweep_value_list_parse(const CoreIni *ini, const CoreIniEntry *entry, const CoreConfigRow *row,
                           SweepValueList *list);
/* For an axis of its own: CORE_USAGE when a value stands twice, which would only make the same runs twice. */
int sweep_value_list_check_different(const CoreIni *ini, const SweepValueList *list);

/* Adds one value, canonical text of a value that the setting may have. */
void sweep_value_list_add(SweepValueList *list, const char *text, bool absent);
/* Takes away the value that was added last. */
void sweep_value_list_drop(SweepValueList *list);

/* Gives value number `index` of the list to its setting in `config`. */
void sweep_value_list_apply(const SweepValueList *list, size_t index, CoreConfig *config);
void sweep_value_list_free(SweepValueList *list);

/* Seeds: a count ("5" = 0..4) or a list ("0, 3, 10..14"; a single seed 7 is "7..7"). free(*seeds). */
int sweep_value_list_seeds(const CoreIni *ini, const CoreIniEntry *entry, int64_t **seeds, size_t *count);

#endif
