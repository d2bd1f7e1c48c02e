/* Hand-designed levels on which Kinetix evaluates and trains, as lists of names: kinetix_s (10 levels), kinetix_m (24),
 * kinetix_l (40), from its configs/eval/s.yaml, m.yaml and l.yaml. The files themselves belong to Kinetix and are not
 * part of this project. */
#ifndef SIM_LEVEL_LIST_H
#define SIM_LEVEL_LIST_H

typedef struct SimLevelList {
  const char *name;          /* "kinetix_s" */
  const char *const *files;  /* "s/h0_weak_thrust", ..., without .json, in the published order; ends with NULL */
} SimLevelList;

/* Table that ends with a NULL name. */
extern const SimLevelList sim_level_lists[];
/* Returns the list with this name; NULL: there is none. */
const SimLevelList *sim_level_list_find(const char *name);

#endif
