/* Decodes and classifies characters (unicode.h). */
#include "core/unicode.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

uint32_t core_unicode_next(const char **cursor) {
  const unsigned char *s = (const unsigned char *)*cursor;
  uint32_t code = *s;
  if (code == 0) return 0;
  if (code < 0x80) return ++*cursor, code;
  const int more = code < 0xc2 || code > 0xf4 ? 0 /* continuation bytes */
                   : code < 0xe0              ? 1
                   : code < 0xf0              ? 2
                                              : 3;
  const uint32_t lowest = more == 3   ? 0x10000
                          : more == 2 ? 0x800
                                      : 0x80;
  code &= 0x3fu >> more;
  for (int i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) return ++*cursor, CORE_UNICODE_INVALID;
    code = code << 6 | (s[i] & 0x3f);
  }
  const bool valid = more > 0 && code >= lowest && code < 0x110000 && (code < 0xd800 || code >= 0xe000);
  *cursor += valid ? more + 1 : 1;
  return valid ? code : CORE_UNICODE_INVALID;
}

void core_unicode_encode(uint32_t code, char utf8[5]) {
  size_t length = 0;
  if (code < 0x80) utf8[length++] = (char)code;
  else if (code < 0x800) utf8[length++] = (char)(0xc0 | code >> 6);
  else if (code < 0x10000) utf8[length++] = (char)(0xe0 | code >> 12);
  else utf8[length++] = (char)(0xf0 | code >> 18);

  if (code >= 0x10000) utf8[length++] = (char)(0x80 | (code >> 12 & 0x3f));
  if (code >= 0x800) utf8[length++] = (char)(0x80 | (code >> 6 & 0x3f));
  if (code >= 0x80) utf8[length++] = (char)(0x80 | (code & 0x3f));
  utf8[length] = '\0';
}

bool core_unicode_is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0x061c ||
         code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

const char *core_unicode_name(uint32_t code) {
  static const struct { uint32_t first, last; const char *name; } names[] = {
    {0x00a0, 0x00a0, "no-break space"},       {0x00ad, 0x00ad, "soft hyphen"},
    {0x034f, 0x034f, "combining grapheme joiner"}, {0x115f, 0x1160, "Hangul filler"},
    {0x1680, 0x1680, "Ogham space mark"},     {0x180e, 0x180e, "Mongolian vowel separator"},
    {0x2000, 0x200a, "a space of typography"}, {0x200b, 0x200b, "zero-width space"},
    {0x200c, 0x200c, "zero-width non-joiner"}, {0x200d, 0x200d, "zero-width joiner"},
    {0x200e, 0x200f, "direction mark"},       {0x2010, 0x2010, "hyphen"},
    {0x2011, 0x2011, "no-break hyphen"},      {0x2012, 0x2012, "figure dash"},
    {0x2013, 0x2013, "en dash"},              {0x2014, 0x2014, "em dash"},
    {0x2015, 0x2015, "horizontal bar"},       {0x2018, 0x201b, "single quotation mark"},
    {0x201c, 0x201f, "double quotation mark"}, {0x2024, 0x2024, "one dot leader"},
    {0x2028, 0x2028, "line separator"},       {0x2029, 0x2029, "paragraph separator"},
    {0x202a, 0x202e, "direction control"},    {0x202f, 0x202f, "narrow no-break space"},
    {0x2044, 0x2044, "fraction slash"},       {0x205f, 0x205f, "mathematical space"},
    {0x2060, 0x2064, "invisible operator"},   {0x2066, 0x2069, "direction control"},
    {0x2212, 0x2212, "minus sign"},           {0x2215, 0x2215, "division slash"},
    {0x3000, 0x3000, "ideographic space"},    {0x3164, 0x3164, "Hangul filler"},
    {0xfe00, 0xfe0f, "variation selector"},   {0xfeff, 0xfeff, "byte order mark"},
    {0xff01, 0xff5e, "full-width form"},      {0xffa0, 0xffa0, "Hangul filler"},
    {0xe0000, 0xe007f, "tag"},                {0x061c, 0x061c, "direction mark"},
    {0x066b, 0x066b, "Arabic decimal separator"}, {0x00b7, 0x00b7, "middle dot"}};

  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (code >= names[i].first && code <= names[i].last) return names[i].name;
  return NULL;
}

const char *core_unicode_find_odd(const char *text, CoreText *description) {
  for (const char *cursor = text; *cursor;) {
    const char *here = cursor;
    const uint32_t code = core_unicode_next(&cursor);
    const char *name = core_unicode_name(code);
    if (code == CORE_UNICODE_INVALID)
      core_text_appendf(description, "byte 0x%02x, which is not UTF-8", (unsigned char)*here);
    else if (name) core_text_appendf(description, "character U+%04X (%s)", (unsigned)code, name);
    else if (code == '\n') core_text_append(description, "a newline");
    else if (core_unicode_is_control(code)) core_text_appendf(description, "control character U+%04X", (unsigned)code);
    else continue;
    return here;
  }
  return NULL;
}

const char *core_unicode_find_decomposed(const char *text, CoreText *description) {
  /* Marks that compose with a letter before them, and characters that Unicode replaces by others in composed text. */
  static const struct { uint32_t first, last; } ranges[] = {
    {0x0300, 0x034e}, {0x0350, 0x036f}, {0x1100, 0x11ff}, {0x1dc0, 0x1dff}, {0x2126, 0x2126}, {0x212a, 0x212b},
    {0x3099, 0x309a}, {0xf900, 0xfad9}};
  for (const char *cursor = text; *cursor;) {
    const char *here = cursor;
    const uint32_t code = core_unicode_next(&cursor);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
      if (code < ranges[i].first || code > ranges[i].last) continue;
      core_text_appendf(description, "character U+%04X, part of a decomposed letter, which looks like another text; "
                        "write it composed (NFC)", (unsigned)code);
      return here;
    }
  }
  return NULL;
}

bool core_unicode_is_unsafe(uint32_t code) {
  return code == CORE_UNICODE_INVALID || core_unicode_is_control(code) || code == 0x180e || code == 0x200b ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe007f);
}

void core_unicode_mask(char *text) {
  char *out = text;
  for (const char *cursor = text; *cursor;) {
    const char *here = cursor;
    const uint32_t code = core_unicode_next(&cursor);
    if (core_unicode_is_unsafe(code) && code != '\n' && code != '\t') {
      *out++ = '?';
    } else {
      for (; here < cursor; here++) *out++ = *here;
    }
  }
  *out = '\0';
}

void core_unicode_mask_line(char *text) {
  core_unicode_mask(text);
  for (char *c = text; *c; c++)
    if (*c == '\n' || *c == '\t') *c = ' ';
}

void core_unicode_print(FILE *out, const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  core_unicode_mask(text);
  fputs(text, out);
  free(text);
}
