/* Where levels come from: level files, Kinetix' lists of them, and the loco512 morphologies; and sets of them. */
#ifndef SIM_LEVEL_SET_H
#define SIM_LEVEL_SET_H
#include "core/text.h"
#include "sim/physics/level.h"

/* Reads a Kinetix level file (JSON, spec 4). CORE_USAGE names file and JSON path of what is wrong. */
int sim_level_read(const char *path, SimLevel *level);
/* The same from text; `path` names it in messages and gives the level its name. */
int sim_level_parse(const char *path, const char *data, size_t bytes, SimLevel *level);
/* Appends the level as such a file, which reads back to the same level bit for bit. CORE_USAGE: see sim_level_check. */
int sim_level_write(const SimLevel *level, CoreText *json);

void sim_level_set_free(SimLevelSet *set);
/* Level files: of a folder (sorted by name; sub-folders s/, m/, l/ too), single ones, Kinetix' lists (level_list.h), or
 * several of these joined by '+'; expanded to the largest size met. NAME.permute<k>, with or without .json, is the file
 * with its slots shuffled in the k'th way (spec 4). `kinetix`: the folder where the lists' files are, with s/, m/ and
 * l/; empty: only other levels can be read. CORE_USAGE names the file and what is wrong with it. */
int sim_level_set_read(const char *levels, const char *kinetix, SimLevelSet *set);
/* All levels get the slots of `size`. CORE_USAGE when it is smaller than the set's. */
int sim_level_set_expand(SimLevelSet *set, SimSize size);

/* loco512 (spec 9): morphologies "public" (9.0), "all" (9.1), or families of 9.1 joined by '+'; difficulty "all" or
 * classes joined by '+' (9.1 only); at most `count` levels. Deterministic: the same on every machine. */
int sim_morphology_set(const char *morphologies, const char *difficulty, int count, SimLevelSet *set);

#endif
