/* The flat template for the host (observe_template.h). */
#include "sim/observe.h"

#include "sim/observe_template.h"

void sim_observe_template(const SimLevel *level, float *row) { sim_observe_make_template(level, row); }
