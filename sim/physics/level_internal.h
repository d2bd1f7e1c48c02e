/* Level check with a prefix for its messages; for sim/ only. */
#ifndef SIM_LEVEL_INTERNAL_H
#define SIM_LEVEL_INTERNAL_H
#include "sim/physics/level.h"

/* Checks like sim_level_check, with `where` before the field's path ("levels/x.json: env_state." or "level 'x': "). */
int sim_level_check_at(const SimLevel *level, const char *where);

#endif
