/* Levels as people name them on the command line of `trainer show` and `trainer play`. */
#ifndef TRAINER_LEVELS_H
#define TRAINER_LEVELS_H
#include "sim/physics/level.h"

/* For the commands' help. */
#define LEVELS_HELP                                                                                          \
  "LEVEL is a Kinetix level file (x.json; x.permute3.json is it with shuffled slots) or one level of a SET: " \
  "SET/17. A SET is loco512 (the public locomotion morphologies), all or families joined by '+' (chain "     \
  "hopper walker cheetah car unicycle wheelfeet tree), random_s, random_m or random_l (Kinetix' generator), " \
  "kinetix_s, kinetix_m or kinetix_l (its hand-designed levels), a folder of level files, or files and "     \
  "folders joined by '+'."

enum { LEVELS_RANDOM = 128 }; /* levels in random_s, random_m, random_l, of which there is no end */

/* Reads what `text` names: one level or a whole set. A word of the sets wins over a folder of the same name (./name is
 * the folder). kinetix: where the files of kinetix_* are, or "". CORE_USAGE says what is wrong; free with
 * sim_level_set_free. */
int levels_read(const char *text, const char *kinetix, SimLevelSet *set);

/* The parts of a list of sets joined by '+': at most LEVELS_PARTS_MAX, none empty, none twice. *count: 0 for "". */
enum { LEVELS_PARTS_MAX = 8, LEVELS_NAME = 64 };
int levels_count_parts(const char *list, int *count);
/* Reads one part, and the name that it goes by: the part itself, of a folder its last component, of a file the
 * level's. */
int levels_read_part(const char *list, int part, const char *kinetix, SimLevelSet *set, char name[LEVELS_NAME]);

#endif
