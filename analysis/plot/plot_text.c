/* Fits text to a width (plot_internal.h): truncates such that different texts remain different, and breaks lines. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plot/plot_internal.h"
#include "core/memory.h"

/* Returns the length of the longest prefix that fits. */
static size_t fitting_length(const char *text, double font_px, double room) {
  size_t length = 0;
  for (double width = 0, next; text[length];) {
    const size_t more = plot_font_character(text + length, font_px, false, &next);
    if ((width += next) > room) break;
    length += more;
  }
  return length;
}

static char *cut_with(const char *before, const char *text, const char *after, double font_px, double room) {
  CoreText cut = {0};
  const double left = room - plot_layout_text_width(before, font_px);
  const bool whole = plot_layout_text_width(text, font_px) + plot_layout_text_width(after, font_px) <= left;
  core_text_append(&cut, before);
  if (whole) core_text_append(&cut, text);
  else {
    const double dots = plot_layout_text_width("…", font_px) + plot_layout_text_width(after, font_px);
    core_text_append_bytes(&cut, text, fitting_length(text, font_px, left - dots));
    core_text_append(&cut, "…");
  }
  core_text_append(&cut, after);
  return cut.data ? cut.data : core_text_duplicate("");
}

char *plot_layout_cut(const char *text, double font_px, double room) { return cut_with("", text, "", font_px, room); }

/* Returns the length of the common beginning of two texts, up to the end of a setting ("eps 0.1, "). */
static size_t common_length(const char *a, const char *b) {
  size_t length = 0, settings = 0;
  for (; a[length] && a[length] == b[length]; length++)
    if (length > 0 && a[length - 1] == ',' && a[length] == ' ') settings = length + 1;
  return settings;
}

typedef struct Texts { const char *const *text; size_t count; double font_px, room; } Texts;

/* Whether another, different text has the same truncation as text `of`. */
static bool is_taken(const Texts *t, char *const *cut, size_t of) {
  for (size_t i = 0; i < t->count; i++)
    if (i != of && cut[i] && strcmp(cut[i], cut[of]) == 0 && strcmp(t->text[i], t->text[of]) != 0) return true;
  return false;
}

/* Removes the common beginning of all texts with the same truncation as `of`. */
static char *cut_front(const Texts *t, char *const *cut, size_t of) {
  size_t common = strlen(t->text[of]);
  for (size_t i = 0; i < t->count; i++) {
    if (i == of || strcmp(cut[i], cut[of]) != 0 || strcmp(t->text[i], t->text[of]) == 0) continue;
    const size_t with = common_length(t->text[of], t->text[i]);
    if (with < common) common = with;
  }
  return cut_with(common ? "…" : "", t->text[of] + common, "", t->font_px, t->room);
}

char **plot_layout_cut_apart(const char *const *text, size_t count, double font_px, double room) {
  const Texts t = {text, count, font_px, room};
  char **cut = core_memory_zero_allocate(count + 1, sizeof *cut), **other = NULL;

  /* Texts that are equal now lose their fronts instead of their ends. */
  for (size_t i = 0; i < count; i++) cut[i] = plot_layout_cut(text[i], font_px, room);
  other = core_memory_zero_allocate(count + 1, sizeof *other);
  for (size_t i = 0; i < count; i++)
    if (is_taken(&t, cut, i)) other[i] = cut_front(&t, cut, i);
  for (size_t i = 0; i < count; i++) {
    if (!other[i]) continue;
    free(cut[i]);
    cut[i] = other[i];
  }

  /* Texts that are still equal get numbers. */
  memset(other, 0, count * sizeof *other);
  for (size_t i = 0; i < count; i++) {
    char number[24];
    size_t first = 0; /* equal texts have equal numbers */
    while (strcmp(text[first], text[i]) != 0) first++;
    snprintf(number, sizeof number, " (%zu)", first + 1);
    if (is_taken(&t, cut, i)) other[i] = cut_with("", text[i], number, font_px, room);
  }
  for (size_t i = 0; i < count; i++) {
    if (!other[i]) continue;
    free(cut[i]);
    cut[i] = other[i];
  }

  free(other);
  return cut;
}

void plot_layout_cut_free(char **cut, size_t count) {
  for (size_t i = 0; i < count; i++) free(cut[i]);
  free(cut);
}

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* Whether it is an ASCII letter, or the first byte of a Latin or Greek one; dashes, bullets and signs are not. */
static bool is_letter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xc3 && c <= 0xcf);
}

/* Whether the words around the space at text[index] belong on one line: a number and its unit ("95 % interval", "36
 * runs"), a sign and its meaning ("n = 3", "–: no run"), single letters ("Student t)"). */
static bool binds(const char *text, size_t index) {
  size_t before = 0, after = 0, begin = index;
  bool number = true;
  for (size_t i = index + 1; text[i] && text[i] != ' '; i++)
    after += is_digit((unsigned char)text[i]) ? 2 : is_letter((unsigned char)text[i]);
  for (; begin > 0 && text[begin - 1] != ' '; begin--) {
    const unsigned char c = (unsigned char)text[begin - 1];
    number &= is_digit(c);
    before += is_digit(c) || is_letter(c);
  }
  return after < 2 || before == 0 || number;
}

/* Returns the length of a line: up to a space between separable words, else up to any space, else as much as fits. */
static size_t line_length(const char *text, double font, double room) {
  size_t best = 0, space = 0, length = 0;
  double width = 0;

  while (text[length]) {
    double character_width;
    if (text[length] == ' ' && length > 0) {
      space = length;
      if (!binds(text, length)) best = length;
    }
    const size_t bytes = plot_font_character(text + length, font, false, &character_width);
    width += character_width;
    if (width > room && text[length] != ' ') break;
    length += bytes;
  }

  if (!text[length]) return length;
  if (best || space) return best ? best : space;
  return length > 0 ? length : plot_font_character(text, font, false, &width);
}

size_t plot_layout_wrap(const char *text, double font, double room, void (*line)(void *, const char *), void *context) {
  size_t lines = 0;
  while (*text) {
    const size_t length = line_length(text, font, room);
    char *piece = core_text_duplicate(text);
    piece[length] = '\0';
    if (line) line(context, piece);
    free(piece);
    lines++;
    text += length;
    while (*text == ' ') text++;
  }
  return lines;
}
