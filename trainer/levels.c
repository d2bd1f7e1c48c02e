/* From "loco512/17", "car+tree/3", "levels/m" or "x.json" to levels. Only decides what is meant: sim/ reads them. */
#include "trainer/levels.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "sim/morphology.h"

static const char *const set_names[] = {"loco512", "public", "all", "chain", "hopper", "walker", "cheetah", "car",
                                        "unicycle", "wheelfeet", "tree"};
enum { SET_NAMES = sizeof set_names / sizeof *set_names };

/* Do the first `length` characters spell one of the names above? */
static bool is_set_name(const char *word, size_t length) {
  for (int i = 0; i < SET_NAMES; i++)
    if (strlen(set_names[i]) == length && memcmp(set_names[i], word, length) == 0) return true;
  return false;
}

static bool is_file_name(const char *text) { return strpbrk(text, "/.") != NULL || core_files_exists(text); }

/* The public set has three names: its own, "public" and the task's. */
static int read_morphologies(const char *name, SimLevelSet *set) {
  const char *morphologies = strcmp(name, "loco512") == 0 ? "public" : name;
  return sim_morphology_set(morphologies, "all", SIM_MORPHOLOGY_LEVELS, set);
}

static int read_set(const char *name, SimLevelSet *set) {
  if (is_set_name(name, strcspn(name, "+"))) return read_morphologies(name, set);
  if (is_file_name(name)) return sim_level_set_read(name, set);
  const char *near = core_text_nearest(name, set_names, SET_NAMES);
  return core_error(CORE_USAGE, "'%.80s' is no level file, folder or set%s%s%s", name, near ? "; did you mean " : "",
                    near ? near : "", near ? "?" : " (loco512, all, chain, hopper, ...)");
}

/* Keeps only level `number`. */
static int keep_one(const char *name, int64_t number, SimLevelSet *set) {
  if (number >= set->count)
    return core_error(CORE_USAGE, "%.80s has the levels 0 to %d, no %lld", name, set->count - 1, (long long)number);
  set->level[0] = set->level[number];
  set->count = 1;
  return CORE_OK;
}

int levels_read(const char *text, SimLevelSet *set) {
  const char *slash = strrchr(text, '/');
  int64_t number = 0;
  *set = (SimLevelSet){0};
  bool numbered = slash && slash > text && slash[1] != '\0' && strspn(slash + 1, "0123456789") == strlen(slash + 1) &&
                  !core_files_exists(text);
  if (!numbered) return read_set(text, set);
  if (!core_text_to_int(slash + 1, &number))
    return core_error(CORE_USAGE, "'%.80s': the number after the last '/' is out of range", text);
  char *name = core_text_duplicate(text);
  name[slash - text] = '\0';
  int code = read_set(name, set);
  if (code == CORE_OK) code = keep_one(name, number, set);
  free(name);
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}
