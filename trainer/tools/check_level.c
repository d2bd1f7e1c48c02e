/* Reads level files with the simulator's own reader and says of each what is wrong, or in one line what it holds. */
#include "trainer/tools/check_level.h"

#include <stdio.h>

#include "core/command/options.h"
#include "sim/levels/level_set.h"
#include "sim/physics/level.h"

/* What a level holds that is in use. */
typedef struct LevelCount {
  int bodies, fixated;    /* without floor, walls and ceiling */
  int role[4];            /* with them: a floor may be red */
  int joints, motors, thrusters;
} LevelCount;

static void count_shapes(const SimShape *shape, int count, bool statics, LevelCount *total) {
  for (int i = 0; i < count; i++) {
    if (!shape[i].active) continue;
    total->role[shape[i].role]++;
    total->bodies += !statics;
    total->fixated += !statics && shape[i].inverse_mass == 0;
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

static void print_good(const char *path, const SimLevel *level) {
  LevelCount total = count_level(level);
  printf("%s: good: %d bodies (%d fixated; %d green, %d blue, %d red), %d joints (%d with a motor), %d thrusters; "
         "slots %d/%d/%d/%d\n", path, total.bodies, total.fixated, total.role[SIM_ROLE_GREEN],
         total.role[SIM_ROLE_BLUE], total.role[SIM_ROLE_RED], total.joints, total.motors, total.thrusters,
         level->size.polygons, level->size.circles, level->size.joints, level->size.thrusters);
  if (total.role[SIM_ROLE_GREEN] == 0 || total.role[SIM_ROLE_BLUE] == 0)
    printf("%s: note: nothing %s, so no episode can be solved\n", path, total.role[SIM_ROLE_GREEN] ? "blue" : "green");
}

/* All files are read, whatever is found. */
static int check_files(void *nothing, const char **paths, size_t count) {
  size_t wrong = 0;
  for (size_t i = 0; i < count; i++) {
    SimLevel level;
    if (sim_level_read(paths[i], &level) == CORE_OK) {
      print_good(paths[i], &level);
      continue;
    }
    wrong++;
    if (count > 1) printf("%s\n", core_error_message());
  }
  if (wrong == 0) return CORE_OK;
  if (count == 1) return CORE_USAGE; /* with the reader's message */
  return core_error(CORE_USAGE, "%zu of %zu level files are wrong", wrong, count);
}

int trainer_check_level(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "trainer check-level FILE...",
    .about = "Reads Kinetix level files and says what is wrong with them (file, place in the file, reason) or what "
             "they hold. Exit code 2 when a file is wrong.",
    .least = 1, .most = SIZE_MAX,
    .hint = "name the level files to check"};
  return core_options_answer(&manual, NULL, argc, argv, check_files, NULL);
}
