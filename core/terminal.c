/* Terminal output (terminal.h). Escapes are written to terminals only, so that files and pipes get plain text. */
#include "core/terminal.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/text.h"
#include "core/unicode.h"

/* ---- the terminal --------------------------------------------------------------------------------------------- */

bool core_terminal_is_tty(FILE *stream) { return isatty(fileno(stream)) == 1; }

bool core_terminal_has_color(FILE *stream) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0) return false;
  return core_terminal_is_tty(stream);
}

/* Returns the terminal's width; 0: not a terminal. */
static int own_width(FILE *stream) {
  struct winsize size;
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Returns $COLUMNS; 0: not a valid width. */
static int given_width(void) {
  const char *columns = getenv("COLUMNS");
  int64_t value;
  return columns && core_text_to_int(columns, &value) && value >= 20 && value <= 1000 ? (int)value : 0;
}

int core_terminal_width(FILE *stream) {
  const int stream_width = own_width(stream), width = stream_width > 0 ? stream_width : given_width();
  return width > 0 ? width : 100;
}

int core_terminal_text_width(FILE *stream) {
  enum { LEAST = 20, USUAL = 80, MOST = 100 };
  FILE *const others[] = {stderr, stdin};
  int width = own_width(stream);
  if (width == 0) width = given_width();
  for (size_t i = 0; i < sizeof others / sizeof *others && width == 0; i++) width = own_width(others[i]);
  if (width == 0) width = USUAL;
  return width < LEAST ? LEAST : width > MOST ? MOST : width;
}

int core_terminal_height(FILE *stream) {
  struct winsize size;
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_row > 1) return size.ws_row;
  const char *lines = getenv("LINES");
  int64_t value;
  return lines && core_text_to_int(lines, &value) && value >= 5 && value <= 1000 ? (int)value : 0;
}

