/* libsim from inside (api*.c): what its opaque types hold. */
#ifndef SIM_API_INTERNAL_H
#define SIM_API_INTERNAL_H
#include "sim/batch/batch.h"
#include "sim/library/sim.h"

struct LibsimLevels { SimLevelSet set; };

struct LibsimBatch {
  SimBatch *batch;
  int threads; /* 0: the caller's OpenMP setting */
  SimActionSpace actions;
};

/* The slots of size 's', 'm' or 'l'; NULL for other letters. */
const SimSize *sim_api_size(int letter);
/* The error of an argument that may not be NULL. */
int sim_api_null(const char *argument);

#endif
