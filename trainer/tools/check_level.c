/* Validates level files with the simulator's reader and prints an error or a summary of each. */
#include "trainer/tools/tools.h"

#include <stdio.h>

#include "core/unicode.h"
#include "core/command/options.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

/* Numbers of active elements of a level. */
typedef struct LevelCount {
  int bodies, fixated;    /* except floor, walls and ceiling */
  int role[4];            /* shapes by role, including floor, walls and ceiling */
  int joints, motors, thrusters;
} LevelCount;

static void count_shapes(const SimShape *shape, int count, bool are_static, LevelCount *total) {
  for (int i = 0; i < count; i++) {
    if (!shape[i].active) continue;
    total->role[shape[i].role]++;
    total->bodies += !are_static;
    total->fixated += !are_static && shape[i].inverse_mass == 0;
  }
}

static LevelCount count_level(const SimLevel *level) {
  LevelCount total = {0};
  count_shapes(level->polygon, SIM_STATIC_POLYGONS, true, &total);
  count_shapes(level->polygon + SIM_STATIC_POLYGONS, level->size.polygons - SIM_STATIC_POLYGONS, false, &total);
  count_shapes(level->circle, level->size.circles, false, &total);
  for (int i = 0; i < level->size.joints; i++) {
    total.joints += level->joint[i].active;
    total.motors += level->joint[i].active && level->joint[i].motor_on && !level->joint[i].fixed;
  }
  for (int i = 0; i < level->size.thrusters; i++) total.thrusters += level->thruster[i].active;
  return total;
}

static void print_summary(const char *path, const SimLevel *level) {
  LevelCount total = count_level(level);
  core_unicode_print(stdout,
                     "%s: ok: %d bodies (%d fixated; %d green, %d blue, %d red), %d joints (%d with a motor), "
                     "%d thrusters; "
                     "slots %d/%d/%d/%d\n", path, total.bodies, total.fixated, total.role[SIM_ROLE_GREEN],
                     total.role[SIM_ROLE_BLUE], total.role[SIM_ROLE_RED], total.joints, total.motors,
                     total.thrusters, level->size.polygons, level->size.circles, level->size.joints,
                     level->size.thrusters);
  if (total.role[SIM_ROLE_GREEN] == 0 || total.role[SIM_ROLE_BLUE] == 0)
    core_unicode_print(stdout, "%s: note: no shape is %s, so no episode can be solved\n", path,
                       total.role[SIM_ROLE_GREEN] ? "blue" : "green");
}

/* Checks all files, also after an error. */
static int check_files(void *context, const char **paths, size_t count) {
  size_t invalid = 0;
  for (size_t i = 0; i < count; i++) {
    SimLevel level;
    if (sim_level_read(paths[i], &level) == CORE_OK) {
      print_summary(paths[i], &level);
      continue;
    }
    invalid++;
    if (count > 1) printf("%s\n", core_error_message());
  }
  if (invalid == 0) return CORE_OK;
  if (count == 1) return CORE_USAGE; /* the reader has set the message */
  return core_error(CORE_USAGE, "%zu of %zu level files are invalid", invalid, count);
}

int trainer_check_level(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer check-level FILE...",
    .about = "Validates Kinetix level files: prints the error (file, position, reason) or a summary of each. Exit "
             "code 2 if a file is invalid.",
    .operands_min = 1, .operands = {"FILE"}, .operands_max = SIZE_MAX,
    .hint = "name the level files to check"};
  return core_options_run(&manual, NULL, argc, argv, check_files, NULL);
}
