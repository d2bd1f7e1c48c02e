/* All vector kernels over one SIM_LANES, for the files that compile them (lanes_avx2.c ...). */
#ifndef SIM_LANES_KERNELS_H
#define SIM_LANES_KERNELS_H
#include "sim/lanes_collide.h"
#include "sim/lanes_solve.h"

#define SIM_LANES_KERNELS(kind) \
  { .name = kind, .collide_polygons = lanes_collide_polygons, .collide_circles = lanes_collide_circles, \
    .overlap_polygons = lanes_overlap_polygons, .solve = lanes_solve }

#endif
