/* Records and the names in them (record.h). */
#include "sweep/program/record.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/unicode.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
  return hash ^ hash >> 31;
}

static size_t find_slot(const ProgramNames *names, const char *name) {
  size_t slot = hash_name(name) & (names->slot_count - 1);
  while (names->slots[slot] && strcmp(names->items[names->slots[slot] - 1], name) != 0)
    slot = (slot + 1) & (names->slot_count - 1);
  return slot;
}

static void grow(ProgramNames *names) {
  names->capacity = names->capacity ? 2 * names->capacity : 64;
  names->items = core_memory_resize(names->items, names->capacity * sizeof *names->items);
  free(names->slots);
  names->slot_count = 4 * names->capacity;
  names->slots = core_memory_zero_allocate(names->slot_count, sizeof *names->slots);
  for (size_t i = 0; i < names->count; i++) names->slots[find_slot(names, names->items[i])] = i + 1;
}

/* One line of plain UTF-8, cut between characters. */
static void clean(const char *name, size_t length, char text[PROGRAM_NAME_MAX]) {
  if (length >= PROGRAM_NAME_MAX) length = PROGRAM_NAME_MAX - 1;
  while (length > 0 && length == PROGRAM_NAME_MAX - 1 && ((unsigned char)name[length] & 0xc0) == 0x80) length--;
  memcpy(text, name, length);
  text[length] = '\0';
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) text[i] = '?';
  core_unicode_mask(text);
}

size_t program_names_add(ProgramNames *names, const char *name, size_t length) {
  char text[PROGRAM_NAME_MAX];
  clean(name, length, text);
  if (names->count == names->capacity) grow(names);
  const size_t slot = find_slot(names, text);
  if (names->slots[slot]) return names->slots[slot] - 1;
  names->is_full = names->count >= PROGRAM_NAMES_MAX;
  if (names->is_full) return SIZE_MAX;
  names->items[names->count] = core_memory_allocate(strlen(text) + 1);
  memcpy(names->items[names->count], text, strlen(text) + 1);
  names->slots[slot] = ++names->count;
  return names->count - 1;
}

void program_names_free(ProgramNames *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
  free(names->slots);
  *names = (ProgramNames){0};
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

void program_record_clear(ProgramRecord *record) {
  record->count = 0;
  record->evaluation[0] = '\0';
}

void program_record_add(ProgramRecord *record, const char *name, size_t length, double value) {
  const size_t number = program_names_add(record->names, name, length);
  if (number == SIZE_MAX) return;
  if (record->count == record->capacity) {
    record->capacity = record->capacity ? 2 * record->capacity : 32;
    record->values = core_memory_resize(record->values, record->capacity * sizeof *record->values);
  }
  record->values[record->count++] = (ProgramValue){number, value};
}

double program_record_find(const ProgramRecord *record, const char *name) {
  double value = NAN;
  for (size_t i = 0; i < record->count; i++)
    if (strcmp(record->names->items[record->values[i].name], name) == 0) value = record->values[i].value;
  return value;
}

void program_record_free(ProgramRecord *record) {
  free(record->values);
  record->values = NULL;
  record->count = record->capacity = 0;
}
