/* Terminal output: tables, progress, colours. Redraws only on a terminal; plain lines on a pipe; NO_COLOR is obeyed. */
#ifndef CORE_TERMINAL_H
#define CORE_TERMINAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

typedef enum CoreColor { CORE_PLAIN, CORE_BOLD, CORE_DIM, CORE_RED, CORE_GREEN, CORE_YELLOW, CORE_BLUE } CoreColor;

bool core_terminal_is_tty(FILE *stream);
bool core_terminal_has_color(FILE *stream);          /* a terminal, no NO_COLOR, TERM not dumb */
int core_terminal_width(FILE *stream);               /* columns; 100 when unknown */
int core_terminal_height(FILE *stream);              /* rows; 0 when unknown */
/* Columns for running text: as many as the stream's terminal has. A stream that is none is read on one all the same
 * (`| less`): $COLUMNS, else what stderr's or stdin's terminal has, else 80. 20 to 100: longer lines read badly. */
int core_terminal_text_width(FILE *stream);
const char *core_terminal_color(FILE *stream, CoreColor color); /* escape or "" */
const char *core_terminal_reset(FILE *stream);

/* Columns that a line takes: characters, not bytes; colour escapes take none. */
int core_terminal_columns(const char *text);
/* Prints text and a newline, its lines wrapped at the width of text and starting at column `indent` (0-based).
 * `column`: where the cursor stands now; the text begins on a new line when that is at or past `indent`. A line that
 * begins with blanks keeps them, and goes on two columns further in. */
void core_terminal_print_wrapped(FILE *stream, const char *text, int indent, int column);

/* A table: fill cells row by row; numbers (and headers over them) align right; columns are as wide as needed. Where the
 * terminal is too narrow, headers and cells go on under themselves, between words; where even that has no room, each
 * row becomes a block of lines. Never on a pipe. UTF-8 is counted right. */
typedef struct CoreTable CoreTable;
CoreTable *core_table_create(const char *const *headers, size_t columns);
void core_table_cell(CoreTable *table, const char *format, ...) CORE_PRINTF(2, 3);
void core_table_cell_color(CoreTable *table, CoreColor color, const char *format, ...) CORE_PRINTF(3, 4);
void core_table_print(const CoreTable *table, FILE *stream);
void core_table_destroy(CoreTable **table);

/* "[#######----] 63 %" of `width` columns into buffer (>= width*3 + 16 bytes); fraction is clamped to 0..1. */
const char *core_terminal_bar(double fraction, int width, char *buffer);

/* A block of lines that is redrawn in place on a terminal; on a pipe, printed only when `final` or when at least
 * `plain_every_s` seconds have passed since the last print. Zero-initialise; a NULL stream means stderr. */
typedef struct CoreLive { FILE *stream; int lines; double printed_at_s, plain_every_s; } CoreLive;
void core_live_draw(CoreLive *live, const char *text, bool final);

double core_clock_s(void);    /* monotonic seconds */
double core_clock_unix_s(void);

#endif
