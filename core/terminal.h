/* Terminal output: tables, progress, colors. Redraws on terminals only, writes plain lines to pipes, obeys NO_COLOR. */
#ifndef CORE_TERMINAL_H
#define CORE_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

typedef enum CoreColor { CORE_PLAIN, CORE_BOLD, CORE_DIM, CORE_RED, CORE_GREEN, CORE_YELLOW, CORE_BLUE } CoreColor;

bool core_terminal_is_tty(FILE *stream);
bool core_terminal_has_color(FILE *stream);          /* terminal without NO_COLOR and TERM=dumb */
int core_terminal_width(FILE *stream);               /* columns; 100 if unknown */
int core_terminal_height(FILE *stream);              /* rows; 0 if unknown */
/* Returns the width of running text, 20 to 100 columns: that of the stream's terminal, or for a pipe (`| less`)
 * $COLUMNS, the width of stderr's or stdin's terminal, or 80. */
int core_terminal_text_width(FILE *stream);
const char *core_terminal_color(FILE *stream, CoreColor color); /* escape or "" */
const char *core_terminal_reset(FILE *stream);

/* Returns the columns of a line, in characters without color escapes. */
int core_terminal_columns(const char *text);
/* Prints text and a newline, wrapped at the text width and indented to column `indent` (0-based). `column` is the
 * cursor's column; if it is at or past `indent`, the text begins on a new line. A line that begins with blanks keeps
 * them and is continued two columns further in. */
void core_terminal_print_wrapped(FILE *stream, const char *text, int indent, int column);

/* Table, filled row by row. Numbers and their headers are right-aligned. On a terminal that is too narrow, headers and
 * cells wrap between words, and as a last resort each row becomes a block of lines; never on a pipe. Widths count
 * characters. */
typedef struct CoreTable CoreTable;
CoreTable *core_table_create(const char *const *headers, size_t columns);
void core_table_cell(CoreTable *table, const char *format, ...) CORE_PRINTF(2, 3);
void core_table_cell_color(CoreTable *table, CoreColor color, const char *format, ...) CORE_PRINTF(3, 4);
void core_table_print(const CoreTable *table, FILE *stream);
void core_table_destroy(CoreTable **table);

/* Formats "[#######----] 63 %" of `width` columns into buffer (>= width*3 + 16 bytes); clamps fraction to 0..1. */
const char *core_terminal_bar(double fraction, int width, char *buffer);

/* Block of lines redrawn in place on a terminal; on a pipe it is printed only if `final` or at least `plain_every_s`
 * seconds after the last print. Zero-initialize; a NULL stream means stderr. */
typedef struct CoreLive { FILE *stream; int lines; double printed_at_s, plain_every_s; } CoreLive;
void core_live_draw(CoreLive *live, const char *text, bool final);

double core_clock_s(void);    /* monotonic seconds */
double core_clock_unix_s(void);

#endif
