/* Formats help texts both as `--help` on the terminal and as a page of man(1). */
#ifndef CORE_HELP_H
#define CORE_HELP_H
#include <stdbool.h>
#include <stdio.h>

/* Output of a help text. */
typedef struct CoreHelp {
  FILE *out;
  bool manual; /* whether to write troff (man(7)) instead of text of the terminal's width */
  bool is_begun; /* whether something was written */
  bool headed; /* whether a heading was written last */
} CoreHelp;

/* Writes a heading: "Options". */
void core_help_heading(CoreHelp *help, const char *title);
/* Writes a subheading: "[env]", "Environments: which worlds, how many". */
void core_help_part(CoreHelp *help, const char *title, const char *text);
/* Writes paragraphs, separated by empty lines. A line that begins with blanks is an example and is kept verbatim; text
 * between backquotes is literal input. */
void core_help_text(CoreHelp *help, const char *text);
/* Writes the usage, one form per line: "sweep logs RUN [options]". */
void core_help_usage(CoreHelp *help, const char *usage);
/* Writes a row of a list: a term such as "-r, --root DIR", and its description from column `indent` on. */
void core_help_row(CoreHelp *help, const char *term, const char *text, int indent);

#endif
