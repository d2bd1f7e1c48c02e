/* The hand-designed levels by which Kinetix evaluates (and on which it trains), as lists of names: kinetix_s (10
 * levels), kinetix_m (24), kinetix_l (40) (spec kinetix.md 4). The files are Kinetix' own and not part
 * of this project. */
#ifndef SIM_LEVEL_LIST_H
#define SIM_LEVEL_LIST_H

typedef struct SimLevelList {
  const char *name;          /* "kinetix_s" */
  const char *const *files;  /* "s/h0_weak_thrust", ..., without .json, in the published order; ends with NULL */
} SimLevelList;

/* Ends with a name of NULL. */
extern const SimLevelList sim_level_lists[];
/* NULL when no list has this name. */
const SimLevelList *sim_level_list_find(const char *name);

#endif
