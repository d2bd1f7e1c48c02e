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
static const char *skip_bracket(const char *at) {
  at++;
  if (*at == '^') at++;
  if (*at == ']') at++;
  while (*at && *at != ']') {
    const char kind = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? at[1] : '\0';
    if (kind) {
      for (at += 2; *at && !(at[0] == kind && at[1] == ']'); at++) {}
      if (*at) at++;
    }
    if (*at) at++;
  }
  return *at ? at + 1 : at;
}

static const char *read_number(const char *at, long *number) {
  *number = -1;
  for (; *at >= '0' && *at <= '9'; at++)
    if (*number < 100000) *number = (*number < 0 ? 0 : 10 * *number) + (*at - '0');
  return at;
}

/* Returns the number of copies that a repetition makes, and moves *at past it; 0: it is none. */
static long read_copies(const char **at) {
  const char *c = *at;
  long low, high;
  if (*c == '*' || *c == '?' || *c == '+') {
    ++*at;
    return *c == '+' ? 2 : 1;
  }
  if (*c != '{') return 0;

  c = read_number(c + 1, &low);
  high = low;
  const bool has_comma = *c == ',';
  if (has_comma) c = read_number(c + 1, &high);
  if (*c != '}' || (low < 0 && high < 0)) return 0;
  *at = c + 1;
  if (has_comma && high < 0) return low + 1;
  return high > 1 ? high : 1;
}

static void add_part(Group *group, long size) {
  group->total += size;
  group->last = size;
}

/* Counts a part that is neither a group nor a repetition, and returns its end; NULL: it is a back-reference. */
static const char *read_part(const char *at, Group *group) {
  if (*at == '\\' && at[1] >= '1' && at[1] <= '9') return NULL;
  add_part(group, 1);
  if (*at == '[') return skip_bracket(at);
  return at + (*at == '\\' && at[1] ? 2 : 1);
}

static int check(const char *text) {
  Group groups[DEPTH_MAX + 1] = {{0}};
  int depth = 0;
  if (strlen(text) > LENGTH_MAX)
    return core_error(CORE_USAGE, "the regular expression %.40s... has %zu bytes; %d are allowed", text, strlen(text),
                      LENGTH_MAX);

  for (const char *at = text; *at;) {
    Group *group = &groups[depth];
    const long copies = read_copies(&at);
    if (copies > 0) {
      group->total += (copies - 1) * group->last;
      group->last *= copies;
    } else if (*at == '(') {
      if (depth == DEPTH_MAX)
        return core_error(CORE_USAGE, "the regular expression %.40s... has more than %d nested groups", text,
                          DEPTH_MAX);
      groups[++depth] = (Group){0};
      at++;
    } else if (*at == ')' && depth > 0) {
      add_part(&groups[depth - 1], group->total + 1);
      depth--;
      at++;
    } else if (!(at = read_part(at, group))) {
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
