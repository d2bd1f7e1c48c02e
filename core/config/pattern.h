/* Regular expressions of experiment files. */
#ifndef CORE_PATTERN_H
#define CORE_PATTERN_H
#include <regex.h>

/* Bytes of a line that are searched: a search from each position of a longer one takes seconds. */
enum { CORE_PATTERN_LINE_MAX = 4096 };

/* Compiles a POSIX extended expression, which may be another person's: the C library copies what is repeated, and takes
 * gigabytes or its whole stack for a few bytes of text. So length, nesting and repetition have limits, and
 * back-references, whose search takes exponential time, are refused. CORE_USAGE: the message names the limit. Caller
 * frees with regfree. */
int core_pattern_compile(const char *text, regex_t *regex);

#endif
