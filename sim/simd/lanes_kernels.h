/* All vector kernels for one SIM_LANES, included by the files that compile them (lanes_avx2.c and others). */
#ifndef SIM_LANES_KERNELS_H
#define SIM_LANES_KERNELS_H
#include "sim/simd/lanes_collide.h"
#include "sim/simd/lanes_move.h"
#include "sim/simd/lanes_solve.h"

#define SIM_LANES_KERNELS(kind) \
  { .name = kind, .find_overlaps = lanes_find_overlaps, .collide_polygons = lanes_collide_polygons, \
    .collide_circle_polygons = lanes_collide_circle_polygons, .collide_circles = lanes_collide_circles, \
    .overlap_polygons = lanes_overlap_polygons, \
    .update_polygons = lanes_update_polygons, .drive_motors = lanes_drive_motors, .advance = lanes_advance, \
    .show = lanes_show, \
    .solve_most = SIM_LANES * SIM_LANES_SOLVERS, .solve_bytes = SIM_LANES_SOLVERS * sizeof(LanesSolver), \
    .solve = lanes_solve }

#endif
