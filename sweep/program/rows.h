/* Rows of a program's run in memory, in the order of their steps. A row has a number (`iteration` in the database) and
 * a cell per metric. Numbers increase with the steps; they are consecutive unless rows are inserted. */
#ifndef SWEEP_PROGRAM_ROWS_H
#define SWEEP_PROGRAM_ROWS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of a metric, from an attempt. */
typedef struct ProgramCell {
  uint32_t key;                 /* the metric */
  bool is_new;                  /* not written yet */
  int attempt;
  double value;
} ProgramCell;

typedef struct ProgramRow {
  double step;
  int64_t number;
  ProgramCell *cells;           /* [count] by key */
  uint32_t count, capacity;
  bool is_dirty;                /* to be written */
  bool is_score_only;           /* no more than its score has changed */
  bool is_removed;
  bool has_score, is_score_new;
  double score, score_values;   /* mean of the goal, and the number of its values */
  double speed;                 /* steps per second; NaN: unknown */
} ProgramRow;

typedef struct ProgramRows {
  ProgramRow **items;           /* [count] */
  size_t count, capacity;
  ProgramRow **dirty;           /* [dirty_count] */
  size_t dirty_count, dirty_capacity;
  int64_t gap;                  /* distance of the numbers that rows get when they are renumbered */
  void (*on_renumbered)(void *context, const ProgramRow *row); /* called before a row gets another number */
  void *context;
} ProgramRows;

/* Return the index of the first row with a step of at least, or above, `step`. */
size_t program_rows_lower(const ProgramRows *rows, double step);
size_t program_rows_upper(const ProgramRows *rows, double step);

/* Inserts a row before the row at `index`, whose step is not smaller. */
ProgramRow *program_rows_insert(ProgramRows *rows, size_t index, double step);
/* Inserts a row with a number as it was read from a log; rows must be sorted before use. */
ProgramRow *program_rows_add(ProgramRows *rows, size_t index, double step, int64_t number);
void program_rows_sort(ProgramRows *rows);
/* Takes the empty rows among [first, end) out. They live until program_rows_clean. */
void program_rows_take_empty(ProgramRows *rows, size_t first, size_t end);

void program_row_mark(ProgramRows *rows, ProgramRow *row); /* marks it as dirty */
/* Returns the cell of a metric; NULL: none. */
ProgramCell *program_row_find(const ProgramRow *row, uint32_t key);
/* Sets a cell. */
void program_row_set(ProgramRow *row, uint32_t key, int attempt, double value);
void program_row_remove(ProgramRow *row, uint32_t key);

/* Forgets which rows were dirty, and frees those that were taken out. */
void program_rows_clean(ProgramRows *rows);
void program_rows_free(ProgramRows *rows);

#endif
