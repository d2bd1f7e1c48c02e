/* Writes help as terminal text or troff (help.h). Troff interprets lines that begin with '.' or ''' and every
 * backslash, so each word passes through append_escaped. */
#include "core/help.h"

#include <ctype.h>
#include <string.h>

#include "core/terminal.h"
#include "core/text.h"

enum { ROFF_COLUMNS = 76, NARROW = 30 /* minimum columns for the description next to a term */ };

/* ---- usage lines on a terminal --------------------------------------------------------------------------------- */

/* Finds the end of an unbreakable unit: "[--set KEY=VALUE]...", "-o FILE", "\"SELECT ...\"", or a word. */
static size_t unit_length(const char *text) {
  int depth = 0;
  bool quoted = false;
  size_t i = 0;
  for (; text[i] && (depth > 0 || quoted || text[i] != ' '); i++) {
    depth += (text[i] == '[') - (text[i] == ']');
    quoted ^= text[i] == '"';
  }
  const bool takes_value = text[0] == '-' && text[i] && !strchr("[-|", text[i + 1]);
  return takes_value ? i + 1 + unit_length(text + i + 1) : i;
}

/* Returns the columns of "sweep plan ", the indentation of continuation lines. */
static int command_columns(const char *usage) {
  size_t columns = 0;
  for (;;) {
    const size_t word = strspn(usage + columns, "abcdefghijklmnopqrstuvwxyz-");
    if (word > 0 && !usage[columns + word]) return (int)(columns + word);
    if (word == 0 || usage[columns] == '-' || usage[columns + word] != ' ') return (int)columns;
    columns += word + 1;
  }
}

static void print_usage_line(FILE *out, const char *usage, int width) {
  enum { MARGIN = 2 };
  int indent = MARGIN + command_columns(usage), column = MARGIN;
  if (indent > width / 2) indent = 3 * MARGIN;
  fprintf(out, "%*s", MARGIN, "");

  for (bool first = true; *usage; first = false) {
    size_t length = unit_length(usage);
    int columns = (int)length;
    if (!first && column + 1 + columns > width) { /* units wider than the terminal break at blanks */
      if (indent + columns > width && usage[strcspn(usage, " ")]) length = strcspn(usage, " ");
      if (column + 1 + (int)length > width) {
        fprintf(out, "\n%*s", indent, "");
        column = indent;
        first = true;
      }
      columns = (int)length;
    }

    fprintf(out, "%s%.*s", first ? "" : " ", columns, usage);
    column += columns + !first;
    usage += length + (usage[length] == ' ');
  }

  fputc('\n', out);
}

/* ---- troff ----------------------------------------------------------------------------------------------------- */

static unsigned next_code(const char **text) {
  const unsigned char *s = (const unsigned char *)*text;
  const int more = s[0] >= 0xf0   ? 3
                   : s[0] >= 0xe0 ? 2
                   : s[0] >= 0xc0 ? 1
                                  : 0;
  unsigned code = more ? s[0] & (0x3fu >> more) : s[0];
  for (int i = 1; i <= more && s[i]; i++) code = code << 6 | (s[i] & 0x3fu);
  *text += 1 + more;
  return code;
}

