/* Sets of level files for env.levels: a folder, a file, or several of either joined by '+'. All levels of a set get
 * the slots of the largest, so that they share a batch. */
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/level.h"

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int add_file(SimLevelSet *set, size_t *capacity, const char *path) {
  if ((size_t)set->count == *capacity) {
    *capacity = *capacity ? *capacity * 2 : 64;
    set->level = core_memory_resize(set->level, *capacity * sizeof *set->level);
  }
  SimLevel *level = &set->level[set->count];
  TRY(sim_level_read(path, level));
  for (int i = 0; i < set->count; i++)
    if (strcmp(set->level[i].name, level->name) == 0)
      return core_error(CORE_USAGE, "%s: a second level named '%s' in one set; rename the file or leave it out", path,
                        level->name);
  set->count++;
  return CORE_OK;
}

/* The level files of a folder and of its sub-folders s, m, l (as the published levels lie), sorted. */
static int add_folder(SimLevelSet *set, size_t *capacity, const char *folder, bool sized) {
  char **names = NULL, path[CORE_PATH_MAX];
  size_t count = 0;
  int code = CORE_OK;
  if (core_files_list(folder, &names, &count) != CORE_OK) return core_error_context(CORE_USAGE, "levels");
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    size_t length = strlen(names[i]);
    bool level = length > 5 && strcmp(names[i] + length - 5, ".json") == 0;
    bool sub_folder = !sized && length == 1 && strchr("sml", names[i][0]);
    if (!level && !sub_folder) continue;
    code = core_files_path(path, "%s/%s", folder, names[i]);
    if (code == CORE_OK && level) code = add_file(set, capacity, path);
    else if (code == CORE_OK && is_folder(path)) code = add_folder(set, capacity, path, true);
  }
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

static int add_path(SimLevelSet *set, size_t *capacity, const char *path) {
  if (!is_folder(path)) return add_file(set, capacity, path);
  int before = set->count;
  TRY(add_folder(set, capacity, path, false));
  if (set->count == before)
    return core_error(CORE_USAGE, "%s: no level files (*.json) in this folder or in its sub-folders s, m, l", path);
  return CORE_OK;
}

static int add_list(SimLevelSet *set, size_t *capacity, const char *levels) {
  char *list = core_text_duplicate(levels), *rest = list, *path;
  int code = CORE_OK;
  while (code == CORE_OK && (path = strsep(&rest, "+")) != NULL)
    code = *path ? add_path(set, capacity, path)
                 : core_error(CORE_USAGE, "levels '%s': an empty name beside a '+'", levels);
  free(list);
  return code;
}

static int expand_all(SimLevelSet *set) {
  for (int i = 0; i < set->count; i++) {
    SimSize size = set->level[i].size;
    if (size.polygons > set->size.polygons) set->size.polygons = size.polygons;
    if (size.circles > set->size.circles) set->size.circles = size.circles;
    if (size.joints > set->size.joints) set->size.joints = size.joints;
    if (size.thrusters > set->size.thrusters) set->size.thrusters = size.thrusters;
  }
  for (int i = 0; i < set->count; i++) TRY(sim_level_expand(&set->level[i], set->size));
  return CORE_OK;
}

int sim_level_set_read(const char *levels, SimLevelSet *set) {
  size_t capacity = 0;
  int code;
  *set = (SimLevelSet){0};
  if (!levels[0])
    return core_error(CORE_USAGE, "env.levels is empty; name a folder of level files, or files joined by '+'");
  bool one = core_files_exists(levels); /* so that a path may hold a '+' */
  TRY_GOTO(code, failed, one ? add_path(set, &capacity, levels) : add_list(set, &capacity, levels));
  TRY_GOTO(code, failed, expand_all(set));
  return CORE_OK;
failed:
  sim_level_set_free(set);
  return code;
}

void sim_level_set_free(SimLevelSet *set) {
  free(set->level);
  *set = (SimLevelSet){0};
}
