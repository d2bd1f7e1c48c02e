/* Checks and compiles regular expressions (pattern.h). The check counts characters as the C library copies them: x{2,5}
 * becomes five, x+ two, and of nested repetitions the products. */
#include "core/config/pattern.h"

#include <stdbool.h>
#include <string.h>

#include "core/error.h"

enum {
  LENGTH_MAX = 1000, /* bytes */
  DEPTH_MAX = 20,    /* nested groups */
  COPIES_MAX = 500,  /* characters after copying: 25 MB and 0.1 s to compile */
};

/* Sizes of an open group: of all that it has so far, and of its last part, which a repetition copies. */
typedef struct Group { long total, last; } Group;

/* Returns the end of "[...]", where "]" may come first and classes have their own brackets. */
static const char *skip_bracket(const char *cursor) {
  cursor++;
  if (*cursor == '^') cursor++;
  if (*cursor == ']') cursor++;
  while (*cursor && *cursor != ']') {
    const char kind = cursor[0] == '[' && cursor[1] && strchr(":.=", cursor[1]) ? cursor[1] : '\0';
    if (kind) {
      for (cursor += 2; *cursor && !(cursor[0] == kind && cursor[1] == ']'); cursor++) {}
      if (*cursor) cursor++;
    }
    if (*cursor) cursor++;
  }
  return *cursor ? cursor + 1 : cursor;
}

static const char *read_number(const char *cursor, long *number) {
  *number = -1;
  for (; *cursor >= '0' && *cursor <= '9'; cursor++)
    if (*number < 100000) *number = (*number < 0 ? 0 : 10 * *number) + (*cursor - '0');
  return cursor;
}

/* Returns the number of copies that a repetition makes, and moves *cursor past it; 0: it is none. */
static long read_copies(const char **cursor) {
  const char *c = *cursor;
  long low, high;
  if (*c == '*' || *c == '?' || *c == '+') {
    ++*cursor;
    return *c == '+' ? 2 : 1;
  }
  if (*c != '{') return 0;

  c = read_number(c + 1, &low);
  high = low;
  const bool has_comma = *c == ',';
  if (has_comma) c = read_number(c + 1, &high);
  if (*c != '}' || (low < 0 && high < 0)) return 0;
  *cursor = c + 1;
  if (has_comma && high < 0) return low + 1;
  return high > 1 ? high : 1;
}

static void add_part(Group *group, long size) {
  group->total += size;
  group->last = size;
}

/* Counts a part that is neither a group nor a repetition, and returns its end; NULL: it is a back-reference. */
static const char *read_part(const char *cursor, Group *group) {
  if (*cursor == '\\' && cursor[1] >= '1' && cursor[1] <= '9') return NULL;
  add_part(group, 1);
  if (*cursor == '[') return skip_bracket(cursor);
  return cursor + (*cursor == '\\' && cursor[1] ? 2 : 1);
}

static int check(const char *text) {
  Group groups[DEPTH_MAX + 1] = {{0}};
  int depth = 0;
  if (strlen(text) > LENGTH_MAX)
    return core_error(CORE_USAGE, "the regular expression %.40s... has %zu bytes; %d are allowed", text, strlen(text),
                      LENGTH_MAX);

  for (const char *cursor = text; *cursor;) {
    Group *group = &groups[depth];
    const long copies = read_copies(&cursor);
    if (copies > 0) {
      group->total += (copies - 1) * group->last;
      group->last *= copies;
    } else if (*cursor == '(') {
      if (depth == DEPTH_MAX)
        return core_error(CORE_USAGE, "the regular expression %.40s... has more than %d nested groups", text,
                          DEPTH_MAX);
      groups[++depth] = (Group){0};
      cursor++;
    } else if (*cursor == ')' && depth > 0) {
      add_part(&groups[depth - 1], group->total + 1);
      depth--;
      cursor++;
    } else if (!(cursor = read_part(cursor, group))) {
      return core_error(CORE_USAGE, "the regular expression %.200s has a back-reference, which is not supported", text);
    }

    if (groups[depth].total > COPIES_MAX) /* no other has grown */
      return core_error(CORE_USAGE, "the regular expression %.200s repeats too much: written out it has more than %d "
                        "characters; use * or + in place of {m,n}", text, COPIES_MAX);
  }
  return CORE_OK;
}

int core_pattern_compile(const char *text, regex_t *regex) {
  char problem[256];
  TRY(check(text));
  const int error = regcomp(regex, text, REG_EXTENDED);
  if (!error) return CORE_OK;
  regerror(error, regex, problem, sizeof problem);
  return core_error(CORE_USAGE, "the regular expression %.200s is invalid: %s", text, problem);
}
