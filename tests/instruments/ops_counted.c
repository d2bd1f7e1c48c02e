/* Bodies of the trainer's kernels that count their loads and stores (cost.h). */
#include "tests/instruments/cost.h"

#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_bodies.h"

#define KERNELS "trainer/ops/kernels/kernels.def"
#define COUNTED ops_counted_bodies
#include "tests/instruments/counted.inc"