const char *core_terminal_color(FILE *stream, CoreColor color) {
  static const char *const escapes[] = {"", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[34m"};
  return core_terminal_has_color(stream) ? escapes[color] : "";
}

const char *core_terminal_reset(FILE *stream) { return core_terminal_has_color(stream) ? "\033[0m" : ""; }

/* ---- text in columns ------------------------------------------------------------------------------------------ */

/* Returns the bytes of an escape "ESC [ ... letter" at `s`, which takes no column; 0: none. */
static size_t escape_length(const char *s) {
  if (s[0] != '\033' || s[1] != '[') return 0;
  size_t length = 2;
  while (s[length] && !isalpha((unsigned char)s[length])) length++;
  return s[length] ? length + 1 : length;
}

static bool continues_character(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

/* Returns the bytes of the longest prefix of a line that fits `columns`; sets *used to its columns. */
static size_t bytes_for_columns(const char *line, size_t length, int columns, int *used) {
  size_t position = 0;
  *used = 0;
  while (position < length) {
    size_t escape = escape_length(line + position);
    if (escape) {
      position += escape;
      continue;
    }
    if (*used == columns) break;
    ++*used;
    do position++;
    while (position < length && continues_character(line[position]));
  }
  return position;
}

static int columns_of(const char *text, size_t length) {
  int used;
  bytes_for_columns(text, length, INT_MAX, &used);
  return used;
}

int core_terminal_columns(const char *text) { return columns_of(text, strlen(text)); }

void core_terminal_print_wrapped(FILE *stream, const char *text, int indent, int column) {
  int width = core_terminal_text_width(stream), further_in = indent;

  if (width < indent + 24) width = indent + 24;
  if (column >= indent && indent > 0) {
    fputc('\n', stream);
    column = 0;
  }
  fprintf(stream, "%*s", indent - column, "");
  column = indent;
  bool line_start = true, fresh = true;

  for (;;) {
    if (fresh) {
      const int blanks = (int)strspn(text, " ");
      further_in = indent + blanks + (blanks > 0 ? 2 : 0);
      fprintf(stream, "%*s", blanks, "");
      column += blanks;
      text += blanks;
      fresh = false;
    }

    size_t length = strcspn(text, " \n");
    int columns = columns_of(text, length);
    if (!line_start && column + 1 + columns > width) {
      fprintf(stream, "\n%*s", further_in, "");
      column = further_in;
      line_start = true;
    }
    fprintf(stream, "%s%.*s", line_start ? "" : " ", (int)length, text);
    column += columns + !line_start;
    line_start = false;
    text += length;

    if (!*text || !text[1]) break;
    if (*text++ == '\n') {
      fprintf(stream, "\n%*s", *text == '\n' ? 0 : indent, "");
      column = indent;
      line_start = fresh = true;
    }
  }
  fputc('\n', stream);
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

typedef struct Cell {
  char *text;
  CoreColor color;
} Cell;

struct CoreTable {
  size_t columns;
  Cell *cells; /* headers, then row by row */
  size_t count, capacity;
};

enum { GAP = 2 };

static void add_cell(CoreTable *table, CoreColor color, char *text) {
  if (table->count == table->capacity) {
    table->capacity = table->capacity ? 2 * table->capacity : 64;
    table->cells = core_memory_resize(table->cells, table->capacity * sizeof *table->cells);
  }
  core_unicode_mask_line(text); /* color is separate */
  table->cells[table->count++] = (Cell){text, color};
}

CoreTable *core_table_create(const char *const *headers, size_t columns) {
  CoreTable *table = core_memory_zero_allocate(1, sizeof *table);
  table->columns = columns;
  for (size_t i = 0; i < columns; i++) add_cell(table, CORE_BOLD, core_text_duplicate(headers[i]));
  return table;
}

static void add_formatted(CoreTable *table, CoreColor color, const char *format, va_list arguments) {
  char *text = NULL;
  CORE_CHECK(vasprintf(&text, format, arguments) >= 0);
  add_cell(table, color, text);
}

void core_table_cell(CoreTable *table, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_formatted(table, CORE_PLAIN, format, arguments);
  va_end(arguments);
}

void core_table_cell_color(CoreTable *table, CoreColor color, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_formatted(table, color, format, arguments);
  va_end(arguments);
}

/* Whether a text is a number: "12", "-0.5", "1e8", "1.23 M", "63 %", "3/5", "inf", but not a date or a hash. */
static bool looks_like_number(const char *text) {
  const char *s = text + (*text == '-' || *text == '+');
  if (strncmp(s, "inf", 3) == 0 || strncmp(s, "nan", 3) == 0) return s[3] == '\0';
  if (!isdigit((unsigned char)*s) && *s != '.') return false;
  s += strspn(s, "0123456789.");
  if (*s == 'e' && (isdigit((unsigned char)s[1]) || s[1] == '-' || s[1] == '+')) s += 2 + strspn(s + 2, "0123456789");
  return !*s || strchr(" %/", *s);
}

/* Whether a column holds numbers; empty cells, "-", "–" and "none" do not matter. */
static bool is_numeric(const CoreTable *table, size_t column) {
  bool any = false;
  for (size_t i = table->columns + column; i < table->count; i += table->columns) {
    const char *text = table->cells[i].text;
    if (!*text || strcmp(text, "-") == 0 || strcmp(text, "–") == 0 || strcmp(text, "none") == 0) continue;
    if (!looks_like_number(text)) return false;
    any = true;
  }
  return any;
}

/* ---- tables: fit to the terminal -------------------------------------------------------------------------------- */

/* Whether a cell may break at this space: between words, never within "[95 % t]", and in a number ("1.23 M") only
 * before its interval. `depth`: number of open brackets. */
static bool may_break(const char *space, int depth, bool number) {
  return *space == ' ' && depth == 0 && (!number || space[1] == '[');
}

/* Returns the bytes of the cell's next line in a column of `width` characters; breaks words that are longer. */
static size_t piece_length(const char *text, int width, bool number) {
  size_t best = 0, end = strlen(text);
  int used, depth = 0;
  const size_t fits = bytes_for_columns(text, end, width, &used);
  if (fits == end) return end;
  for (size_t i = 0; i <= fits; i++) {
    if (i > 0 && may_break(text + i, depth, number)) best = i;
    depth += (text[i] == '[') - (text[i] == ']');
  }
  for (size_t i = fits; best == 0 && i > fits / 2; i--) /* "evaluation." before "solve_rate" */
    if (strchr("._/+,:", text[i - 1])) best = i;
  return best ? best : fits > 0 ? fits : 1;
}

/* Returns the longest unbreakable part of a cell. */
static int longest_part(const char *text, bool number) {
  int longest = 0;
  for (const char *begin = text; *begin;) {
    size_t length = 0;
    for (int depth = 0; begin[length] && (length == 0 || !may_break(begin + length, depth, number)); length++)
      depth += (begin[length] == '[') - (begin[length] == ']');
    const int columns = columns_of(begin, length);
    if (columns > longest) longest = columns;
    begin += length;
    while (*begin == ' ') begin++;
  }
  return longest;
}

typedef struct Column {
  int width;
  int body, part, head;  /* widest cell, longest unbreakable part, longest word of the header */
  bool numeric;
} Column;

static Column measure_column(const CoreTable *table, size_t c) {
  Column column = {.numeric = is_numeric(table, c), .head = longest_part(table->cells[c].text, false)};
  for (size_t i = c + table->columns; i < table->count; i += table->columns) {
    const int columns = core_terminal_columns(table->cells[i].text);
    const int longest = longest_part(table->cells[i].text, column.numeric);
    if (columns > column.body) column.body = columns;
    if (longest > column.part) column.part = longest;
  }
  const int header = core_terminal_columns(table->cells[c].text);
  column.width = header > column.body ? header : column.body;
  return column;
}

/* Levels of narrowing, least harmful first: wrap headers, texts, intervals below their numbers, reduce gaps, break
 * words. */
enum { WRAP_HEADERS, WRAP_TEXTS, WRAP_NUMBERS, WRAP_GAPS, WRAP_WORDS, WRAP_STEPS, WORD_MIN = 12 };

static int least_width(const Column *column, int step) {
  const int head = column->head, whole = head > column->body ? head : column->body;
  const int parts = head > column->part ? head : column->part;
  if (step == WRAP_HEADERS || (column->numeric && step == WRAP_TEXTS)) return whole;
  if (step < WRAP_WORDS || column->numeric || column->part <= WORD_MIN) return parts;
  return head > WORD_MIN ? head : WORD_MIN;
}

/* Returns the gap between columns; 0: the columns do not fit. */
static int measure(const CoreTable *table, FILE *stream, Column *columns) {
  int excess = GAP * ((int)table->columns - 1) - core_terminal_width(stream), gap = GAP;
  for (size_t c = 0; c < table->columns; c++) excess += (columns[c] = measure_column(table, c)).width;
  if (!core_terminal_is_tty(stream)) return gap;

  for (int step = 0; step < WRAP_STEPS && excess > 0; step++) {
    if (step == WRAP_GAPS) {
      gap--;
      excess -= (int)table->columns - 1;
    }
    for (; excess > 0; excess--) {
      Column *widest = NULL;
      for (size_t c = 0; c < table->columns; c++) {
        Column *column = &columns[c];
        if (column->width > least_width(column, step) && (!widest || column->width > widest->width)) widest = column;
      }
      if (!widest) break;
      widest->width--;
    }
  }

  return excess > 0 ? 0 : gap;
}

/* Prints a row as a block of lines "header  value" below its first cell. */
static void print_record(const CoreTable *table, size_t row, FILE *stream) {
  const Cell *cells = &table->cells[row * table->columns];
  int widest = 0;
  for (size_t c = 1; c < table->columns; c++) {
    const int columns = core_terminal_columns(table->cells[c].text);
    if (columns > widest) widest = columns;
  }
  core_terminal_print_wrapped(stream, cells[0].text, 0, 0);
  for (size_t c = 1; c < table->columns; c++) {
    const char *header = table->cells[c].text;
    if (!*cells[c].text) continue;
    fprintf(stream, "%*s%s%*s", GAP, "", header, widest - core_terminal_columns(header), "");
    core_terminal_print_wrapped(stream, cells[c].text, 2 * GAP + widest, GAP + widest);
  }
}

/* Prints one line of a cell and the gap after it, and advances `tail` to the next line. */
static void print_piece(const char **tail, const Cell *cell, const Column *column, bool header, int gap,
                        FILE *stream) {
  const CoreColor color = cell->color;
  const size_t length = piece_length(*tail, column->width, column->numeric && !header);
  const int padding = column->width - columns_of(*tail, length);
  const bool colored = color != CORE_PLAIN && length > 0;
  if (column->numeric) fprintf(stream, "%*s", padding, "");
  fprintf(stream, "%s%.*s%s", colored ? core_terminal_color(stream, color) : "", (int)length, *tail,
          colored ? core_terminal_reset(stream) : "");
  if (gap) fprintf(stream, "%*s", (column->numeric ? 0 : padding) + gap, "");
  *tail += length;
  while (**tail == ' ') ++*tail;
}

/* Prints a row, which takes as many lines as its longest cell. */
static void print_row(const CoreTable *table, size_t row, const Column *columns, int gap, const char **tails,
                      FILE *stream) {
  const Cell *cells = &table->cells[row * table->columns];
  size_t used = table->columns;
  for (size_t c = 0; c < table->columns; c++) tails[c] = cells[c].text;
  do {
    for (size_t c = 0; c < used; c++)
      print_piece(&tails[c], &cells[c], &columns[c], row == 0, c + 1 < used ? gap : 0, stream);
    fputc('\n', stream);
    for (used = table->columns; used > 0 && !*tails[used - 1];) used--;
  } while (used > 0);
}

void core_table_print(const CoreTable *table, FILE *stream) {
  CORE_CHECK(table->count % table->columns == 0);
  Column *columns = core_memory_zero_allocate(table->columns, sizeof *columns);
  const char **tails = core_memory_zero_allocate(table->columns, sizeof *tails);
  const int gap = measure(table, stream, columns);
  for (size_t row = !gap; row < table->count / table->columns; row++) {
    if (gap) print_row(table, row, columns, gap, tails, stream);
    else print_record(table, row, stream);
  }
  free(columns);
  free(tails);
}

void core_table_destroy(CoreTable **table) {
  if (!*table) return;
  for (size_t i = 0; i < (*table)->count; i++) free((*table)->cells[i].text);
  free((*table)->cells);
  free(*table);
  *table = NULL;
}

/* ---- progress ------------------------------------------------------------------------------------------------- */

const char *core_terminal_bar(double fraction, int width, char *buffer) {
  enum { PERCENT = 6 /* " 100 %" */ };
  fraction = fraction > 0 ? fraction : 0; /* NaN too */
  if (fraction > 1) fraction = 1;
  int inner = width - 2 - PERCENT;
  if (inner < 1) inner = 1;
  int full = (int)(fraction * inner);
  char *out = buffer;
  *out++ = '[';
  for (int i = 0; i < inner; i++) *out++ = i < full ? '#' : '-';
  *out++ = ']';
  /* Round down, so that 100 % means complete. */
  snprintf(out, PERCENT + 1, " %d %%", (int)(fraction * 100 + 1e-9));
  return buffer;
}

/* Truncate lines to the screen, since wrapped or scrolled lines cannot be redrawn. */
static void redraw(CoreLive *live, FILE *stream, const char *text) {
  int width = core_terminal_width(stream) - 1, height = core_terminal_height(stream), lines = 0;
  height = (height ? height : 24) - 1;
  if (live->lines > 0) fprintf(stream, "\033[%dA\r\033[J", live->lines);
  while (*text && lines < height) {
    size_t length = strcspn(text, "\n");
    int used;
    fprintf(stream, "%.*s%s\n", (int)bytes_for_columns(text, length, width, &used), text, core_terminal_reset(stream));
    lines++;
    text += length + (text[length] == '\n');
  }
  live->lines = lines;
}

void core_live_draw(CoreLive *live, const char *text, bool final) {
  FILE *stream = live->stream ? live->stream : stderr;
  double now = core_clock_s();
  if (core_terminal_is_tty(stream)) {
    redraw(live, stream, text);
  } else {
    if (!final && live->printed_at_s > 0 && now - live->printed_at_s < live->plain_every_s) return;
    size_t length = strlen(text);
    fprintf(stream, "%s%s", text, length && text[length - 1] != '\n' ? "\n" : "");
  }
  fflush(stream);
  live->printed_at_s = now;
  if (final) live->lines = 0; /* later output starts below */
}

static double clock_s(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double core_clock_s(void) { return clock_s(CLOCK_MONOTONIC); }

double core_clock_unix_s(void) { return clock_s(CLOCK_REALTIME); }
