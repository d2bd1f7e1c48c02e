/* Keeps rows sorted and numbered (rows.h). A row that is inserted between two rows of adjacent numbers renumbers those
 * after it, with gaps that grow each time, so that n insertions cost O(n log n) numbers. */
#include "sweep/program/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { FIRST_GAP = 64, LAST_GAP = 4096 };
static const int64_t number_max = UINT32_MAX; /* limit of run logs */

/* ---- order ------------------------------------------------------------------------------------------------------- */

size_t program_rows_lower(const ProgramRows *rows, double step) {
  size_t low = 0, high = rows->count;
  if (high > 0 && rows->items[high - 1]->step < step) return high; /* most records are later than all */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (rows->items[middle]->step < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

size_t program_rows_upper(const ProgramRows *rows, double step) {
  return program_rows_lower(rows, nextafter(step, INFINITY));
}

static int compare_rows(const void *a, const void *b) {
  const ProgramRow *x = *(ProgramRow *const *)a, *y = *(ProgramRow *const *)b;
  if (x->step != y->step) return x->step < y->step ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

void program_rows_sort(ProgramRows *rows) {
  if (rows->count > 1) qsort(rows->items, rows->count, sizeof *rows->items, compare_rows);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Gives the rows from `first` on greater numbers, at least `least`, with gaps if they fit. */
static void renumber(ProgramRows *rows, size_t first, int64_t least) {
  const int64_t count = (int64_t)(rows->count - first);
  rows->gap = rows->gap == 0 ? FIRST_GAP : rows->gap < LAST_GAP ? 8 * rows->gap : LAST_GAP;
  if (least + count * rows->gap > number_max) rows->gap = 1;

  for (size_t i = first; i < rows->count; i++) {
    ProgramRow *row = rows->items[i];
    rows->on_renumbered(rows->context, row);
    row->number = least + (int64_t)(i - first) * rows->gap;
    for (uint32_t c = 0; c < row->count; c++) row->cells[c].is_new = true;
    row->is_score_new = row->has_score;
    program_row_mark(rows, row);
  }
}

static void append(ProgramRow ***items, size_t *count, size_t *capacity, ProgramRow *row) {
  if (*count == *capacity) {
    *capacity = *capacity ? 2 * *capacity : 256;
    *items = core_memory_resize(*items, *capacity * sizeof **items);
  }
  (*items)[(*count)++] = row;
}

ProgramRow *program_rows_add(ProgramRows *rows, size_t index, double step, int64_t number) {
  ProgramRow *row = core_memory_zero_allocate(1, sizeof *row);
  *row = (ProgramRow){.step = step, .number = number, .speed = NAN};
  append(&rows->items, &rows->count, &rows->capacity, row);
  memmove(rows->items + index + 1, rows->items + index, (rows->count - 1 - index) * sizeof *rows->items);
  rows->items[index] = row;
  return row;
}

ProgramRow *program_rows_insert(ProgramRows *rows, size_t index, double step) {
  const int64_t number = index > 0 ? rows->items[index - 1]->number + 1 : 1;
  if (index < rows->count && rows->items[index]->number <= number) renumber(rows, index, number + FIRST_GAP);

  ProgramRow *row = program_rows_add(rows, index, step, number);
  program_row_mark(rows, row);
  return row;
}

void program_rows_take_empty(ProgramRows *rows, size_t first, size_t end) {
  size_t kept = first;
  for (size_t i = first; i < end; i++) {
    ProgramRow *row = rows->items[i];
    if (row->count > 0) {
      rows->items[kept++] = row;
      continue;
    }
    row->is_removed = true;
    program_row_mark(rows, row);
  }
  memmove(rows->items + kept, rows->items + end, (rows->count - end) * sizeof *rows->items);
  rows->count -= end - kept;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

void program_row_mark(ProgramRows *rows, ProgramRow *row) {
  row->is_score_only = false;
  if (row->is_dirty) return;
  row->is_dirty = true;
  append(&rows->dirty, &rows->dirty_count, &rows->dirty_capacity, row);
}

/* Returns the index of the first cell whose key is not smaller. */
static uint32_t find_cell(const ProgramRow *row, uint32_t key) {
  uint32_t low = 0, high = row->count;
  if (high > 0 && row->cells[high - 1].key < key) return high;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (row->cells[middle].key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

ProgramCell *program_row_find(const ProgramRow *row, uint32_t key) {
  const uint32_t i = find_cell(row, key);
  return i < row->count && row->cells[i].key == key ? &row->cells[i] : NULL;
}

void program_row_set(ProgramRow *row, uint32_t key, int attempt, double value) {
  const uint32_t i = find_cell(row, key);
  if (i == row->count || row->cells[i].key != key) {
    if (row->count == row->capacity) {
      row->capacity = row->capacity ? 2 * row->capacity : 4;
      row->cells = core_memory_resize(row->cells, row->capacity * sizeof *row->cells);
    }
    memmove(row->cells + i + 1, row->cells + i, (row->count - i) * sizeof *row->cells);
    row->count++;
  }
  row->cells[i] = (ProgramCell){.key = key, .is_new = true, .attempt = attempt, .value = value};
}

void program_row_remove(ProgramRow *row, uint32_t key) {
  const uint32_t i = find_cell(row, key);
  if (i == row->count || row->cells[i].key != key) return;
  row->count--;
  memmove(row->cells + i, row->cells + i + 1, (row->count - i) * sizeof *row->cells);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void free_row(ProgramRow *row) {
  free(row->cells);
  free(row);
}

void program_rows_clean(ProgramRows *rows) {
  for (size_t i = 0; i < rows->dirty_count; i++) {
    rows->dirty[i]->is_dirty = false;
    if (rows->dirty[i]->is_removed) free_row(rows->dirty[i]);
  }
  rows->dirty_count = 0;
}

void program_rows_free(ProgramRows *rows) {
  program_rows_clean(rows);
  for (size_t i = 0; i < rows->count; i++) free_row(rows->items[i]);
  free(rows->items);
  free(rows->dirty);
  *rows = (ProgramRows){0};
}
