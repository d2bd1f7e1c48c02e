/* Sets of levels, and their sources: level files, Kinetix' lists of them, and the loco512 morphologies. */
#ifndef SIM_LEVEL_SET_H
#define SIM_LEVEL_SET_H
#include "core/text.h"
#include "sim/physics/level.h"

/* Reads a Kinetix level file (docs/simulator.md#level-files). The message of CORE_USAGE names the file and the JSON
 * path of the error. */
int sim_level_read(const char *path, SimLevel *level);
/* Parses a level file's text; `path` names it in messages and determines the level's name. */
int sim_level_parse(const char *path, const char *data, size_t bytes, SimLevel *level);
/* Appends the level as a level file, which reads back to the same level bit for bit. CORE_USAGE: see
 * sim_level_check. */
int sim_level_write(const SimLevel *level, CoreText *json);

void sim_level_set_free(SimLevelSet *set);
/* Reads level files: a directory (sorted by name, with sub-directories s/, m/, l/), single files, Kinetix' lists
 * (sim_level_lists), or several of these joined by '+'. All get the slots of the largest. NAME.permute<k>, with or
 * without .json, is the file with its slots shuffled in the k-th way. kinetix: directory of the lists' files, with s/,
 * m/ and l/; empty: lists cannot be read. The message of CORE_USAGE names the file and the error. */
int sim_level_set_read(const char *levels, const char *kinetix, SimLevelSet *set);
/* Gives all levels the slots of `size`. CORE_USAGE: it is smaller than the set's. */
int sim_level_set_expand(SimLevelSet *set, SimSize size);

/* Generates loco512 (docs/simulator.md#loco512): morphologies "public", "all", or families joined by '+'; difficulty
 * "all" or classes joined by '+' (not of "public"); at most `count` levels. Deterministic: the same on every
 * machine. */
int sim_morphology_set(const char *morphologies, const char *difficulty, int count, SimLevelSet *set);

/* ---- published lists of levels ----------------------------------------------------------------------------------- */

/* Hand-designed levels on which Kinetix evaluates and trains, as lists of names: kinetix_s (10 levels), kinetix_m (24),
 * kinetix_l (40), from its configs/eval/s.yaml, m.yaml and l.yaml. The files themselves belong to Kinetix and are not
 * part of this project. */

typedef struct SimLevelList {
  const char *name;          /* "kinetix_s" */
  const char *const *files;  /* "s/h0_weak_thrust", ..., without .json, in the published order; ends with NULL */
} SimLevelList;

/* Table that ends with a NULL name. */
extern const SimLevelList sim_level_lists[];
/* Returns the list with this name; NULL: there is none. */
const SimLevelList *sim_level_list_find(const char *name);

#endif
