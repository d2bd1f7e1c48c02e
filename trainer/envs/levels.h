/* Names of levels and level sets, as in `trainer show`, `trainer play` and eval.levels. */
#ifndef TRAINER_LEVELS_H
#define TRAINER_LEVELS_H
#include "sim/physics/level.h"

/* Help text for the commands. */
#define LEVELS_HELP                                                                                          \
  "LEVEL is a Kinetix level file (x.json, or x.permute3.json for x.json with shuffled slots) or a level of a SET: " \
  "SET/17. A SET is loco512 (the public locomotion morphologies), all or families joined by '+' (chain "     \
  "hopper walker cheetah car unicycle wheelfeet tree), random_s, random_m or random_l (Kinetix' generator), " \
  "kinetix_s, kinetix_m or kinetix_l (its hand-designed levels), a directory of level files, or files and " \
  "directories joined by '+'."

enum { LEVELS_RANDOM = 128 }; /* number of levels used of the unbounded sets random_s, random_m, random_l */

/* Reads the level or set named by `text`. Names of sets take precedence over directories (use ./name for a directory).
 * kinetix: directory of the kinetix_* files, or "". Free with sim_level_set_free. CORE_USAGE: unknown or invalid. */
int levels_read(const char *text, const char *kinetix, SimLevelSet *set);

enum { LEVELS_PARTS_MAX = 8, LEVELS_NAME = 64 };
/* Counts the sets of a list joined by '+'; 0 for "". CORE_USAGE: more than LEVELS_PARTS_MAX, empty or duplicate
 * names. */
int levels_count_parts(const char *list, int *count);
/* Reads one set of a list. name: the item; for a directory its last component; for a file the level's name. */
int levels_read_part(const char *list, int part, const char *kinetix, SimLevelSet *set, char name[LEVELS_NAME]);

#endif
