/* Bodies of the kernels of sim/ that count their loads and stores (cost.h). */
#include "tests/instruments/cost.h"

#include "sim/device/kernels.h"
#include "sim/device/kernels_bodies.h"

#define KERNELS "sim/device/kernels.def"
#define COUNTED sim_counted_bodies
#include "tests/instruments/counted.inc"
