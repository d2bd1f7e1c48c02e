/* Resolves names such as "loco512/17", "car+tree/3", "random_m/5", "levels/m" or "x.json" (levels.h); sim/ reads the
 * levels. */
#include "trainer/envs/levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "sim/batch/filter.h"
#include "sim/levels/level_set.h"
#include "sim/levels/morphology.h"

static const char *const set_names[] = {"loco512", "public", "all", "chain", "hopper", "walker", "cheetah", "car",
                                        "unicycle", "wheelfeet", "tree", "random_s", "random_m", "random_l",
                                        "kinetix_s", "kinetix_m", "kinetix_l"};
enum { MORPHOLOGY_NAMES = 11, SET_NAMES = sizeof set_names / sizeof *set_names };

/* Whether the first `length` characters are the name of a set of morphologies. */
static bool is_morphology_name(const char *word, size_t length) {
  for (int i = 0; i < MORPHOLOGY_NAMES; i++)
    if (strlen(set_names[i]) == length && memcmp(set_names[i], word, length) == 0) return true;
  return false;
}

/* Sets of the level generator. They are unbounded, but indices are limited, since all levels before one are
 * generated. */
typedef struct RandomSet { const char *name; const SimSize *size; } RandomSet;
static const RandomSet random_sets[] = {
  {"random_s", &SIM_SIZE_S}, {"random_m", &SIM_SIZE_M}, {"random_l", &SIM_SIZE_L}, {NULL, NULL}};
enum { RANDOM_LEVELS_MAX = 65536 };

static const RandomSet *find_random(const char *name) {
  for (const RandomSet *random = random_sets; random->name; random++)
    if (strcmp(random->name, name) == 0) return random;
  return NULL;
}

/* Reads a set; of an unbounded set, the first `count` levels. */
static int read_set(const char *name, const char *kinetix, int count, SimLevelSet *set) {
  const RandomSet *random = find_random(name);
  if (random) return sim_generate_set(*random->size, count, set);
  if (is_morphology_name(name, strcspn(name, "+"))) {
    const char *morphologies = strcmp(name, "loco512") == 0 ? "public" : name; /* two names of the public set */
    return sim_morphology_set(morphologies, "all", SIM_MORPHOLOGY_LEVELS, set);
  }
  if (strpbrk(name, "/.") || core_files_exists(name) || sim_level_list_find(name))
    return sim_level_set_read(name, kinetix, set);
  const char *near = core_text_nearest(name, set_names, SET_NAMES);
  return core_error(CORE_USAGE, "'%.80s' is not a level file, directory or set%s%s%s", name,
                    near ? "; did you mean " : "", near ? near : "",
                    near ? "?" : " (loco512, all, chain, hopper, ..., random_m, kinetix_m)");
}

/* Reduces the set to level `index`. */
static int select_level(const char *name, int64_t index, SimLevelSet *set) {
  if (index >= set->count)
    return core_error(CORE_USAGE, "%.80s/%lld is out of range: the levels are 0 to %d", name, (long long)index,
                      set->count - 1);
  set->level[0] = set->level[index];
  set->count = 1;
  return CORE_OK;
}

static int read_level(const char *name, const char *kinetix, int64_t index, SimLevelSet *set) {
  if (find_random(name) && index >= RANDOM_LEVELS_MAX)
    return core_error(CORE_USAGE, "%.80s/%lld is out of range: the levels are 0 to %d", name, (long long)index,
                      RANDOM_LEVELS_MAX - 1);
  TRY(read_set(name, kinetix, find_random(name) ? (int)index + 1 : 0, set));
  return select_level(name, index, set);
}

int levels_read(const char *text, const char *kinetix, SimLevelSet *set) {
  const char *slash = strrchr(text, '/');
  int64_t index = 0;
  *set = (SimLevelSet){0};
  const bool has_index = slash && slash > text && slash[1] != '\0' &&
                         strspn(slash + 1, "0123456789") == strlen(slash + 1) && !core_files_exists(text);
  if (!has_index) return read_set(text, kinetix, LEVELS_RANDOM, set);
  if (!core_text_to_int(slash + 1, &index))
    return core_error(CORE_USAGE, "'%.80s': the number after the last '/' is out of range", text);
  char *name = core_text_duplicate(text);
  name[slash - text] = '\0';
  int code = read_level(name, kinetix, index, set);
  free(name);
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}

/* ---- lists of sets ----------------------------------------------------------------------------------------------- */

/* Copies item `index` of the list. Returns false if there are fewer. */
static bool find_part(const char *list, int index, char part[CORE_PATH_MAX]) {
  const char *begin = list;
  for (int i = 0; i < index; i++) {
    begin = strchr(begin, '+');
    if (!begin) return false;
    begin++;
  }
  return snprintf(part, CORE_PATH_MAX, "%.*s", (int)strcspn(begin, "+"), begin) < CORE_PATH_MAX;
}

int levels_count_parts(const char *list, int *count) {
  char part[CORE_PATH_MAX], other[CORE_PATH_MAX];
  *count = 0;
  for (int i = 0; *list && find_part(list, i, part); i++) {
    if (!*part) return core_error(CORE_USAGE, "'%.80s' has an empty name next to a '+'", list);
    if (i == LEVELS_PARTS_MAX)
      return core_error(CORE_USAGE, "'%.80s' has more than %d sets; put the levels into one directory", list,
                        LEVELS_PARTS_MAX);
    for (int k = 0; k < i; k++)
      if (find_part(list, k, other) && strcmp(part, other) == 0)
        return core_error(CORE_USAGE, "'%.80s' names %.80s twice", list, part);
    *count = i + 1;
  }
  return CORE_OK;
}

/* Sets the name of a set: "mine" for "levels/mine/"; names that are not paths are unchanged. */
static int set_name(char *part, const SimLevelSet *set, char name[LEVELS_NAME]) {
  const bool is_path = core_files_exists(part), is_shuffled = strstr(part, ".permute") != NULL;
  const char *source = part;
  if (set->count == 1 && (is_path || is_shuffled)) {
    source = set->level[0].name;
  } else if (is_path) {
    size_t end = strlen(part);
    while (end > 1 && part[end - 1] == '/') part[--end] = '\0';
    const char *slash = strrchr(part, '/');
    if (slash && slash[1]) source = slash + 1;
  }
  return core_text_copy(name, LEVELS_NAME, source, "level set");
}

int levels_read_part(const char *list, int part_index, const char *kinetix, SimLevelSet *set, char name[LEVELS_NAME]) {
  char part[CORE_PATH_MAX];
  CORE_CHECK(find_part(list, part_index, part));
  TRY(levels_read(part, kinetix, set));
  int code = set_name(part, set, name);
  if (code != CORE_OK) sim_level_set_free(set);
  return code;
}
