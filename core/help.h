/* What a help says, piece by piece, so that one text becomes `--help` on the terminal and a page of man(1). Commands
 * hand their pieces over; how they look is decided here. */
#ifndef CORE_HELP_H
#define CORE_HELP_H
#include <stdbool.h>
#include <stdio.h>

/* Where the pieces go. */
typedef struct CoreHelp {
  FILE *out;
  bool manual; /* as troff (man(7)); else as text of the terminal's width */
  bool begun;  /* something was written */
  bool headed; /* a heading was written last */
} CoreHelp;

/* "Options": its lines follow. */
void core_help_heading(CoreHelp *help, const char *title);
/* A heading below that one: "[env]", "Environments: which worlds, how many". */
void core_help_part(CoreHelp *help, const char *title, const char *text);
/* Paragraphs, an empty line between them. A line that begins with blanks is an example and stays as it is; what stands
 * between two backquotes is something to type. */
void core_help_text(CoreHelp *help, const char *text);
/* "sweep logs RUN [options]", one way to call a command a line. */
void core_help_usage(CoreHelp *help, const char *usage);
/* One row of a list: what it is about, such as "-r, --root DIR", and beside it, from column `indent` on, what it
 * says. */
void core_help_row(CoreHelp *help, const char *term, const char *text, int indent);

#endif