/* Appends a character in troff notation, so that it is printed literally and can be copied from the page. */
static void append_escaped(CoreText *out, unsigned code) {
  static const struct { char plain; const char *escaped; } table[] = {
    {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'"', "\\(dq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (code != (unsigned char)table[i].plain) continue;
    core_text_append(out, table[i].escaped);
    return;
  }
  if (code >= 0x80) {
    core_text_appendf(out, "\\[u%04X]", code);
  } else {
    const char byte = (char)code;
    core_text_append_bytes(out, &byte, 1);
  }
}

static void append_escaped_text(CoreText *out, const char *text) {
  while (*text) append_escaped(out, next_code(&text));
}

static bool is_placeholder(const char *word, size_t length) {
  if (length < 1 || !isupper((unsigned char)*word)) return false;
  for (size_t i = 0; i < length; i++)
    if (!isupper((unsigned char)word[i]) && word[i] != '_') return false;
  return true;
}

/* Appends a line with options and commands in bold and placeholders in italics. */
static void append_form(CoreText *out, const char *form, size_t command) {
  for (size_t position = 0; form[position];) {
    const char *word = form + position;
    const size_t letters = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");
    const size_t length = letters ? letters : 1;
    const bool bold = position < command ? letters > 0 : *word == '-' && letters > 1;
    const bool italic = is_placeholder(word, length);
    core_text_append(out, bold ? "\\fB" : italic ? "\\fI" : "");
    for (const char *c = word; c < word + length;) append_escaped(out, next_code(&c));
    core_text_append(out, bold || italic ? "\\fR" : "");
    position += length;
    while (((unsigned char)form[position] & 0xc0) == 0x80) position++; /* continuation bytes */
  }
}

/* Fills one paragraph into lines and protects words that troff would interpret. */
static void print_filled(CoreHelp *help, const char *text, size_t length) {
  CoreText word = {0};
  const char *end = text + length;
  size_t column = 0;
  bool typed = false;

  while (text < end) {
    core_text_clear(&word);
    while (text < end && *text != ' ') {
      if (*text == '`' && (typed || memchr(text + 1, '`', (size_t)(end - text - 1)))) {
        core_text_append(&word, typed ? "\\fR" : "\\fB");
        typed = !typed;
        text++;
      } else {
        append_escaped(&word, next_code(&text));
      }
    }

    while (text < end && *text == ' ') text++;
    const char *string = core_text_string(&word);
    const bool breaks = column && column + 1 + word.length > ROFF_COLUMNS;
    fprintf(help->out, "%s%s%s", breaks ? "\n" : column ? " " : "",
            (breaks || !column) && (*string == '.') ? "\\&" : "", string);
    column = breaks ? word.length : column + (column > 0) + word.length;
  }
  fputc('\n', help->out);
  core_text_free(&word);
}

static void print_example_line(CoreHelp *help, const char *line, size_t length) {
  CoreText text = {0};
  char copy[512];
  snprintf(copy, sizeof copy, "%.*s", (int)length, line);
  append_escaped_text(&text, copy);
  fprintf(help->out, "%s\n", core_text_string(&text));
  core_text_free(&text);
}

static void print_manual_text(CoreHelp *help, const char *text) {
  enum { NOTHING, PARAGRAPH, EXAMPLE } before = NOTHING;
  while (*text) {
    const size_t length = strcspn(text, "\n"), blanks = strspn(text, " ");
    const bool is_example = blanks > 0 && length > blanks;
    if (before == EXAMPLE && !is_example) fputs(".fi\n.RE\n", help->out);
    if (length > 0 && before == NOTHING && !help->headed) fputs(".PP\n", help->out);
    if (is_example && before != EXAMPLE) fputs(".RS 4\n.nf\n", help->out);
    if (!is_example && length > 0 && before == PARAGRAPH) fputs(".br\n", help->out);
    if (is_example) print_example_line(help, text + blanks, length - blanks);
    else if (length > 0) print_filled(help, text, length);

    before = is_example   ? EXAMPLE
             : length > 0 ? PARAGRAPH
                          : NOTHING;
    if (length > 0) help->headed = false;
    text += length + (text[length] == '\n');
  }

  if (before == EXAMPLE) fputs(".fi\n.RE\n", help->out);
}

/* ---- interface ------------------------------------------------------------------------------------------------- */

void core_help_heading(CoreHelp *help, const char *title) {
  if (help->manual) {
    fputs(".SH \"", help->out);
    for (const char *c = title; *c; c++) fputc(toupper((unsigned char)*c), help->out);
    fputs("\"\n", help->out);
  } else {
    fprintf(help->out, "%s%s:\n", help->is_begun ? "\n" : "", title);
  }
  help->is_begun = help->headed = true;
}

void core_help_part(CoreHelp *help, const char *title, const char *text) {
  CoreText line = {0};
  if (help->manual) {
    append_escaped_text(&line, title);
    fprintf(help->out, ".SS \"%s\"\n", core_text_string(&line));
    help->headed = true;
    core_help_text(help, text);
  } else {
    core_text_appendf(&line, "%s%s%s %s", core_terminal_color(help->out, CORE_BOLD), title,
                      core_terminal_reset(help->out), text);
    if (!help->headed) fputc('\n', help->out);
    core_terminal_print_wrapped(help->out, core_text_string(&line), 0, 0);
    help->headed = false;
  }
  core_text_free(&line);
}

void core_help_text(CoreHelp *help, const char *text) {
  if (!*text) return;
  if (help->manual) {
    print_manual_text(help, text);
  } else {
    if (help->is_begun && !help->headed) fputc('\n', help->out);
    core_terminal_print_wrapped(help->out, text, 0, 0);
  }
  help->is_begun = true;
  help->headed = false;
}

void core_help_usage(CoreHelp *help, const char *usage) {
  const int width = core_terminal_text_width(help->out);
  CoreText line = {0}, form = {0};

  while (*usage) {
    usage += strspn(usage, " \n");
    core_text_clear(&line);
    core_text_append_bytes(&line, usage, strcspn(usage, "\n"));
    usage += line.length;
    if (!help->manual) {
      print_usage_line(help->out, core_text_string(&line), width);
    } else {
      core_text_clear(&form);
      append_form(&form, core_text_string(&line), (size_t)command_columns(core_text_string(&line)));
      fprintf(help->out, "%s%s\n", help->headed ? "" : ".PP\n", core_text_string(&form));
    }
    help->headed = false;
  }

  core_text_free(&line);
  core_text_free(&form);
}

void core_help_row(CoreHelp *help, const char *term, const char *text, int indent) {
  if (help->manual) {
    CoreText form = {0};
    append_form(&form, term + strspn(term, " "), islower((unsigned char)*term) ? strcspn(term, " ") : 0);
    fprintf(help->out, ".TP\n%s\n", core_text_string(&form));
    print_filled(help, text, strlen(text));
    core_text_free(&form);
  } else {
    const bool narrow = core_terminal_text_width(help->out) - indent < NARROW;
    const int column = fprintf(help->out, "  %s", term);
    core_terminal_print_wrapped(help->out, text, narrow ? 8 : indent, narrow ? 8 : column);
  }
  help->headed = false;
}
