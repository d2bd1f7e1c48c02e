/* Flat template for the host (observe_template.h). */
#include "sim/task/observe.h"

#include "sim/task/observe_template.h"

void sim_observe_template(const SimLevel *level, float *row) { sim_observe_make_template(level, row); }
