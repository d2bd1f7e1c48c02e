/* Sets of levels for env.levels: directories, files, shuffled files and Kinetix' lists, joined by '+'. All levels of a
 * set get the slots of the largest, so that they can share a batch. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/memory.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

/* State of reading a set. */
typedef struct Reader {
  SimLevelSet *set;
  size_t capacity;
  const char *kinetix;  /* directory of the lists' files */
} Reader;

static bool is_directory(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Returns memory for the next level; the caller counts it once the level is valid. */
static SimLevel *next_level(Reader *reader) {
  SimLevelSet *set = reader->set;
  if ((size_t)set->count == reader->capacity) {
    reader->capacity = reader->capacity ? reader->capacity * 2 : 64;
    set->level = core_memory_resize(set->level, reader->capacity * sizeof *set->level);
  }
  return &set->level[set->count];
}

static int keep_level(Reader *reader, const char *path) {
  SimLevelSet *set = reader->set;
  const SimLevel *level = &set->level[set->count];
  for (int i = 0; i < set->count; i++)
    if (strcmp(set->level[i].name, level->name) == 0)
      return core_error(CORE_USAGE, "%s: a second level named '%s' in one set; rename the file or leave it out", path,
                        level->name);
  set->count++;
  return CORE_OK;
}

static int add_file(Reader *reader, const char *path) {
  TRY(sim_level_read(path, next_level(reader)));
  return keep_level(reader, path);
}

/* Returns whether path is "x.permute3" or "x.permute3.json"; then sets file to "x.json" and number to 3. */
static bool is_permuted(const char *path, char file[CORE_PATH_MAX], int64_t *number) {
  static const char mark[] = ".permute";
  char digits[16];
  const char *at = NULL;
  for (const char *next = strstr(path, mark); next; next = strstr(next + 1, mark)) at = next;
  if (!at) return false;
  const char *first = at + sizeof mark - 1;
  const size_t length = strspn(first, "0123456789"), before = (size_t)(at - path);
  if (length == 0 || length >= sizeof digits || (first[length] != '\0' && strcmp(first + length, ".json") != 0))
    return false;
  memcpy(digits, first, length);
  digits[length] = '\0';
  const bool suffixed = before >= 5 && memcmp(at - 5, ".json", 5) == 0; /* also accepts "x.json.permute3" */
  return core_text_to_int(digits, number) && *number <= UINT32_MAX &&
         snprintf(file, CORE_PATH_MAX, "%.*s.json", (int)(before - (suffixed ? 5 : 0)), path) < CORE_PATH_MAX;
}

static int add_permuted(Reader *reader, const char *file, int64_t number) {
  SimLevel *level = next_level(reader);
  TRY(sim_level_read(file, level));
  const size_t length = strlen(level->name);
  const int added = snprintf(level->name + length, sizeof level->name - length, ".permute%lld", (long long)number);
  if (added >= (int)(sizeof level->name - length))
    return core_error(CORE_USAGE, "%s: with .permute%lld the level's name is longer than %zu characters", file,
                      (long long)number, sizeof level->name - 1);
  sim_generate_permute(level, 0, (uint32_t)number);
  return keep_level(reader, file);
}

/* Adds the level files of a directory and of its sub-directories s, m, l (the published layout), sorted by name. */
static int add_directory(Reader *reader, const char *directory, bool sized) {
  char **names = NULL, path[CORE_PATH_MAX];
  size_t count = 0;
  int code = CORE_OK;
  if (core_files_list(directory, &names, &count) != CORE_OK) return core_error_context(CORE_USAGE, "levels");

  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    size_t length = strlen(names[i]);
    bool level = length > 5 && strcmp(names[i] + length - 5, ".json") == 0;
    bool sub_directory = !sized && length == 1 && strchr("sml", names[i][0]);
    if (!level && !sub_directory) continue;
    code = core_files_path(path, "%s/%s", directory, names[i]);
    if (code == CORE_OK && level) code = add_file(reader, path);
    else if (code == CORE_OK && is_directory(path)) code = add_directory(reader, path, true);
  }

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

static int add_list(Reader *reader, const SimLevelList *list) {
  char path[CORE_PATH_MAX];
  if (!reader->kinetix[0])
    return core_error(CORE_USAGE,
                      "%s: where are Kinetix' level files? env.level_folder (of trainer show: --levels) names the "
                      "folder with their s/, m/ and l/",
                      list->name);
  for (const char *const *file = list->files; *file; file++) {
    TRY(core_files_path(path, "%s/%s.json", reader->kinetix, *file));
    if (add_file(reader, path) != CORE_OK) return core_error_context(CORE_USAGE, "%s", list->name);
  }
  return CORE_OK;
}

static bool is_listed(const char *name) {
  for (const SimLevelList *list = sim_level_lists; list->name; list++)
    for (const char *const *file = list->files; *file; file++)
      if (strcmp(*file, name) == 0) return true;
  return false;
}

/* Adds one of Kinetix' levels by its name in the lists: "s/h0_weak_thrust". */
static int add_listed(Reader *reader, const char *name) {
  char path[CORE_PATH_MAX];
  if (!reader->kinetix[0])
    return core_error(CORE_USAGE,
                      "%s is a level of Kinetix; env.level_folder names the folder with its files s/, m/ and l/", name);
  TRY(core_files_path(path, "%s/%s.json", reader->kinetix, name));
  return add_file(reader, path);
}

static int add_path(Reader *reader, const char *path) {
  const SimLevelList *list = sim_level_list_find(path);
  char file[CORE_PATH_MAX];
  int64_t number;
  if (list) return add_list(reader, list);
  if (!core_files_exists(path) && is_listed(path)) return add_listed(reader, path);
  if (!core_files_exists(path) && is_permuted(path, file, &number)) return add_permuted(reader, file, number);
  if (!is_directory(path)) return add_file(reader, path);
  int before = reader->set->count;
  TRY(add_directory(reader, path, false));
  if (reader->set->count == before)
    return core_error(CORE_USAGE, "%s: no level files (*.json) in this directory or its subdirectories s, m, l", path);
  return CORE_OK;
}

static int add_paths(Reader *reader, const char *levels) {
  char *list = core_text_duplicate(levels), *rest = list, *path;
  int code = CORE_OK;
  while ((path = strsep(&rest, "+")) != NULL) {
    code = *path ? add_path(reader, path)
                 : core_error(CORE_USAGE, "levels '%s': empty name next to a '+'", levels);
    if (code != CORE_OK) break;
  }
  free(list);
  return code;
}

int sim_level_set_expand(SimLevelSet *set, SimSize size) {
  for (int i = 0; i < set->count; i++) TRY(sim_level_expand(&set->level[i], size));
  set->size = size;
  return CORE_OK;
}

static int expand_all(SimLevelSet *set) {
  SimSize largest = {0};
  for (int i = 0; i < set->count; i++) {
    SimSize size = set->level[i].size;
    if (size.polygons > largest.polygons) largest.polygons = size.polygons;
    if (size.circles > largest.circles) largest.circles = size.circles;
    if (size.joints > largest.joints) largest.joints = size.joints;
    if (size.thrusters > largest.thrusters) largest.thrusters = size.thrusters;
  }
  return sim_level_set_expand(set, largest);
}

int sim_level_set_read(const char *levels, const char *kinetix, SimLevelSet *set) {
  Reader reader = {.set = set, .kinetix = kinetix};
  int code;
  *set = (SimLevelSet){0};
  if (!levels[0])
    return core_error(CORE_USAGE, "env.levels is empty; name a directory of level files, or files joined by '+'");
  bool one = core_files_exists(levels); /* an existing file first, so that a path may contain '+' */
  TRY_GOTO(code, failed, one ? add_path(&reader, levels) : add_paths(&reader, levels));
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

/* ---- published lists of levels ----------------------------------------------------------------------------------- */

static const char *const small[] = {
  "s/h0_weak_thrust", "s/h7_unicycle_left", "s/h3_point_the_thruster", "s/h4_thrust_aim", "s/h1_thrust_over_ball",
  "s/h5_rotate_fall", "s/h9_explode_then_thrust_over", "s/h6_unicycle_right", "s/h8_unicycle_balance",
  "s/h2_one_wheel_car", NULL};

static const char *const medium[] = {
  "m/h0_unicycle", "m/h1_car_left", "m/h2_car_right", "m/h3_car_thrust", "m/h4_thrust_the_needle", "m/h5_angry_birds",
  "m/h6_thrust_over", "m/h7_car_flip", "m/h8_weird_vehicle", "m/h9_spin_the_right_way", "m/h10_thrust_right_easy",
  "m/h11_thrust_left_easy", "m/h12_thrustfall_left", "m/h13_thrustfall_right", "m/h14_thrustblock",
  "m/h15_thrustshoot", "m/h16_thrustcontrol_right", "m/h17_thrustcontrol_left", "m/h18_thrust_right_very_easy",
  "m/h19_thrust_left_very_easy", "m/arm_left", "m/arm_right", "m/arm_up", "m/arm_hard", NULL};

static const char *const large[] = {
  "l/h0_angrybirds", "l/h1_car_left", "l/h2_car_ramp", "l/h3_car_right", "l/h4_cartpole", "l/h5_flappy_bird",
  "l/h6_lorry", "l/h7_maze_1", "l/h8_maze_2", "l/h9_morph_direction", "l/h10_morph_direction_2",
  "l/h11_obstacle_avoidance", "l/h12_platformer_1", "l/h13_platformer_2", "l/h14_simple_thruster", "l/h15_swing_up",
  "l/h16_thruster_goal", "l/h17_unicycle", "l/hard_beam_balance", "l/hard_cartpole_thrust", "l/hard_cartpole_wheels",
  "l/hard_lunar_lander", "l/hard_pinball", "l/grasp_hard", "l/grasp_easy", "l/mjc_half_cheetah",
  "l/mjc_half_cheetah_easy", "l/mjc_hopper", "l/mjc_hopper_easy", "l/mjc_swimmer", "l/mjc_walker",
  "l/mjc_walker_easy", "l/car_launch", "l/car_swing_around", "l/chain_lander", "l/chain_thrust", "l/gears",
  "l/lever_puzzle", "l/pr", "l/rail", NULL};

const SimLevelList sim_level_lists[] = {
  {"kinetix_s", small}, {"kinetix_m", medium}, {"kinetix_l", large}, {NULL, NULL}};

const SimLevelList *sim_level_list_find(const char *name) {
  for (const SimLevelList *list = sim_level_lists; list->name; list++)
    if (strcmp(list->name, name) == 0) return list;
  return NULL;
}
