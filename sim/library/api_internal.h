/* Internals of libsim (api*.c): contents of its opaque types. */
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

/* Returns the slots of size 's', 'm' or 'l'; NULL for other letters. */
const SimSize *sim_api_size(int letter);
/* Reports an argument that must not be NULL; returns LIBSIM_USAGE. */
int sim_api_null(const char *argument);

#endif
