/* Levels as people name them on the command line of `trainer show` and `trainer play`. */
#ifndef TRAINER_LEVELS_H
#define TRAINER_LEVELS_H
#include "sim/level.h"

/* For the commands' help. */
#define LEVELS_HELP                                                                                          \
  "LEVEL is a Kinetix level file (x.json) or one level of a SET: SET/17. A SET is loco512 (the public "     \
  "locomotion morphologies), all or families joined by '+' (chain hopper walker cheetah car unicycle "      \
  "wheelfeet tree), a folder of level files, or files and folders joined by '+'."

/* Reads what `text` names: one level or a whole set. A word of the morphologies wins over a folder of the same name
 * (./name is the folder). CORE_USAGE says what is wrong; free with sim_level_set_free. */
int levels_read(const char *text, SimLevelSet *set);

#endif
